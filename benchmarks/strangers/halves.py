"""What the strangers share: physics that depends on the place, and planning."""

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np


class Halves(gym.Wrapper):
    """An environment with one physics here and another there.

    Args:
        env: of Gymnasium.
        change: `change(body, value)` makes a physics; `body` is `env.unwrapped`.
        there: `there(body)` tells whether it is in the second half.
        values: of the physics in both halves; the same twice is a simulator.
    """

    def __init__(
        self,
        env: gym.Env,
        change: Callable[[Any, Any], None],
        there: Callable[[Any], Any],
        values: tuple[Any, Any],
    ):
        super().__init__(env)
        self._change, self._there, self._values = change, there, values

    def step(self, action: Any) -> Any:
        body = self.unwrapped
        self._change(body, self._values[int(self._there(body))])
        return self.env.step(action)


def best_actions(table: dict, discount: float = 0.99) -> np.ndarray:
    """Value iteration on the transitions `P` that toy text keeps.

    A step costs a little, or who gains nothing by it would never arrive.
    """
    values = np.zeros(len(table))

    def worth(outcomes: list) -> float:
        return sum(
            chance * (reward - 1e-3 + discount * values[state] * (not ended))
            for chance, state, reward, ended in outcomes
        )

    actions = values.astype(int)
    for _ in range(300):
        worths = [[worth(row) for row in rows.values()] for rows in table.values()]
        values, actions = np.max(worths, axis=1), np.argmax(worths, axis=1)
    return actions
