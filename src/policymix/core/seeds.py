"""Seeds: whole numbers of 64 bits. Each has a key of its own; others are refused."""

import operator
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, UInt32

from policymix.core.errors import PolicymixError
from policymix.core.types import Key

LIMIT = 2**64
"""The first number that is no seed any more."""
TRIALS_AT_ONCE = 1 << 20
"""Of one call; a larger number is a slip, and would only fill the memory."""


def check_seed(seed: Any, count: int = 1) -> int:
    """The first of `count` seeds in a row, or a complaint of what is none.

    Keys have 64 bits. Cut down to them, other numbers would give the results of another
    seed under their own name.
    """
    try:
        first = operator.index(seed)
    except TypeError:
        first = None
    if first is None or isinstance(seed, bool):
        raise PolicymixError(f"seed is {seed!r}: it must be a whole number, such as 0")
    if first < 0:
        raise PolicymixError(f"seed is {first}: it must be at least 0")
    if first + count > LIMIT:
        told = f"seed is {first}" + (f", and {count} from it on" if count > 1 else "")
        raise PolicymixError(f"{told}: seeds are less than 2**64")
    return first


def seeds_from(seed: Any, count: int) -> np.ndarray:
    """Trial t has seed + t."""
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        raise PolicymixError(
            f"trials is {count!r}: it must be a whole number, at least 1"
        )
    if count > TRIALS_AT_ONCE:
        raise PolicymixError(
            f"trials is {count}: it must be at most {TRIALS_AT_ONCE:,}. Run more in "
            "several calls, from other seeds on"
        )
    first = check_seed(seed, count)
    return np.array([first + place for place in range(count)], np.uint64)


def words_of(seeds: int | Sequence[int] | np.ndarray) -> np.ndarray:
    """What keys are made of: the upper and the lower half of every seed."""
    whole = np.asarray(seeds, np.uint64)
    halves = (whole >> np.uint64(32), whole & np.uint64(0xFFFFFFFF))
    return np.stack(halves, axis=-1).astype(np.uint32)


def key_from(words: UInt32[Array, "2"]) -> Key:
    """The key of a seed; below 2**32 it is `jax.random.key(seed)`."""
    return jax.random.wrap_key_data(words, impl="threefry2x32")


def key_of(seed: int) -> Key:
    """The key of a seed."""
    return key_from(jnp.asarray(words_of(check_seed(seed))))
