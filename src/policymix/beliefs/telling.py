"""Which numbers of a state tell most about who is trusted there?"""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np

from policymix.core.errors import PolicymixError

Over: TypeAlias = Sequence[int] | Mapping[str, int] | None
"""Two numbers of an observation, by their places; with names, if they have some."""
BINS = 6
"""Of each number, when the most telling are looked for."""


def chosen(over: Over, size: int) -> dict[str, int]:
    """The two numbers that the user wants to see, by name; none if he leaves it."""
    if over is None:
        return {}
    listed = over if isinstance(over, Mapping | Sequence) else ()
    named = (
        listed
        if isinstance(listed, Mapping)
        else {f"observation[{i}]": i for i in listed}
    )
    if len(named) != 2 or not all(place in range(size) for place in named.values()):
        raise PolicymixError(
            f"over={over!r}: give two different numbers of an observation, by their "
            f'places 0 … {size - 1}, as in over=(0, 1) or over={{"x": 0, "speed": 1}}'
        )
    return dict(named)


def most_telling(states: np.ndarray, weights: np.ndarray) -> list[int]:
    """The number that says most about the weights, and the one that adds most to it."""
    bins = np.stack([binned(column) for column in states.T], axis=1)
    first = max(range(bins.shape[1]), key=lambda i: explained(bins[:, i], weights))
    others = [i for i in range(bins.shape[1]) if i != first] or [first]
    pairs = {i: explained(BINS * bins[:, first] + bins[:, i], weights) for i in others}
    return sorted([first, max(pairs, key=lambda i: pairs[i])])


def binned(values: np.ndarray) -> np.ndarray:
    """Which of a few parts of like size a value belongs to."""
    inner = np.quantile(values, np.linspace(0, 1, BINS + 1)[1:-1])
    return np.searchsorted(inner, values)


def explained(groups: np.ndarray, weights: np.ndarray) -> float:
    """Squared deviations of the weights that lie between groups, and not within."""
    values = weights.astype(float)
    middle = values.mean(axis=0)
    parts = [values[groups == group] for group in np.unique(groups)]
    return sum(len(p) * np.sum((p.mean(axis=0) - middle) ** 2) for p in parts)
