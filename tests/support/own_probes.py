"""Targets and sources as users bring them: small, and with known truths."""

from typing import Any

import equinox as eqx
import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium import spaces

from policymix.core.kernels import Gaussian
from policymix.core.settings import Settings
from policymix.core.types import Box, Discrete, TaskSpec
from policymix.environments.base import AbstractDomain, Step
from policymix.sources.experts import SourceTask
from policymix.sources.library import SourceLibrary
from policymix.training.task import TransferTask, prepare

BRIEF = Settings(
    steps=200,
    evaluate_every=100,
    evaluation_episodes=2,
    final_episodes=2,
    layers=(8,),
    mixture_layers=(8,),
    batch=16,
    refresh_every=100,
    epochs=1,
    own_model=False,
)
"""Numbers for a few seconds; every chunk has 100 steps."""


@pytest.fixture(scope="module")
def unoptimised():
    """Compile in half the time, for programs that run only once."""
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", False)


class Line(gymnasium.Env):
    """A place on a line; action 1 steps right by `step`, action 0 left. Never ends."""

    def __init__(self, step=0.25):
        self.observation_space = spaces.Box(-np.inf, np.inf, (2,), np.float32)
        self.action_space = spaces.Discrete(2)
        self.step_size = step

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place = float(np.round(self.np_random.uniform(-1, 1), 2))
        return self.observe(), {}

    def step(self, action):
        self.place += self.step_size if action == 1 else -self.step_size
        return self.observe(), -abs(self.place), False, False, {}

    def observe(self):
        return np.array([self.place, 1.0], np.float32)


class LineDomain(AbstractDomain):
    """The same in JAX, with a horizon of 20."""

    horizon: int = eqx.field(static=True, default=20)

    @property
    def spec(self):
        return TaskSpec(Box((-np.inf,) * 2, (np.inf,) * 2), Discrete(2))

    def initial(self, key):
        return jnp.stack([jax.random.uniform(key, minval=-1, maxval=1), jnp.ones(())])

    def step(self, key, obs, action):
        del key
        next_obs = obs + jnp.array([0.25, 0.0]) * (2 * action - 1)
        return Step(next_obs, -jnp.abs(next_obs[0]), jnp.array(False))


def homeward(obs):
    """To zero; `if` on a number keeps it on the host."""
    return 1 if obs[0] < 0 else 0


def stepping(obs, action):
    """What happens on the line."""
    return [obs[0] + (0.25 if action == 1 else -0.25), obs[1]]


def homeward_jax(obs):
    return jnp.where(obs[0] < 0, 1, 0)


def stepping_jax(obs, action):
    return obs + jnp.array([0.25, 0.0]) * (2 * action - 1)


def task(
    policy: Any = homeward,
    dynamics: Any = stepping,
    target: Any = Line,
    kernel=None,
    **more,
):
    """A task with one source, named "only"."""
    source = SourceTask("only", policy, dynamics, kernel or Gaussian())
    return prepare(TransferTask(target, SourceLibrary([source]), **more))
