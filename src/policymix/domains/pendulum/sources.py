"""Pendulum sources: a policy of SAC's for each wind; the pendulum is the dynamics."""

from dataclasses import replace

import jax.numpy as jnp

from policymix.agents.sac import SAC
from policymix.core.encoders import Identity
from policymix.core.kernels import Gaussian
from policymix.core.networks import MLP
from policymix.core.progress import Begin
from policymix.domains.pendulum.experiment import SETTINGS
from policymix.domains.pendulum.task import Moves, Pendulum
from policymix.sources.experts import SourceTask
from policymix.sources.library import SourceLibrary
from policymix.sources.policies import SquashedPolicy
from policymix.training.run import carry_out, new_run
from policymix.training.task import TransferTask, prepare

HOME = replace(SETTINGS, steps=20_000, evaluate_every=20_000)


def train_source(
    name: str, pendulum: Pendulum, seed: int, begin: Begin
) -> tuple[SourceTask, int]:
    """One source, and the samples it took: SAC without transfer, its last policy."""
    moves = Moves(pendulum)
    idle = SourceTask("idle", lambda obs: jnp.zeros(1), moves)
    task = prepare(TransferTask(pendulum, SourceLibrary([idle], encoder=Identity())))
    run = new_run(task, "scratch", HOME, seed, cores=1)
    carry_out(run, begin, f"{name}: policy")
    (trained,) = run.agents()
    learner = trained.setup.agent
    assert isinstance(learner, SAC)
    policy = acting(learner, trained.trial.agent.actor.parameters)
    return SourceTask(name, policy, moves, Gaussian()), HOME.steps


def acting(agent: SAC, actor: MLP) -> SquashedPolicy:
    """An actor without its noise: of its last layer only the means are kept."""
    size = agent.size
    *weights, last = actor.weights
    *biases, bias = actor.biases
    network = MLP((*weights, last[:size]), (*biases, bias[:size]))
    low, high = jnp.array([agent.action.low, agent.action.high])
    return SquashedPolicy(network, agent.encoder, low, high)
