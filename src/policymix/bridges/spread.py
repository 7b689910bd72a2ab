"""The unit of reward: how much discounted returns spread.

Rewards divided by it mean the same in cents as in millions.
"""

import numpy as np


class Spread:
    """Standard deviation of all discounted sums of rewards so far.

    The sum at a step is that of the rewards *up to* it, which is known at once and
    spreads as the sum from it on does.
    """

    def __init__(self):
        self._count, self._mean, self._squares = 0, 0.0, 0.0
        self._sums = np.zeros(0)

    def add(self, rewards: np.ndarray, ended: np.ndarray, discount: float) -> None:
        """Take in one step of several environments."""
        if len(self._sums) != len(rewards):
            self._sums = np.zeros(len(rewards))
        self._sums = discount * self._sums + np.asarray(rewards, float)
        for total in self._sums.tolist():
            self._count += 1
            shift = total - self._mean
            self._mean += shift / self._count
            self._squares += shift * (total - self._mean)
        self._sums[np.asarray(ended, bool)] = 0.0

    def forget_episodes(self) -> None:
        """Begin new sums."""
        self._sums = np.zeros(0)

    @property
    def value(self) -> float:
        """The deviation, or 1 as long as nothing differs."""
        deviation = (self._squares / max(self._count, 1)) ** 0.5
        return deviation if deviation > 0.0 else 1.0
