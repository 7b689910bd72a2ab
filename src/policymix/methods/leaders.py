"""Who leads an episode: a bandit over arms, by the returns that they had so far.

An arm is one way to behave for a whole episode. The first arm leads the first episode,
and every arm is tried once before returns decide. A new rule is one class with `best`
and `pick`; counting returns is the same for all.
"""

import abc

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from policymix.core.kernels import as_float
from policymix.core.types import Real, Scalar
from policymix.methods.behaviours import BehaviourState, Epsilon


class AbstractLeader(eqx.Module):
    """Picks the arm of each episode; `advised` says in which of them advice counts."""

    advised: eqx.AbstractVar[Float[Array, " arms"]]

    @abc.abstractmethod
    def best(self, state: BehaviourState) -> Int[Array, ""]:
        """The arm to test."""

    @abc.abstractmethod
    def pick(
        self, state: BehaviourState, epsilon: Scalar, uniforms: Float[Array, " arms"]
    ) -> Int[Array, ""]:
        """The arm that leads the next episode."""

    def shares(
        self, state: BehaviourState, epsilon: Scalar
    ) -> tuple[Real | Float[Array, " arms"], Real]:
        """How much of the past counts on, and how much the episode that has ended."""
        del state, epsilon
        return 1.0, 1.0

    def way(self, state: BehaviourState) -> Int[Array, ""]:
        """How this episode is led: its arm, where every arm is a way of its own."""
        return state.arm

    def explored(self, state: BehaviourState, epsilon: Epsilon) -> Scalar:
        """ε in this episode."""
        return epsilon(state.episode)

    def init(self) -> BehaviourState:
        """Before the first episode; the first arm leads it."""
        arms = self.advised.size
        zero = jnp.zeros((), int)
        return BehaviourState(
            episode=zero,
            elapsed=zero,
            total=jnp.zeros(()),
            earned=jnp.zeros(()),
            arm=zero,
            means=jnp.zeros(arms),
            counts=jnp.zeros(arms),
            tries=jnp.zeros(arms),
            steps=jnp.zeros(arms),
            range=jnp.array([jnp.inf, -jnp.inf]),
            option=zero - 1,
        )

    def remember(
        self,
        state: BehaviourState,
        reward: Scalar,
        ended: Bool[Array, ""],
        epsilon: Scalar,
        uniforms: Float[Array, " arms"],
    ) -> BehaviourState:
        """Count a step; at the end of an episode credit its arm and pick the next."""
        going = state._replace(elapsed=state.elapsed + 1, total=state.total + reward)
        over = credit(state, going.total, *self.shares(state, epsilon))
        over = over._replace(arm=self.pick(over, epsilon, uniforms))
        return jax.tree.map(lambda a, b: jnp.where(ended, a, b), over, going)


class Alone(AbstractLeader):
    """One way to behave, in every episode."""

    advised: Float[Array, " arms"] = eqx.field(converter=as_float, default=(1.0,))

    def best(self, state: BehaviourState) -> Int[Array, ""]:
        return jnp.zeros_like(state.arm)

    def pick(
        self, state: BehaviourState, epsilon: Scalar, uniforms: Float[Array, " arms"]
    ) -> Int[Array, ""]:
        del epsilon, uniforms
        return jnp.zeros_like(state.arm)


class Gate(AbstractLeader):
    """Advice counts in an episode as long as episodes with it return more.

    The first arm takes advice, the second does not. The score of an arm is its merit
    and √(bonus · ln N / n), less `burden` for the first; the past fades, and an episode
    counts as far as its arm led it, that is by 1 − ε.

    Args:
        advised: for each arm, whether advice counts (1) or the learner is alone (0).
        bonus: how eagerly the arm is tried that was tried less.
        keep: how much of the past counts after each episode; 1 is a plain mean.
        burden: how much better than the others the first arm must be to lead on.
        margin: how much better than the first arm another must be to be tested.
        patience: the first arm leads as long as ε is above this …
        start: … and in so many first episodes.
    """

    advised: Float[Array, " arms"] = eqx.field(converter=as_float, default=(1.0, 0.0))
    bonus: Scalar = eqx.field(converter=as_float, default=0.0)
    keep: Scalar = eqx.field(converter=as_float, default=1.0)
    burden: Scalar = eqx.field(converter=as_float, default=0.0)
    margin: Scalar = eqx.field(converter=as_float, default=0.0)
    patience: Scalar = eqx.field(converter=as_float, default=1.0)
    start: Scalar = eqx.field(converter=as_float, default=0.0)

    def best(self, state: BehaviourState) -> Int[Array, ""]:
        """The first, until another is better beyond doubt."""
        doubts = jnp.where(first_of(state), -self.margin, widths(state, self.bonus))
        return surest(state, doubts)

    def pick(
        self, state: BehaviourState, epsilon: Scalar, uniforms: Float[Array, " arms"]
    ) -> Int[Array, ""]:
        """The arm of the highest score, once the first has had its time."""
        del uniforms
        burdens = jnp.where(first_of(state), self.burden, 0.0)
        picked = untried_first(
            state, merits(state) - burdens + widths(state, self.bonus)
        )
        waits = (epsilon > self.patience) | (state.episode < self.start)
        return jnp.where(waits, 0, picked)

    def shares(self, state: BehaviourState, epsilon: Scalar) -> tuple[Real, Real]:
        """The past fades; an episode of random actions says nothing of its arm."""
        del state
        return self.keep, jnp.maximum(1.0 - epsilon, 1e-3)


