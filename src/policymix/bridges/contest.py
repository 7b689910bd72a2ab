"""Advice, the rule, or the own values: whose episodes return more.

The rule may be sure of what is wrong, and advice may be so bad that the rule never gets
to know better. So all of them lead in turn, as in compiled loops: see `methods.rivals`.
"""

from collections.abc import Iterable
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from policymix.core.types import Scalar
from policymix.methods.behaviours import BehaviourState
from policymix.methods.leaders import credit
from policymix.methods.rivals import Rivals

Way = Literal["advice", "rule", "own"]
Arm = Literal["advice", "rule", "own", "explore", "around"]
ARMS: tuple[Arm, ...] = ("advice", "rule", "own", "explore", "around")
"""As in `Rivals`: ways to behave, then the own values and the best, exploring."""
WAYS: tuple[Way, ...] = ("advice", "rule", "own")
RIVALS = Rivals()


class Contest:
    """Shares out the samples of several copies of an environment, by their episodes."""

    def __init__(self):
        self._state = _plain(RIVALS.init())

    def tell(self, arm: Arm, total: float, samples: int) -> None:
        """An episode has ended: its return and its length."""
        led, before = np.array(ARMS.index(arm)), np.array(samples - 1)
        ended = self._state._replace(arm=led, elapsed=before)
        self._state = _plain(_credited(ended, np.float32(total)))

    def draw(self, running: Iterable[tuple[Arm, int]] = ()) -> Arm:
        """Who leads the next episode: the arm that is furthest behind its share.

        Args:
            running: episodes of other copies, by their arm and their length so far.
        """
        steps = self._state.steps.copy()
        for arm, samples in running:
            steps[ARMS.index(arm)] += samples
        return ARMS[int(_picked(self._state._replace(steps=steps)))]

    @property
    def best(self) -> Way:
        """The highest mean of late; advice if in doubt."""
        return WAYS[int(_best(self._state))]

    def means(self) -> dict[str, float]:
        """The mean of the latest returns of each that has led."""
        told = zip(ARMS, self._state.tries, self._state.means, strict=True)
        return {arm: float(mean) for arm, tries, mean in told if tries}


def _plain(state: BehaviourState) -> BehaviourState:
    """Arrays of NumPy's, which can be saved with the learner."""
    return jax.tree.map(np.array, state)


@jax.jit
def _credited(state: BehaviourState, total: Scalar) -> BehaviourState:
    return credit(state, total, *RIVALS.shares(state, jnp.zeros(())))


@jax.jit
def _picked(state: BehaviourState) -> Int[Array, ""]:
    return RIVALS.pick(state, jnp.zeros(()), state.means)


@jax.jit
def _best(state: BehaviourState) -> Int[Array, ""]:
    return RIVALS.best(state)
