"""What may be fitted: transitions, one row each, checked before anything learns."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from policymix.core.errors import SourceError

PARTS = ("obs", "action", "next_obs")
FEWEST = 20
"""Transitions below which nothing would be left to test a model on."""
SHARE = 0.1
"""Of all transitions: held out for the error, and as many for early stopping."""
FLATTEN = "gymnasium.wrappers.FlattenObservation"


class Transitions(NamedTuple):
    """What a model learns from, one row each."""

    obs: Float[Array, "samples d"]
    action: Int[Array, " samples"] | Float[Array, "samples act"]
    next_obs: Float[Array, "samples d"]

    def rows(self, index: np.ndarray) -> "Transitions":
        """Those at an index; NumPy picks them, for JAX would compile each shape."""
        return Transitions(*(jnp.asarray(np.asarray(part)[index]) for part in self))


def split(
    data: Transitions, held_out: float, seed: int
) -> tuple[Transitions, Transitions]:
    """Training and unseen transitions, drawn at random."""
    order = np.random.default_rng(seed).permutation(len(data.obs))
    unseen = int(held_out * len(order))
    return data.rows(order[unseen:]), data.rows(order[:unseen])


def checked(given: Sequence[Any]) -> Transitions:
    """Sound arrays of what was given: floats in rows, or indices."""
    columns = [
        _numbers(part, values) for part, values in zip(PARTS, given, strict=True)
    ]
    lengths = [len(column) for column in columns]
    if len(set(lengths)) > 1:
        counts = ", ".join(f"{n} of {p}" for p, n in zip(PARTS, lengths, strict=True))
        raise SourceError(f"rows are missing: {counts}. Give as many of each")
    if lengths[0] < FEWEST:
        raise SourceError(
            f"there are {lengths[0]} transitions, too few to learn from and to test "
            f"on. Give at least {FEWEST}, better thousands"
        )
    obs, action, next_obs = map(_sound, PARTS, columns)
    if obs.shape != next_obs.shape:
        raise SourceError(
            f"obs has the shape {obs.shape} but next_obs {next_obs.shape}. Give both "
            "in the same form"
        )
    if obs.ndim == 1 and action.ndim == 2:
        raise SourceError(
            "the observations are states' indices but the actions are vectors. "
            "Give integer actions, or observations as rows of floats"
        )
    return Transitions(*map(jnp.asarray, (obs, action, next_obs)))


def count(kind: str, given: int | None, known: int | None, *columns: Any) -> int:
    """How many actions or states there are, which all indices must agree with."""
    least = min(int(column.min()) for column in columns)
    most = max(int(column.max()) for column in columns)
    counts = (count for count in (given, known, most + 1) if count is not None)
    count = next(counts)
    if least < 0 or most >= count:
        raise SourceError(
            f"there are {kind} from {least} to {most}, but they must be 0 … "
            f"{count - 1}. Number them from zero, or give num_{kind}"
        )
    return count


def _numbers(part: str, values: Any) -> np.ndarray:
    try:
        column = np.asarray(values)
    except ValueError:
        raise SourceError(
            f"the rows of {part} differ in shape. Give as many numbers in each"
        ) from None
    if column.dtype.kind not in "biuf":
        raise SourceError(
            f"{part} holds {column.dtype} values, not numbers. Flatten dictionaries "
            f"with {FLATTEN}, and turn names into integers"
        )
    if column.ndim == 0:
        raise SourceError(f"{part} is a single number. Give a row for each transition")
    return column


def _sound(part: str, column: np.ndarray) -> np.ndarray:
    whole = column.dtype.kind in "biu"
    if column.ndim > 2:
        raise SourceError(
            f"{part} has the shape {column.shape}. Give [samples] for indices or "
            "[samples, numbers] for vectors: flatten what is larger, an image say"
        )
    if column.ndim == 1:
        if not whole:
            raise SourceError(
                f"{part} is one float a row. Give integers if they are indices, or "
                "reshape it to [samples, 1] if they are vectors of one number"
            )
        return column.astype(np.int32)
    if whole and part == "action":
        raise SourceError(
            f"action holds integers in rows of {column.shape[1]}. Give one integer for "
            "each transition, or floats if the actions are continuous"
        )
    with np.errstate(over="ignore"):
        rows = column.astype(np.float32)
    finite = np.isfinite(rows).all(axis=1)
    if not finite.all():
        raise SourceError(
            f"{part} holds NaN or infinity in row {int(np.argmin(finite))}. Drop that "
            "transition, or mend what recorded it"
        )
    return rows
