"""The latest transitions, from which a mixture learns."""

from typing import Any

import numpy as np

from policymix.beliefs.mixture import Evidence
from policymix.core.types import Discrete, TaskSpec


class Ring:
    """The latest transitions, and what the sources said of them."""

    def __init__(self, spec: TaskSpec, sources: int, capacity: int):
        kinds = [
            np.int32 if isinstance(space, Discrete) else np.float32
            for space in (spec.observation, spec.action)
        ]
        self._parts = (
            np.zeros((capacity, *spec.observation.shape), kinds[0]),
            np.zeros((capacity, *spec.action.shape), kinds[1]),
            np.zeros((capacity, *spec.observation.shape), kinds[0]),
            np.zeros((capacity, sources), np.float32),
        )
        self._capacity, self._written = capacity, 0

    @property
    def filled(self) -> int:
        return min(self._written, self._capacity)

    def add(self, *rows: np.ndarray) -> None:
        places = (self._written + np.arange(len(rows[0]))) % self._capacity
        for part, values in zip(self._parts, rows, strict=True):
            part[places] = values
        self._written += len(rows[0])

    def at(self, places: np.ndarray) -> Evidence:
        parts: Any = (part[places] for part in self._parts)
        return Evidence(*parts)