class UCB1(AbstractLeader):
    """The arm with the highest merit + √(bonus · ln N / n) (Auer et al. 2002)."""

    advised: Float[Array, " arms"] = eqx.field(converter=as_float)
    bonus: Scalar = eqx.field(converter=as_float, default=2.0)

    def best(self, state: BehaviourState) -> Int[Array, ""]:
        """The first, until another is better beyond doubt."""
        return surest(state, jnp.where(first_of(state), 0.0, widths(state, self.bonus)))

    def pick(
        self, state: BehaviourState, epsilon: Scalar, uniforms: Float[Array, " arms"]
    ) -> Int[Array, ""]:
        """The highest bound; chance has no part in it."""
        del epsilon, uniforms
        return untried_first(state, merits(state) + widths(state, self.bonus))


class Softmax(AbstractLeader):
    """A draw from the softmax of greed · merit (Fernández and Veloso 2006).

    Args:
        advised: for each arm, whether advice counts (1) or the learner is alone (0).
        greed: the inverse temperature in the first episode …
        growth: … and what every episode adds to it.
    """

    advised: Float[Array, " arms"] = eqx.field(converter=as_float)
    greed: Scalar = eqx.field(converter=as_float, default=0.0)
    growth: Scalar = eqx.field(converter=as_float, default=0.05)

    def best(self, state: BehaviourState) -> Int[Array, ""]:
        """The arm of the highest mean."""
        return surest(state, jnp.zeros_like(state.means))

    def pick(
        self, state: BehaviourState, epsilon: Scalar, uniforms: Float[Array, " arms"]
    ) -> Int[Array, ""]:
        """The highest score with Gumbel noise, which is a draw from the softmax."""
        del epsilon
        gumbel = -jnp.log(-jnp.log(jnp.clip(uniforms, 1e-7, 1.0 - 1e-7)))
        greed = self.greed + self.growth * state.episode
        return untried_first(state, greed * merits(state) + gumbel)


def merits(state: BehaviourState) -> Float[Array, " arms"]:
    """Means as shares of the range of returns, in which zero is included.

    Without the zero, a task whose episodes all fail alike would make much of little.
    """
    low, high = jnp.minimum(state.range[0], 0.0), jnp.maximum(state.range[1], 0.0)
    return (state.means - low) / jnp.maximum(high - low, 1e-6)


def widths(state: BehaviourState, bonus: Scalar) -> Float[Array, " arms"]:
    """How far an arm's mean may be off: √(bonus · ln N / n)."""
    tries = jnp.maximum(state.counts, 1e-9)
    return jnp.sqrt(bonus * jnp.log1p(jnp.sum(state.counts)) / tries)


def first_of(state: BehaviourState) -> Bool[Array, " arms"]:
    """Which arm is the first."""
    return jnp.arange(state.counts.size) == 0


def untried_first(
    state: BehaviourState, scores: Float[Array, " arms"]
) -> Int[Array, ""]:
    """The arm of the highest score; each is tried once before."""
    return jnp.argmax(jnp.where(state.counts > 0.0, scores, jnp.inf))


def surest(state: BehaviourState, doubts: Float[Array, " arms"]) -> Int[Array, ""]:
    """The highest merit less its doubt, of the first arm and of those that led."""
    known = first_of(state) | (state.counts >= 1.0)
    return jnp.argmax(jnp.where(known, merits(state) - doubts, -jnp.inf))


def credit(
    state: BehaviourState,
    total: Scalar,
    keep: Real | Float[Array, " arms"],
    share: Real,
) -> BehaviourState:
    """An episode has ended with this return, to the credit of the arm that led it."""
    leads = jnp.arange(state.counts.size) == state.arm
    led = share * leads
    counts = keep * state.counts + led
    means = (keep * state.counts * state.means + led * total) / jnp.maximum(
        counts, 1e-9
    )
    low, high = state.range
    zero = jnp.zeros((), int)
    return BehaviourState(
        episode=state.episode + 1,
        elapsed=zero,
        total=jnp.zeros(()),
        earned=state.earned + total,
        arm=state.arm,
        means=means,
        counts=counts,
        tries=state.tries + leads,
        steps=state.steps + leads * (state.elapsed + 1),
        range=jnp.stack([jnp.minimum(low, total), jnp.maximum(high, total)]),
        option=zero - 1,
    )
