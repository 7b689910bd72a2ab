"""Continuous actions in their own bounds, and in [−1, 1], as learners have them."""

from typing import Any

import numpy as np

from policymix.core.types import Box, Space


def in_unit(space: Space, action: Any) -> Any:
    """A continuous action in [−1, 1]; of NumPy's or of JAX."""
    low, high = _bounds(space)
    return 2.0 * (action - low) / (high - low) - 1.0


def from_unit(space: Space, action: Any) -> Any:
    """The inverse: from [−1, 1] to the bounds."""
    low, high = _bounds(space)
    return low + 0.5 * (action + 1.0) * (high - low)


def _bounds(space: Space) -> tuple[np.ndarray, np.ndarray]:
    assert isinstance(space, Box)
    return np.array(space.low, np.float32), np.array(space.high, np.float32)
