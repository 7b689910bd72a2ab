"""A slope for the bridges: two regions, and a source that is right in each."""

from contextlib import contextmanager
from dataclasses import replace
from functools import cache

import gymnasium
import jax.numpy as jnp
import numpy as np
from gymnasium import spaces
from jaxtyping import config

from policymix.core.encoders import Identity
from policymix.core.kernels import Gaussian
from policymix.core.settings import Settings
from policymix.core.spaces import spec_of_spaces
from policymix.sources.experts import SourceTask
from policymix.sources.library import SourceLibrary

FAST = Settings(batch=16, capacity=200, mixture_layers=(8,), mixture_rate=2e-2)
"""A small mixture that learns fast."""
OWN = replace(FAST, own_model=True)
"""The same, with a component for the target's own model."""
FIXED = replace(FAST, mixture_rate=0.0)
"""A mixture that stays as it is."""
IDENTITY = Identity()


class Slope(gymnasium.Env):
    """A place in [−1, 1]; reaching 0.9 pays one and ends, other steps cost a tenth.

    Action 1 (or a force above 1 in [−2, 4]) moves right where the place is negative,
    left where it is not. `sense` is a second component that says nothing.
    """

    def __init__(self, horizon=12, continuous=False, begin=None):
        self.observation_space = spaces.Box(-1.0, 1.0, (2,), np.float32)
        self.action_space = (
            spaces.Box(-2.0, 4.0, (1,), np.float32)
            if continuous
            else spaces.Discrete(2)
        )
        self.continuous, self.horizon, self.begin = continuous, horizon, begin

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.elapsed = 0
        anywhere = self.np_random.uniform(-0.8, 0.4)
        self.place = anywhere if self.begin is None else self.begin
        self.sense = self.np_random.uniform(-1.0, 1.0)
        return self.observe(), {}

    def observe(self):
        return np.array([self.place, self.sense], np.float32)

    def step(self, action):
        push = (float(action[0]) - 1) / 3 if self.continuous else 2 * int(action) - 1
        here = 1.0 if self.place < 0 else -1.0
        self.place = float(np.clip(self.place + 0.2 * push * here, -1.0, 1.0))
        self.elapsed += 1
        terminated = self.place >= 0.9
        truncated = not terminated and self.elapsed >= self.horizon
        return self.observe(), 1.0 if terminated else -0.1, terminated, truncated, {}


def library(continuous=False, encoder=IDENTITY, precision=100.0):
    """Source "left" is right where the place is negative, and "right" elsewhere."""
    worlds = {"left": 1.0, "right": -1.0}
    sources = [source(*world, continuous, precision) for world in worlds.items()]
    return SourceLibrary(sources, encoder=encoder)


def source(name, here, continuous=False, precision=100.0, policy=None, dynamics=None):
    """One that has learned where the force acts as `here` says."""

    def follow(obs, action):
        push = (action[0] - 1) / 3 if continuous else 2.0 * action - 1
        place = jnp.clip(obs[0] + 0.2 * push * here, -1.0, 1.0)
        return jnp.stack([place, obs[1]])

    def act(obs):
        del obs
        best = 1.0 + 3.0 * here
        return jnp.array([best]) if continuous else jnp.array(int(here > 0))

    return SourceTask(name, policy or act, dynamics or follow, Gaussian(precision))


DISCRETE, CONTINUOUS = library(), library(continuous=True)
SOURCES = {False: DISCRETE, True: CONTINUOUS}
"""Shared, so that they are compiled once."""


@cache
def ready(continuous):
    """The same, tried on the slope once and for all."""
    spec = spec_of_spaces(Slope(continuous=continuous), "slope")
    return SOURCES[continuous].for_target(spec)


@contextmanager
def untyped():
    """As users run it, who see our messages and not those of a type checker."""
    config.update("jaxtyping_disable", True)
    try:
        yield
    finally:
        config.update("jaxtyping_disable", False)


def wander(env, steps, seed=0):
    """Random actions: rows of observations, actions and next observations."""
    env.action_space.seed(seed)
    obs, _ = env.reset(seed=seed)
    rows = []
    for _ in range(steps):
        action = env.action_space.sample()
        after, _, terminated, truncated, _ = env.step(action)
        rows.append((obs, action, after))
        obs = env.reset()[0] if terminated or truncated else after
    return tuple(np.array(part) for part in zip(*rows, strict=True))
