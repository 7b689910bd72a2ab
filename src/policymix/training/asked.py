"""A trained agent that is asked again and again: what can be found once, is."""

from functools import partial
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array

from policymix.training.greedy import greedy_in
from policymix.training.trial import LearningSetup, Trial


class Skeleton:
    """What an agent is but for its arrays; programs are compiled for each."""

    def __init__(self, rest: LearningSetup, structure: Any):
        self.rest, self.structure = rest, structure
        self._hash = hash((rest, structure))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other or not isinstance(other, Skeleton):
            return self is other
        return (self.rest, self.structure) == (other.rest, other.structure)


@partial(jax.jit, static_argnums=(0, 1))
def _greedy(form: Skeleton, alone: bool, leaves: list[Array], rows: Array) -> Array:
    arrays, trial = jax.tree.unflatten(form.structure, leaves)
    return greedy_in(eqx.combine(arrays, form.rest), trial, rows, alone)


class Asked:
    """Greedy actions of one trial, in many states at once.

    To look through all modules of a setup takes longer than to decide, so it is done
    here. A program serves all numbers of states up to the same power of two.
    """

    def __init__(self, setup: LearningSetup, trial: Trial):
        arrays, rest = eqx.partition(setup, eqx.is_array)
        self._leaves, structure = jax.tree.flatten((arrays, trial))
        self._form = Skeleton(rest, structure)

    def __call__(self, rows: np.ndarray, alone: bool) -> np.ndarray:
        """One action for each row."""
        count = len(rows)
        size = 1 << (count - 1).bit_length() if count else 0
        if size > count:
            rows = np.resize(rows, (size, *rows.shape[1:]))
        return np.asarray(_greedy(self._form, alone, self._leaves, rows))[:count]
