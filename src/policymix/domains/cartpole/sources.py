"""CartPole sources: a double DQN each, and the paper's networks for the dynamics."""

import jax.numpy as jnp
import numpy as np

from policymix.core.encoders import Identity, standardise
from policymix.core.kernels import Gaussian
from policymix.core.networks import MLP
from policymix.core.progress import Begin
from policymix.core.scaling import absorb_units
from policymix.domains.cartpole.task import CartPole
from policymix.environments.copies import DomainTasks, Policy
from policymix.environments.episodes import disturbed, play
from policymix.sources.dynamics import NetworkDynamics
from policymix.sources.experts import SourceTask
from policymix.sources.fitting.data import SHARE, Transitions, split
from policymix.sources.fitting.fit import Assemble, ModelSettings, fit_network
from policymix.sources.policies import GreedyPolicy
from policymix.training.source_policy import (
    Judge,
    Judgement,
    PolicySettings,
    train_policy,
)

POLICY = PolicySettings(
    samples=160_000,
    hidden=(40, 40),
    discount=0.98,
    reward_scale=1.0,
    epsilons=(1.0, 0.1),
    evaluate_every=4_000,
    finalists=8,
)
FIT = ModelSettings(max_steps=30_000, patience=None, batch=256)
PRECISION = 5e5


def train_source(
    name: str, cart: CartPole, seed: int, begin: Begin
) -> tuple[SourceTask, int]:
    """One source, and the samples it took."""
    tasks = DomainTasks(cart, POLICY.copies)
    advance = begin(f"{name}: policy", POLICY.samples, "merit")
    trained = train_policy(tasks, POLICY, judge_cart(cart), seed, advance)
    history = trained.history
    columns = (history.obs, history.action, history.next_obs)
    data = Transitions(*map(jnp.asarray, columns))
    fit = fit_network(
        standardised(data, tasks.num_actions),
        (8, 50, 50, 4),
        split(data, SHARE, seed)[0],
        Identity(),
        FIT,
        seed,
        begin(f"{name}: dynamics", FIT.max_steps, "loss"),
    )
    policy = GreedyPolicy(trained.network, Identity())
    return SourceTask(name, policy, fit.model, Gaussian(PRECISION)), POLICY.samples


def judge_cart(cart: CartPole) -> Judge:
    """Steps balanced, and a tenth of those balanced while one push in ten is random.

    Many policies balance for ever where nothing disturbs them. Those that also survive
    disturbances at home are the ones that survive a change of surface abroad.
    """

    def score(policy: Policy, episodes: int, seed: int) -> Judgement:
        shaken = disturbed(policy, 0.1, cart.spec.action, seed)
        calm, shaky = (
            float(np.mean([episode.total for episode in play(cart, p, episodes, seed)]))
            for p in (policy, shaken)
        )
        return Judgement(calm + shaky / 10, {"balanced": calm, "disturbed": shaky})

    return score


def standardised(data: Transitions, num_actions: int) -> Assemble:
    """Train on numbers of like size, then let the layers absorb the scaling."""
    units = standardise(data.obs)
    inputs = (
        jnp.append(units.centre, jnp.zeros(num_actions)),
        jnp.append(units.spread, jnp.ones(num_actions)),
    )

    def assemble(network: MLP) -> NetworkDynamics:
        raw = absorb_units(network, inputs, (units.centre, units.spread))
        return NetworkDynamics(raw, Identity())

    return assemble
