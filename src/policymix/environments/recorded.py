"""Environments whose running episodes can be played again, after a stop."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from policymix.core.types import Discrete
from policymix.environments.answers import start_of, step_of
from policymix.environments.copies import HostTasks, Round


class RecordedTasks(HostTasks):
    """Copies that know how they came to where they are: a seed and some actions.

    Every episode has a seed of its own. An environment that does the same whenever seed
    and actions are the same can therefore be brought back.
    """

    def __init__(self, make: Callable[[], Any], copies: int):
        super().__init__(make, copies)
        self._histories: list[list[float]] = []

    @property
    def histories(self) -> list[list[float]]:
        """Of every copy: the number of its episode, and the actions taken in it.

        Actions that are vectors come one after the other.
        """
        return [list(history) for history in self._histories]

    def reset(self, seed: int | Sequence[int]) -> np.ndarray:
        obs = super().reset(seed)
        self._histories = [[0.0] for _ in range(self.copies)]
        return obs

    def step(self, actions: np.ndarray, active: np.ndarray | None = None) -> Round:
        for copy in range(self.copies) if active is None else np.flatnonzero(active):
            self._histories[copy].extend(np.ravel(actions[copy]).astype(float).tolist())
        return super().step(actions, active)

    def replay(self, histories: Sequence[Sequence[float]], taken: int) -> np.ndarray:
        """Go where these lead, after so many steps in all; what is observed there."""
        self._taken = taken
        for copy, (episode, *told) in enumerate(histories):
            obs = self._begin(copy, int(episode))
            for action in self._actions(told):
                obs = step_of(self._environments[copy], action)[0]
            self._obs[copy] = obs
            self._histories[copy] = [episode, *told]
        return self._obs

    def _actions(self, told: Sequence[float]) -> Sequence[Any]:
        if isinstance(self.action, Discrete):
            return [int(action) for action in told]
        return [*np.array(told, np.float32).reshape(-1, *self.action.shape)]

    def restart(self, copy: int) -> Any:
        """The next episode, with its own seed."""
        episode = int(self._histories[copy][0]) + 1
        self._histories[copy] = [float(episode)]
        return self._begin(copy, episode)

    def _begin(self, copy: int, episode: int) -> Any:
        seed = self._seeds[copy]
        if episode:
            seed = int(np.random.SeedSequence([seed, episode]).generate_state(1)[0])
        return start_of(self._environments[copy], seed=seed)
