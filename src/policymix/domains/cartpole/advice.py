"""CartPole with imperfect advice, and with rewards of another size."""

from dataclasses import replace
from functools import partial
from importlib.resources import files
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from policymix.core.encoders import Identity
from policymix.core.networks import MLP, init_mlp
from policymix.core.progress import Begin
from policymix.core.types import DiscreteAction, Scalar
from policymix.domains.cartpole.experiment import CARTPOLE
from policymix.domains.cartpole.sources import POLICY, judge_cart
from policymix.domains.cartpole.task import CartPole, State, cartpole_family
from policymix.environments.base import Family
from policymix.environments.copies import DomainTasks, Policy
from policymix.environments.domain import Domain, Played
from policymix.environments.episodes import play
from policymix.environments.study import ADVICE_METHODS, Study
from policymix.sources.dynamics import NetworkDynamics
from policymix.sources.experts import SourceTask
from policymix.sources.library import SourceLibrary
from policymix.sources.policies import GreedyPolicy
from policymix.training.source_policy import (
    Judge,
    Judgement,
    PolicySettings,
    train_policy,
)
from policymix.training.task import load_task

WEAK_POLICY = replace(POLICY, samples=16_000, evaluate_every=256)
"""A tenth of the usual samples, looked at as closely as progress is fast."""
WEAK_RANGE = (60.0, 250.0)
"""Steps that a weak source alone balances on the target."""


UNSELECTED_POLICY = replace(POLICY, evaluate_every=POLICY.samples, finalists=1)
"""The usual training; its last checkpoint is the only one that is looked at."""


def train_weak(
    name: str, cart: CartPole, seed: int, begin: Begin
) -> tuple[SourceTask, int]:
    """A shipped source with a policy that is good for little, and samples it took."""
    return retrained(name, cart, WEAK_POLICY, judge_weak, seed, begin)


def train_unselected(
    name: str, cart: CartPole, seed: int, begin: Begin
) -> tuple[SourceTask, int]:
    """A shipped source with the policy that its training happened to end with."""
    judge = judge_cart(cart)
    return retrained(name, cart, UNSELECTED_POLICY, judge, seed, begin)


def retrained(
    name: str,
    cart: CartPole,
    settings: PolicySettings,
    judge: Judge,
    seed: int,
    begin: Begin,
) -> tuple[SourceTask, int]:
    """A shipped source with another policy, and samples it took; its model stays."""
    known = {s.name: s for s in load_task(CARTPOLE.name).sources.sources}[name]
    tasks = DomainTasks(cart, settings.copies)
    advance = begin(f"{name}: policy", settings.samples, "merit")
    trained = train_policy(tasks, settings, judge, seed, advance)
    policy = GreedyPolicy(trained.network, Identity())
    return replace(known, policy=policy), settings.samples


def judge_weak(policy: Policy, episodes: int, seed: int) -> Judgement:
    """The best checkpoint is the one nearest to the middle of the range."""
    played = play(cartpole_family().target, policy, episodes, seed)
    balanced = float(np.mean([episode.total for episode in played]))
    return Judgement(-abs(balanced - sum(WEAK_RANGE) / 2), {"balanced": balanced})


def random_networks(library: SourceLibrary) -> SourceLibrary:
    """The same dynamics, with networks of random weights for policies."""
    sources = []
    for seed, source in enumerate(library.sources):
        network = init_mlp(jax.random.key(seed), source.policy.network.sizes)
        policy = GreedyPolicy(network, source.policy.encoder)
        sources.append(replace(source, policy=policy))
    return replace(library, sources=sources, tried=False)


def wrong_throughout(library: SourceLibrary) -> SourceLibrary:
    """Random policies, and models by which an action throws the cart anywhere."""
    shifts = np.random.default_rng(0).normal(size=(len(library), 4))
    sources = [
        replace(source, dynamics=throwing(jnp.asarray(shift, jnp.float32)))
        for source, shift in zip(random_networks(library).sources, shifts, strict=True)
    ]
    return replace(library, sources=sources, tried=False)


def throwing(shift: State) -> NetworkDynamics:
    """Action k moves a state by k + 1 times the shift: one linear layer."""
    actions = 1 + jnp.arange(len(CartPole().fractions))
    weight = jnp.hstack([jnp.eye(4), jnp.outer(shift, actions)])
    return NetworkDynamics(MLP((weight,), (jnp.zeros(4),)), Identity())


class PaidCartPole(CartPole):
    """The same task, paid otherwise."""

    pay: float = 1.0
    """For every step survived."""

    def reward(self, obs: State, action: DiscreteAction, next_obs: State) -> Scalar:
        """The pay for every step survived; the failing step earns nothing."""
        return self.pay * super().reward(obs, action, next_obs)


def paid_family(pay: float) -> Family[CartPole]:
    """The usual sources, and a target with another pay."""
    return replace(cartpole_family(), target=PaidCartPole(pay=pay))


def steps_survived(episode: Played, pay: float) -> float:
    """The return, in steps whatever their pay."""
    return episode.total / pay


ADVICE_STUDY = replace(
    CARTPOLE.study,
    looks=(0, 1_000, 2_500, 10_000),
    shown=(0, 1_000, 2_500, 10_000),
    sweeps={},
    methods=ADVICE_METHODS,
    claims=(),
)


CONTEXT_METHODS = (
    *("mars", "mixture-global", "vote", "phi1", "phi2", "phi3", "mapse", "caps", "ucb"),
    *("scratch", "follow", "oracle"),
)
"""What is compared where the question is what the context is worth."""


def variant(name: str, study: Study, **changes: Any) -> Domain:
    """CartPole under another name, with its shipped sources unless they change."""
    study = replace(study, title=f"Transfer-CartPole, {study.title}")
    usual: dict[str, Any] = {"home": CARTPOLE.name, "trainer": None, "study": study}
    return replace(CARTPOLE, name=f"cartpole-{name}", **usual | changes)


def paid(name: str, pay: float, twin: str = "") -> Domain:
    """CartPole with another pay, scored in steps."""
    return variant(
        name,
        replace(ADVICE_STUDY, title=f"rewards of {pay:g}", twin=twin),
        family=partial(paid_family, pay),
        score=partial(steps_survived, pay=pay),
    )


WEAK = variant(
    "weak",
    replace(
        ADVICE_STUDY, title="weak policies", claims=("above-both", "ends-above-both")
    ),
    shipped=files("policymix.domains.cartpole") / "weak",
    home=None,
    trainer="policymix.domains.cartpole.advice:train_weak",
)
UNSELECTED = variant(
    "unselected",
    replace(
        ADVICE_STUDY, title="policies as training left them", methods=CONTEXT_METHODS
    ),
    shipped=files("policymix.domains.cartpole") / "unselected",
    home=None,
    trainer="policymix.domains.cartpole.advice:train_unselected",
)
RANDOM = variant(
    "random",
    replace(ADVICE_STUDY, title="random policies", claims=("tenth-above",)),
    alter=random_networks,
)
USELESS = variant(
    "useless",
    replace(
        ADVICE_STUDY,
        title="random policies and wrong dynamics",
        truth="",
        claims=("nearly-scratch",),
    ),
    alter=wrong_throughout,
    right=None,
    settings=replace(
        CARTPOLE.settings, own_model=True, shaped_rate=CARTPOLE.settings.learning_rate
    ),
)
ONES = paid("ones", 1.0)
CENTS = paid("cents", 0.01, twin=ONES.name)
DOLLARS = paid("dollars", 100.0, twin=ONES.name)
