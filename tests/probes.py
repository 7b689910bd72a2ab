"""Tasks of a few states whose values are known, and helpers to play with them."""

import equinox as eqx
import jax.numpy as jnp

from policymix.agents.learner import Noise
from policymix.catalogue import Domain, TransferTask
from policymix.domains.base import AbstractDomain, Family, Step
from policymix.encoders import OneHot
from policymix.experts import SourceTask
from policymix.kernels import Indicator
from policymix.policies import table_policy
from policymix.settings import Settings
from policymix.sources import SourceLibrary
from policymix.types import Discrete, TaskSpec, Transition


def batch_of(*steps):
    obs, action, reward, next_obs, terminated, truncated = zip(*steps, strict=True)
    return Transition(
        jnp.stack(obs),
        jnp.array(action),
        jnp.array(reward, float),
        jnp.stack(next_obs),
        jnp.array(terminated),
        jnp.array(truncated),
    )


def calm(arms=1):
    """Noise that explores nothing, reuses nothing and leaves nothing."""
    one = jnp.ones(())
    return Noise(one, one, one, one, one, jnp.full(arms, 0.5))


class Corridor(AbstractDomain):
    """States 0 … length − 1 in a row: action 1 steps right, action 0 left.

    Leaving on the right pays one and ends; every other step pays `cost`. The best value
    of state s is therefore γ^k + cost (1 − γ^k)/(1 − γ), k = length − 1 − s.
    """

    length: int = eqx.field(static=True, default=3)
    cost: float = 0.0
    horizon: int = eqx.field(static=True, default=20)
    mirrored: bool = eqx.field(static=True, default=False)

    @property
    def spec(self):
        return TaskSpec(Discrete(self.length), Discrete(2))

    def initial(self, key):
        del key
        return jnp.zeros((), int)

    def move(self, obs, action):
        forth = (action == 1) != self.mirrored
        return jnp.where(forth, obs + 1, jnp.maximum(obs - 1, 0))

    def step(self, key, obs, action):
        del key
        place = self.move(obs, action)
        terminated = place >= self.length
        reward = jnp.where(terminated, 1.0, self.cost)
        return Step(jnp.minimum(place, self.length - 1), reward, terminated)


class Endless(AbstractDomain):
    """One state and reward 1 for ever, cut off after five steps."""

    horizon: int = eqx.field(static=True, default=5)
    ends: bool = eqx.field(static=True, default=False)

    @property
    def spec(self):
        return TaskSpec(Discrete(1), Discrete(2))

    def initial(self, key):
        del key
        return jnp.zeros((), int)

    def step(self, key, obs, action):
        del key, action
        return Step(obs, jnp.ones(()), jnp.array(self.ends))


def source(name, actions, domain, dynamics=None):
    """A source that takes these actions in the states, and predicts by its domain."""
    moves = dynamics or (lambda s, a: domain.step(None, s, a).next_obs)
    num_actions = domain.spec.action.n
    return SourceTask(
        name, table_policy(jnp.array(actions), num_actions), moves, Indicator()
    )


def task_of(domain, sources, right=None):
    """A transfer task around a probe."""
    spec = domain.spec
    library = SourceLibrary(sources, spec, OneHot(spec.observation.n))
    names = {s.name: domain for s in sources}
    probe = Domain(
        "probe",
        lambda: Family("probe", domain, names),
        OneHot(spec.observation.n),
        "return",
        lambda episode: episode.total,
        right,
    )
    return TransferTask(probe, library, {})


QUICK = Settings(
    steps=2_000,
    evaluate_every=500,
    evaluation_episodes=1,
    discount=0.9,
    epsilon_start=0.3,
    epsilon_decay=1.0,
    epsilon_floor=0.3,
    layers=None,
    learning_rate=0.5,
    shaped_rate=0.5,
    capacity=500,
    batch=16,
    epochs=1,
    mixture_layers=(8,),
    mixture_rate=1e-2,
    scale=1.0,
)
"""Numbers for tables of a few states."""
