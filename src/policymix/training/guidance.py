"""Exploration and reuse that sources lead: which of them, and what it would do."""

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from policymix.agents.base import Uniforms
from policymix.core.types import DiscreteAction

STRETCH = 40
"""Steps for which a source leads exploration, on average."""


def guide(
    option: Int[Array, ""], may_lead: Float[Array, " n"], uniforms: Uniforms
) -> Int[Array, ""]:
    """The source that leads exploration: the same for a stretch, then another."""
    changes = (option < 0) | (uniforms.leave < 1.0 / STRETCH)
    shares = jnp.cumsum(may_lead) / jnp.sum(may_lead)
    return jnp.where(changes, jnp.argmax(shares > uniforms.guide), option)


def drawn(likely: Float[Array, " actions"], uniforms: Uniforms) -> DiscreteAction:
    """An action drawn from probabilities (or from what there is of them)."""
    return jnp.argmax(jnp.cumsum(likely) > uniforms.follow)
