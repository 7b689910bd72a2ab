"""Tasks of a few states whose values are known, and helpers to play with them."""

from dataclasses import replace

import equinox as eqx
import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from gymnasium import spaces
from jaxtyping import Array, Bool

from policymix.agents.base import Uniforms
from policymix.core.encoders import OneHot
from policymix.core.kernels import Indicator, as_float
from policymix.core.settings import Settings
from policymix.core.types import Discrete, Scalar, TaskSpec, Transition
from policymix.environments.base import AbstractDomain, Family, Step
from policymix.environments.domain import Domain
from policymix.sources.dynamics import TableDynamics
from policymix.sources.experts import SourceTask
from policymix.sources.library import SourceLibrary
from policymix.sources.policies import table_policy
from policymix.training.task import TransferTask


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
    return Uniforms(one, one, one, one, one, one, jnp.full(arms, 0.5))


class Corridor(AbstractDomain):
    """States 0 … length − 1 in a row: action 1 steps right, action 0 left.

    Leaving on the right pays one and ends; every other step pays `cost`. The best value
    of state s is therefore γ^k + cost (1 − γ^k)/(1 − γ), k = length − 1 − s.
    """

    length: int = eqx.field(static=True, default=3)
    cost: Scalar = eqx.field(converter=as_float, default=0.0)
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
    ends: Bool[Array, ""] = eqx.field(converter=jnp.asarray, default=False)

    @property
    def spec(self):
        return TaskSpec(Discrete(1), Discrete(2))

    def initial(self, key):
        del key
        return jnp.zeros((), int)

    def step(self, key, obs, action):
        del key, action
        return Step(obs, jnp.ones(()), self.ends)


def pairs_of(domain):
    """Every state with every action."""
    spec = domain.spec
    obs, action = jnp.divmod(
        jnp.arange(spec.observation.n * spec.action.n), spec.action.n
    )
    return obs, action


def transitions_of(domain, truncated=False):
    """What follows from every state and action, as one batch."""
    obs, action = pairs_of(domain)
    after = jax.vmap(lambda s, a: domain.step(None, s, a))(obs, action)
    cut = jnp.full(obs.shape, truncated) & ~after.terminated
    return Transition(obs, action, after.reward, after.next_obs, after.terminated, cut)


def model_of(domain):
    """The domain's dynamics as a table: tables of one shape share a compilation."""
    shape = domain.spec.observation.n, domain.spec.action.n
    return TableDynamics(transitions_of(domain).next_obs.reshape(shape))


def source(name, actions, domain, dynamics=None):
    """A source that takes these actions in the states, and predicts by its domain."""
    policy = table_policy(jnp.array(actions), domain.spec.action.n)
    return SourceTask(name, policy, dynamics or model_of(domain), Indicator())


def best_value(domain, discount, state):
    """What the corridor's best policy is worth in a state."""
    left = discount ** (domain.length - 1 - state)
    return left + float(domain.cost) * (1 - left) / (1 - discount)


def best_return(domain):
    """The undiscounted return of the corridor's best episode."""
    return 1.0 + (domain.length - 1) * float(domain.cost)


def task_of(domain, sources, right=None):
    """A transfer task around a probe."""
    spec = domain.spec
    encoder = OneHot(spec.observation.n)
    library = SourceLibrary(sources, encoder=encoder).for_target(spec)
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


LONG = Corridor(length=8, cost=-0.1, horizon=30)
"""A corridor that takes a while to learn alone."""
RIGHT, WRONG = [1] * LONG.length, [0] * LONG.length
LOST = Corridor(length=8, mirrored=True)
"""Another world, in which the corridor's wrong actions are right."""


def one_right(names):
    """The right source of `MIXED`, wherever one is."""
    del names
    return _first


def _first(obs):
    return jnp.zeros_like(obs)


MIXED = task_of(
    LONG, [source("good", RIGHT, LONG), source("bad", WRONG, LOST)], one_right
)
"""One source that is right, with the target's dynamics, and one that is not."""
HELPFUL = task_of(LONG, [source(name, RIGHT, LONG) for name in ("one", "two")])
"""Both sources are right."""
MISLEADING = task_of(LONG, [source(name, WRONG, LONG) for name in ("one", "two")])
"""Both sources are wrong, and their dynamics do not betray them."""

QUICK = Settings(
    steps=1_000,
    evaluate_every=100,
    evaluation_episodes=1,
    final_episodes=1,
    discount=0.9,
    epsilon_start=0.3,
    epsilon_decay=1.0,
    epsilon_floor=0.3,
    layers=None,
    learning_rate=0.5,
    shaped_rate=0.5,
    capacity=500,
    batch=16,
    refresh_every=100,
    epochs=1,
    mixture_layers=(8,),
    mixture_rate=1e-2,
    scale=1.0,
)
"""Numbers for tables of a few states; every chunk has 100 steps."""


class CorridorEnv:
    """A corridor as a Gymnasium environment would have it, in plain Python."""

    def __init__(self, domain):
        self._domain = domain
        self.observation_space = spaces.Discrete(domain.length)
        self.action_space = spaces.Discrete(2)

    def close(self):
        """Nothing is open."""

    def reset(self, seed=None):
        del seed
        self._place, self._elapsed = 0, 0
        return np.int64(0), {}

    def step(self, action):
        length = self._domain.length
        place = self._place + 1 if action == 1 else max(self._place - 1, 0)
        terminated = place >= length
        self._place, self._elapsed = min(place, length - 1), self._elapsed + 1
        truncated = not terminated and self._elapsed >= self._domain.horizon
        reward = 1.0 if terminated else float(self._domain.cost)
        return np.int64(self._place), reward, terminated, truncated, {}


def on_host(task):
    """The same task, its target stepped by the host."""
    family = task.domain.family()
    elsewhere = replace(family, target=lambda: CorridorEnv(family.target))
    return replace(task, target=replace(task.domain, family=lambda: elsewhere))


class Numbered(gymnasium.Env):
    """A corridor for Gymnasium."""

    def __init__(self, domain):
        self.observation_space = gymnasium.spaces.Discrete(domain.length)
        self.action_space = gymnasium.spaces.Discrete(2)
        self._length = domain.length

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self._place = 0
        return self._place, {}

    def step(self, action):
        place = self._place + 1 if action == 1 else max(self._place - 1, 0)
        self._place = min(place, self._length - 1)
        ended = place >= self._length
        return self._place, 1.0 if ended else -0.1, ended, False, {}
