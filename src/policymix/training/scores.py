"""How good the trials are: their regret, or the mean score of test episodes."""

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from policymix.environments.domain import Domain
from policymix.environments.finite import regret_in
from policymix.training.elsewhere import Elsewhere
from policymix.training.loop import Loop


class Tested(NamedTuple):
    """What scores look at."""

    length: int
    total: float


class Examination:
    """Of all trials of a loop, by a domain's measure.

    Args:
        domain: in whose target they are tested.
        loop: of the trials.
        tests: plays the test episodes; by default the loop does.
    """

    def __init__(self, domain: Domain, loop: Loop, tests: Elsewhere | None = None):
        self._domain, self._loop, self._tests = domain, loop, tests or loop

    def scores(self, episodes: int, alone: bool = False) -> np.ndarray:
        """One for each trial.

        Args:
            episodes: of the test, where one is played.
            alone: of what it does without its sources.
        """
        score = self._domain.score
        if score is None:
            return self._regret(self._loop.decide(self._states, alone))
        scores = []
        for lengths, totals in zip(*self._tests.evaluate(episodes, alone), strict=True):
            played = map(Tested, lengths.tolist(), totals.tolist())
            scores.append(np.mean([score(episode) for episode in played]))
        return np.array(scores, float)

    @cached_property
    def _regret(self) -> Any:
        """How policies are judged where values are known."""
        return regret_in(self._target)

    @property
    def _states(self) -> np.ndarray:
        return np.arange(self._target.num_states)

    @property
    def _target(self) -> Any:
        return self._domain.target
