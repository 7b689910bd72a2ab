"""The JAX domains as ordinary Gymnasium environments."""

from collections.abc import Callable
from typing import Any, TypeAlias

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from gymnasium import spaces
from gymnasium.error import InvalidAction, ResetNeeded
from jaxtyping import Array, Int

from policymix.core.errors import DomainError
from policymix.core.types import Action, Discrete, Key, Observation, Space
from policymix.environments.base import AbstractDomain, Step
from policymix.environments.drawing import Picture

Draw: TypeAlias = Callable[[Any, np.ndarray], Picture]
"""A domain and an observation in, a picture out."""


@jax.jit
def _initial(domain: AbstractDomain, key: Key) -> Observation:
    return domain.initial(key)


@jax.jit
def _step(
    domain: AbstractDomain,
    key: Key,
    elapsed: Int[Array, ""] | int,
    obs: Observation,
    action: Action | np.ndarray | int,
) -> Step:
    """One step, with a key of its own; compiled once for all variants of a domain."""
    return domain.step(jax.random.fold_in(key, elapsed), obs, jnp.asarray(action))


class DomainEnv(gymnasium.Env):
    """A domain step by step on the host, its pictures included.

    It ends an episode at the domain's horizon itself (`truncated`), since the horizon
    belongs to the variant; a TimeLimit around it would enforce it a second time.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012 (Gymnasium's own declaration)
        "render_modes": ["rgb_array"],
        "render_fps": 50,
    }

    def __init__(
        self, domain: AbstractDomain, draw: Draw, render_mode: str | None = None
    ):
        modes = self.metadata["render_modes"]
        if render_mode is not None and render_mode not in modes:
            raise DomainError(
                f"render_mode={render_mode!r} is unknown: choose one of {modes} or None"
            )
        self.domain = domain
        self.render_mode = render_mode
        self.observation_space = _gymnasium_space(domain.spec.observation)
        self.action_space = _gymnasium_space(domain.spec.action)
        self._draw = draw
        self._obs: Observation | None = None
        self._elapsed = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin an episode; there are no options."""
        super().reset(seed=seed)
        self._key = jax.random.key(int(self.np_random.integers(2**31)))
        # `fold_in` below counts from 1, so that no step shares the key of the start.
        self._obs = _initial(self.domain, jax.random.fold_in(self._key, 0))
        self._elapsed = 0
        return self._observation(), {}

    def step(
        self, action: int | np.integer | np.ndarray
    ) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        if self._obs is None:
            raise ResetNeeded("call reset() before the first step()")
        if not self.action_space.contains(action):
            raise InvalidAction(f"{action!r} is not in {self.action_space}")
        finite = isinstance(self.domain.spec.action, Discrete)
        taken = int(action) if finite else np.asarray(action, np.float32)
        self._elapsed += 1
        self._obs, reward, terminated = _step(
            self.domain, self._key, self._elapsed, self._obs, taken
        )
        ended = bool(terminated)
        truncated = not ended and self._elapsed >= self.domain.horizon
        return self._observation(), float(reward), ended, truncated, {}

    def render(self) -> Picture | None:
        """The present state as a picture; None without a render mode."""
        if self.render_mode is None:
            return None
        if self._obs is None:
            raise ResetNeeded("call reset() before render()")
        return self._draw(self.domain, np.asarray(self._obs))

    def _observation(self) -> np.ndarray | np.int64:
        """A copy of the state, in the type that the space declares."""
        value = np.array(self._obs, self.observation_space.dtype)
        return np.int64(value) if value.ndim == 0 else value


def _gymnasium_space(space: Space) -> spaces.Space:
    if isinstance(space, Discrete):
        return spaces.Discrete(space.n)
    low, high = np.array(space.low, np.float32), np.array(space.high, np.float32)
    return spaces.Box(low, high)
