"""A ring of transitions: one packed row each, pure functions.

Write before you sample: XLA updates the buffer in place only when nothing reads its
older version afterwards.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from policymix.core.types import Discrete, Key, Observation, Space, Transition


@dataclass(frozen=True)
class Layout:
    """The columns of a row: a transition, then vectors that were computed with it."""

    observation: Space
    extras: tuple[int, ...] = ()
    action_shape: tuple[int, ...] = ()
    """Of an index it is empty."""

    @property
    def width(self) -> int:
        """Numbers in a row."""
        return 2 * self._obs_size + self._action_size + 3 + sum(self.extras)

    @property
    def _obs_size(self) -> int:
        return math.prod(self.observation.shape)

    @property
    def _action_size(self) -> int:
        return math.prod(self.action_shape)

    @property
    def reward(self) -> int:
        """The column of the reward."""
        return self._obs_size + self._action_size

    def pack(
        self, step: Transition, extras: Sequence[Float[Array, "..."]] = ()
    ) -> Float[Array, " row"]:
        """One transition as a row."""
        parts = [jnp.ravel(part).astype(jnp.float32) for part in (*step, *extras)]
        return jnp.concatenate(parts)

    def unpack(
        self, row: Float[Array, " row"]
    ) -> tuple[Transition, list[Float[Array, " extra"]]]:
        """One row as a transition and its extras."""
        size = self._obs_size
        ends, end = [], 0
        for length in (size, self._action_size, 1, size, 1, 1, *self.extras):
            end += length
            ends.append(end)
        obs, action, reward, next_obs, terminated, truncated, *extras = jnp.split(
            row, ends[:-1]
        )
        step = Transition(
            self._observation(obs),
            action if self.action_shape else action[0].astype(int),
            reward[0],
            self._observation(next_obs),
            terminated[0] > 0,
            truncated[0] > 0,
        )
        return step, extras

    def _observation(self, columns: Float[Array, " obs"]) -> Observation:
        if isinstance(self.observation, Discrete):
            return columns[0].astype(int)
        return columns


class Replay(NamedTuple):
    """The rows, and how many were ever written."""

    rows: Float[Array, "capacity row"]
    written: Int[Array, ""]


def empty(capacity: int, layout: Layout) -> Replay:
    """Room for so many transitions."""
    return Replay(jnp.zeros((capacity, layout.width)), jnp.zeros((), int))


def add(replay: Replay, rows: Float[Array, "batch row"]) -> Replay:
    """Write a batch over the oldest rows; its size must divide the capacity."""
    position = replay.written % replay.rows.shape[0]
    kept = jax.lax.dynamic_update_slice(replay.rows, rows, (position, 0))
    return Replay(kept, replay.written + rows.shape[0])


def sample(replay: Replay, key: Key, size: int) -> Float[Array, "batch row"]:
    """Draw rows with replacement from those written."""
    filled = jnp.minimum(replay.written, replay.rows.shape[0])
    return replay.rows[jax.random.randint(key, (size,), 0, filled)]
