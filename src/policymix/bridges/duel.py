"""The rule or the own values: whose episodes return more.

Advice may be so bad that the rule never gets to know better. So some episodes are led
by the own values alone, and the returns decide how many.
"""

from collections import deque
from math import copysign, erf, inf, sqrt

import numpy as np

KEPT = 20
"""Latest returns of each that count: both get better with time."""
FEWEST = 5
"""Returns of each before the own values can be found better."""
RARE = 0.1
"""The least share of episodes for either: what fails today may be right tomorrow."""
DOUBT = 2.0
"""Standard errors by which the own values must be better."""


class Duel:
    """Shares out episodes between the rule and the own values.

    Args:
        seed: of who leads.
    """

    def __init__(self, seed: int):
        self._returns = {own: deque[float](maxlen=KEPT) for own in (False, True)}
        self._rng = np.random.default_rng(seed)

    def tell(self, own: bool, total: float) -> None:
        """An episode has ended."""
        self._returns[own].append(total)

    def draw(self) -> bool:
        """Whether the own values lead the next episode; each begins once."""
        for own, returns in self._returns.items():
            if not returns:
                return own
        return bool(self._rng.random() < self.share)

    @property
    def lead(self) -> float:
        """By how many standard errors the own values' returns are higher."""
        rule, own = (np.array(self._returns[own]) for own in (False, True))
        if min(len(rule), len(own)) < 2:
            return 0.0
        gap = float(own.mean() - rule.mean())
        if gap == 0.0:
            return 0.0
        error = sqrt(own.var(ddof=1) / len(own) + rule.var(ddof=1) / len(rule))
        return gap / error if error > 0.0 else copysign(inf, gap)

    @property
    def share(self) -> float:
        """Of the episodes that the own values lead: how likely it is that they win."""
        chance = (1.0 + erf(self.lead / sqrt(2.0))) / 2.0
        return min(max(chance, RARE), 1.0 - RARE)

    @property
    def own_is_better(self) -> bool:
        """Beyond doubt."""
        enough = min(map(len, self._returns.values())) >= FEWEST
        return enough and self.lead > DOUBT
