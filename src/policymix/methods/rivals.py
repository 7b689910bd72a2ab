"""Three ways to behave, and who is best: a contest that `mars` holds all the time."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from policymix.core.kernels import as_float
from policymix.core.types import Real, Scalar
from policymix.methods.behaviours import BehaviourState, Epsilon
from policymix.methods.leaders import AbstractLeader, first_of

FOLLOW, RULE, OWN, EXPLORE, AROUND = range(5)
"""Arms: the advice, the rule, the own values; the own values and the best of the three
while exploring."""
PORTIONS = np.array([1.0, 1.0, 1.0, 2.0, 1.0])
"""Of the steps, while advice is best: half of them are led by the own values."""
BEATEN = 0.2
"""Of its portion is left to a way that one of the learned ways has beaten."""
RECENT = 1.0 / 12.0
"""Of an arm's episodes count, but at least two: all but the advice are learning, so
what was long ago says little; what a noisy task returns once says little, too."""
AROUND_MOST = 0.1
"""The most that is explored around what is best."""


class Rivals(AbstractLeader):
    """All lead in turn, and returns say who is best.

    At least half of the steps belong to the own values, most of them explore as if
    there were no sources: no advice, however bad, can keep one from learning. In the
    first three arms nothing is explored, so their returns are those that a test would
    have.

    Args:
        advised: whether advice counts.
    """

    advised: Float[Array, " arms"] = eqx.field(
        converter=as_float, default=(1.0, 1.0, 0.0, 0.0, 1.0)
    )

    def way(self, state: BehaviourState) -> Int[Array, ""]:
        """Which of the three ways leads this episode."""
        ways: list[Any] = [FOLLOW, RULE, OWN, OWN, self.best(state)]
        return jnp.stack([jnp.asarray(way) for way in ways])[state.arm]

    def explored(self, state: BehaviourState, epsilon: Epsilon) -> Scalar:
        """ε falls with the number of episodes in which the own values explored."""
        own = epsilon(state.tries[EXPLORE].astype(int))
        around = jnp.minimum(own, AROUND_MOST)
        zero = jnp.zeros_like(own)
        return jnp.stack([zero, zero, zero, own, around])[state.arm]

    def best(self, state: BehaviourState) -> Int[Array, ""]:
        """The way with the highest mean; of equals the first, and advice if in doubt.

        One return is none: nobody is best who has led a single episode, but the advice.
        """
        known = (state.tries > 1.0) | first_of(state)
        means = jnp.where(known, state.means, -jnp.inf)
        return jnp.argmax(means[:EXPLORE])

    def pick(
        self, state: BehaviourState, epsilon: Scalar, uniforms: Float[Array, " arms"]
    ) -> Int[Array, ""]:
        """The arm that is furthest behind its share of the steps."""
        del epsilon, uniforms
        return jnp.argmin(state.steps / self.portions(state))

    def portions(self, state: BehaviourState) -> Float[Array, " arms"]:
        """Who is beaten leads less, once it has had enough tries to be known.

        Advice that is best keeps nobody from learning.
        """
        arms, best = jnp.arange(PORTIONS.size), self.best(state)
        beaten = (arms < EXPLORE) & (arms != best) & (best != FOLLOW)
        beaten &= RECENT * state.tries >= 1.0
        return jnp.where(beaten, BEATEN * PORTIONS, PORTIONS)

    def shares(
        self, state: BehaviourState, epsilon: Scalar
    ) -> tuple[Float[Array, " arms"], Real]:
        """An arm's past fades with its own episodes, not with those of others."""
        del epsilon
        led = jnp.arange(state.steps.size) == state.arm
        window = jnp.maximum(1.0, RECENT * state.tries)
        return jnp.where(led, window / (1.0 + window), 1.0), 1.0
