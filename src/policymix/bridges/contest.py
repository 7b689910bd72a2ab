"""Advice, the rule, or the own values: whose episodes return more.

The rule may be sure of what is wrong, and advice may be so bad that the rule never gets
to know better. So some episodes are led by the sources alone, some by the own values
alone, and the returns decide how many, and who is trusted in the end.
"""

from collections import deque
from math import sqrt
from typing import Literal

import numpy as np

Arm = Literal["advice", "rule", "own"]
ARMS: tuple[Arm, ...] = ("advice", "rule", "own")
"""In order of trust: a later one must be better by more than chance."""
LATEST_RETURNS = 10
"""Latest returns of each that count: learners get better with time."""
FEWEST_RETURNS = 4
"""Returns of each before one can be found better than another."""
RARE = 0.25
"""The least share of the samples for each: what fails today may be right tomorrow."""
DOUBT = 2.0
"""Standard errors by which it must be better."""


class Contest:
    """Shares out episodes between the three.

    Args:
        seed: of who leads.
    """

    def __init__(self, seed: int):
        self._returns = {arm: deque[float](maxlen=LATEST_RETURNS) for arm in ARMS}
        self._samples = dict.fromkeys(ARMS, 0)
        self._rng = np.random.default_rng(seed)

    def tell(self, arm: Arm, total: float, samples: int) -> None:
        """An episode has ended: its return and its length."""
        self._returns[arm].append(total)
        self._samples[arm] += samples

    def draw(self) -> Arm:
        """Who leads the next episode: each as often as it may be the best."""
        rare = RARE * sum(self._samples.values())
        for arm in ARMS:
            if len(self._returns[arm]) < 2 or self._samples[arm] < rare:
                return arm
        chances = [self._rng.normal(*self._known(arm)) for arm in ARMS]
        return ARMS[int(np.argmax(chances))]

    @property
    def best(self) -> Arm:
        """The first in order that no later one is surely better than."""
        best = ARMS[0]
        for arm in ARMS[1:]:
            returns = self._returns[best], self._returns[arm]
            if min(map(len, returns)) < FEWEST_RETURNS:
                continue
            (old, doubt), (new, other) = self._known(best), self._known(arm)
            if new - old > DOUBT * sqrt(doubt**2 + other**2):
                best = arm
        return best

    def means(self) -> dict[str, float]:
        """The mean of the latest returns of each."""
        return {arm: float(np.mean(x)) for arm, x in self._returns.items() if x}

    def _known(self, arm: Arm) -> tuple[float, float]:
        """Mean of the returns and its standard error."""
        returns = np.array(self._returns[arm])
        return float(returns.mean()), float(returns.std(ddof=1) / sqrt(len(returns)))
