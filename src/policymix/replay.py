"""A ring of transitions: one packed row each, pure functions.

Write before you sample: XLA updates the buffer in place only when nothing reads its
older version afterwards.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from policymix.types import Key, Transition


def unpack(rows: Float[Array, "batch row"], obs_size: int) -> Transition:
    """Rows as transitions: obs, action, reward, next_obs, terminated, truncated."""
    ends = [obs_size, obs_size + 1, obs_size + 2, 2 * obs_size + 2, 2 * obs_size + 3]
    obs, action, reward, next_obs, terminated, truncated = jnp.split(rows, ends, axis=1)
    return Transition(
        obs,
        action[:, 0].astype(int),
        reward[:, 0],
        next_obs,
        terminated[:, 0] > 0,
        truncated[:, 0] > 0,
    )


class Replay(NamedTuple):
    """The rows, and how many were ever written."""

    rows: Float[Array, "capacity row"]
    written: Int[Array, ""]


def empty(capacity: int, obs_size: int) -> Replay:
    """Room for so many transitions."""
    return Replay(jnp.zeros((capacity, 2 * obs_size + 4)), jnp.zeros((), int))


def add(replay: Replay, rows: Float[Array, "batch row"]) -> Replay:
    """Write a batch over the oldest rows; its size must divide the capacity."""
    position = replay.written % replay.rows.shape[0]
    kept = jax.lax.dynamic_update_slice(replay.rows, rows, (position, 0))
    return Replay(kept, replay.written + rows.shape[0])


def sample(replay: Replay, key: Key, size: int) -> Float[Array, "batch row"]:
    """Draw rows with replacement from those written."""
    filled = jnp.minimum(replay.written, replay.rows.shape[0])
    return replay.rows[jax.random.randint(key, (size,), 0, filled)]
