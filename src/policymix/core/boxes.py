"""Actions drawn anywhere in a space; continuous ones in their bounds and in [−1, 1]."""

from typing import Any

import numpy as np

from policymix.core.types import Box, Discrete, Space

FARTHEST = 1e3
"""Where actions have no bounds, random ones have these."""


def draw_actions(space: Space, rng: np.random.Generator, count: int) -> np.ndarray:
    """So many actions, all equally likely."""
    if isinstance(space, Discrete):
        return rng.integers(space.n, size=count)
    low, high = (
        np.clip(bound, -FARTHEST, FARTHEST) for bound in (space.low, space.high)
    )
    return rng.uniform(low, high, (count, len(low))).astype(np.float32)


def in_unit(space: Space, action: Any) -> Any:
    """A continuous action in [−1, 1]; of NumPy's or of JAX."""
    low, high = _bounds(space)
    return 2.0 * (action - low) / (high - low) - 1.0


def from_unit(space: Space, action: Any) -> Any:
    """The inverse: from [−1, 1] to the bounds."""
    low, high = _bounds(space)
    return clipped(space, low + 0.5 * (action + 1.0) * (high - low))


def clipped(space: Space, action: Any) -> Any:
    """The nearest action that is in the space; rounding may lead out of it."""
    return action.clip(*_bounds(space))


def _bounds(space: Space) -> tuple[np.ndarray, np.ndarray]:
    assert isinstance(space, Box)
    return np.array(space.low, np.float32), np.array(space.high, np.float32)
