"""Belief turned into action: exploration, reuse, and who leads an episode.

All rules are numbers, so that methods which differ only in them share a compilation.
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from policymix.core.kernels import as_float
from policymix.core.types import Scalar


class BehaviourState(NamedTuple):
    """What a trial's behaviour remembers.

    An arm is one way to behave for a whole episode: with advice or without it, or
    after one of the sources.
    """

    episode: Int[Array, ""]
    """Episodes finished."""
    elapsed: Int[Array, ""]
    """Steps of this episode."""
    total: Scalar
    """Its return so far."""
    arm: Int[Array, ""]
    """Which arm leads it."""
    means: Float[Array, " arms"]
    """Returns of every arm, recent ones counting most."""
    counts: Float[Array, " arms"]
    """How many returns each mean stands for."""
    range: Float[Array, " 2"]
    """Least and greatest return of any episode."""
    option: Int[Array, ""]
    """The running option of CAPS, or the source that guides exploration; negative when
    an episode begins."""


class Epsilon(eqx.Module):
    """ε by episode: max(floor, start · decay^episode)."""

    start: Scalar = eqx.field(converter=as_float, default=1.0)
    decay: Scalar = eqx.field(converter=as_float, default=0.99)
    floor: Scalar = eqx.field(converter=as_float, default=0.01)

    def __call__(self, episode: Int[Array, ""]) -> Scalar:
        """The share of random actions."""
        return jnp.maximum(self.floor, self.start * self.decay**episode)


class Reuse(eqx.Module):
    """p_t: how often a source's action is taken instead of the learner's.

    p = start · by_episode^episode · by_step^elapsed during the first
    guide · shrink^episode steps of an episode, and 0 after them.
    """

    start: Scalar = eqx.field(converter=as_float, default=0.0)
    by_episode: Scalar = eqx.field(converter=as_float, default=1.0)
    by_step: Scalar = eqx.field(converter=as_float, default=1.0)
    guide: Scalar = eqx.field(converter=as_float, default=jnp.inf)
    shrink: Scalar = eqx.field(converter=as_float, default=1.0)

    def __call__(self, memory: BehaviourState) -> Scalar:
        """The probability at this step."""
        episode, elapsed = memory.episode, memory.elapsed
        likely = self.start * self.by_episode**episode * self.by_step**elapsed
        return jnp.where(elapsed < self.guide * self.shrink**episode, likely, 0.0)


class Arms(eqx.Module):
    """A bandit that picks who leads each episode, by the returns seen so far.

    An arm's score is greed · (its mean, scaled to 0 … 1) + √(bonus · ln N / n), and
    less `burden` for the first arm. `growth` is added to greed with each episode; with
    `noise` = 1 the pick is a draw from the softmax of the scores.

    Args:
        advised: for each arm, whether advice counts (1) or the learner is alone (0).
        bonus: UCB1 has 2.
        keep: how much of the past counts after each episode; 1 is a plain mean.
        weigh: 1 counts an episode as far as its arm led it, that is by 1 − ε; 0 counts
            all alike.
        burden: how much better than the others the first arm must be to lead on.
        margin: how much better than the first arm another must be to be tested.
        patience: the first arm leads as long as ε is above this …
        start: … and in so many first episodes.
        greed: weight of the means.
        growth: of that weight.
        noise: 0 picks the best, 1 draws.
    """

    advised: Float[Array, " arms"] = eqx.field(converter=as_float)
    bonus: Scalar = eqx.field(converter=as_float, default=0.0)
    keep: Scalar = eqx.field(converter=as_float, default=1.0)
    weigh: Scalar = eqx.field(converter=as_float, default=0.0)
    burden: Scalar = eqx.field(converter=as_float, default=0.0)
    margin: Scalar = eqx.field(converter=as_float, default=0.0)
    patience: Scalar = eqx.field(converter=as_float, default=1.0)
    start: Scalar = eqx.field(converter=as_float, default=0.0)
    greed: Scalar = eqx.field(converter=as_float, default=1.0)
    growth: Scalar = eqx.field(converter=as_float, default=0.0)
    noise: Scalar = eqx.field(converter=as_float, default=0.0)

    def init(self) -> BehaviourState:
        """Before the first episode; the first arm leads it."""
        arms = self.advised.size
        zero = jnp.zeros((), int)
        bounds = jnp.array([jnp.inf, -jnp.inf])
        means, counts = jnp.zeros(arms), jnp.zeros(arms)
        return BehaviourState(
            zero, zero, jnp.zeros(()), zero, means, counts, bounds, zero - 1
        )

    def merits(self, memory: BehaviourState) -> Float[Array, " arms"]:
        """Means as shares of the range of returns, in which zero is included.

        Without the zero, a task whose episodes all fail alike would make much of
        little.
        """
        low, high = jnp.minimum(memory.range[0], 0.0), jnp.maximum(memory.range[1], 0.0)
        return (memory.means - low) / jnp.maximum(high - low, 1e-6)

    def widths(self, memory: BehaviourState) -> Float[Array, " arms"]:
        """How far an arm's mean may be off."""
        tries = jnp.maximum(memory.counts, 1e-9)
        return jnp.sqrt(self.bonus * jnp.log1p(jnp.sum(memory.counts)) / tries)

    def best(self, memory: BehaviourState) -> Int[Array, ""]:
        """The arm to test: the first, until another is better beyond doubt."""
        first = jnp.arange(memory.counts.size) == 0
        doubt = jnp.where(first, -self.margin, self.widths(memory))
        merits = self.merits(memory) - doubt
        return jnp.argmax(jnp.where(first | (memory.counts >= 1.0), merits, -jnp.inf))

    def pick(
        self, memory: BehaviourState, epsilon: Scalar, uniform: Float[Array, " arms"]
    ) -> Int[Array, ""]:
        """The arm that leads the next episode; each is tried once first."""
        first = jnp.arange(memory.counts.size) == 0
        gumbel = -jnp.log(-jnp.log(jnp.clip(uniform, 1e-7, 1.0 - 1e-7)))
        greed = self.greed + self.growth * memory.episode
        merits = self.merits(memory) - jnp.where(first, self.burden, 0.0)
        scores = greed * merits + self.widths(memory) + self.noise * gumbel
        picked = jnp.argmax(jnp.where(memory.counts > 0.0, scores, jnp.inf))
        waits = (epsilon > self.patience) | (memory.episode < self.start)
        return jnp.where(waits, 0, picked)

    def remember(
        self,
        memory: BehaviourState,
        reward: Scalar,
        ended: Bool[Array, ""],
        epsilon: Scalar,
        uniform: Float[Array, " arms"],
    ) -> BehaviourState:
        """Count a step; at the end of an episode credit its arm and pick the next."""
        total = memory.total + reward
        credit = jnp.maximum(1.0 - self.weigh * epsilon, 1e-3)
        led = credit * (jnp.arange(memory.counts.size) == memory.arm)
        counts = self.keep * memory.counts + led
        kept = self.keep * memory.counts * memory.means
        means = (kept + led * total) / jnp.maximum(counts, 1e-9)
        low, high = memory.range
        bounds = jnp.stack([jnp.minimum(low, total), jnp.maximum(high, total)])
        zero = jnp.zeros((), int)
        over = BehaviourState(
            *(memory.episode + 1, zero, jnp.zeros(()), memory.arm),
            *(means, counts, bounds, zero - 1),
        )
        over = over._replace(arm=self.pick(over, epsilon, uniform))
        going = memory._replace(elapsed=memory.elapsed + 1, total=total)
        return jax.tree.map(lambda a, b: jnp.where(ended, a, b), over, going)
