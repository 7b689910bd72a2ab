"""What a trial does in a test: nothing at random and, if asked, without its sources."""

from functools import partial

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Num

from policymix.agents.base import AbstractAgent, AbstractLearner
from policymix.agents.sac import SAC
from policymix.core.types import Action, Observation
from policymix.sources.asking import Answers
from policymix.training.step import preferences
from policymix.training.trial import LearningSetup, Trial
from policymix.training.vectors import preferred


def greedy(
    setup: LearningSetup,
    trial: Trial,
    obs: Observation,
    alone: bool = False,
    answers: Answers | None = None,
) -> Action:
    """The action in one state.

    Args:
        setup: who acts.
        trial: what it has learned; the arm that proved best decides.
        obs: the state.
        alone: act on the agent's own values: no source is asked, no Φ is added.
        answers: of sources on the host, if they were asked before.
    """
    agent, method = setup.agent, setup.method
    if alone and isinstance(agent, SAC):
        return agent.alone(trial.agent, obs)
    if alone:
        assert isinstance(agent, AbstractAgent)
        return jnp.argmax(agent.alone_values(trial.agent, obs))
    advice = setup.advise(obs, answers)
    arm = method.leader.best(trial.behaviour)
    if setup.continuous:
        return preferred(setup, trial, obs, advice, arm, tested=method.tested)
    phi = setup.phi(trial, obs, advice)
    values = preferences(setup, trial, obs, advice, phi, arm)
    return jnp.argmax(values + method.tested * phi)


def greedy_in(
    setup: LearningSetup,
    trial: Trial,
    rows: Array,
    alone: bool = False,
    answers: Float[Array, "rows columns"] | None = None,
) -> Num[Array, " rows *act"]:
    """The same in each of many states."""
    act = partial(greedy, setup, trial, alone=alone)
    return jax.vmap(lambda obs, told: act(obs, answers=told))(rows, answers)


def asks_sources(setup: LearningSetup) -> bool:
    """Whether the policy that is tested needs its sources.

    Where sources only lead exploration or shape the reward, it acts on the agent's own
    values as it is.
    """
    if setup.experts is None:
        return False
    method = setup.method
    adds_phi = float(method.form.decision * method.scale + method.tested) != 0.0
    if setup.continuous:
        return adds_phi or method.judged
    return adds_phi or not isinstance(setup.agent, AbstractLearner)
