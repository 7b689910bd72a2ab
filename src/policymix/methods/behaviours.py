"""Belief turned into action: what a trial remembers, exploration, and reuse.

All rules are numbers, so that methods which differ only in them share a compilation.
"""

from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

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
    earned: Scalar
    """Returns of all finished episodes together."""
    arm: Int[Array, ""]
    """Which arm leads it."""
    means: Float[Array, " arms"]
    """Returns of every arm, recent ones counting most."""
    counts: Float[Array, " arms"]
    """How many returns each mean stands for."""
    tries: Float[Array, " arms"]
    """Episodes that each arm has led …"""
    steps: Float[Array, " arms"]
    """… and their steps."""
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

    def __call__(self, state: BehaviourState) -> Scalar:
        """The probability at this step."""
        episode, elapsed = state.episode, state.elapsed
        likely = self.start * self.by_episode**episode * self.by_step**elapsed
        return jnp.where(elapsed < self.guide * self.shrink**episode, likely, 0.0)
