"""How far returns spread, so that the unit of rewards does not matter."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from policymix.core.types import Real, Scalar


class Returns(NamedTuple):
    """Discounted returns so far, as running moments (Welford 1962)."""

    total: Scalar
    """Of this episode: every step adds its reward to what is left of those before."""
    steps: Scalar
    mean: Scalar
    squares: Scalar
    """Of the differences from the mean, summed."""


def no_returns() -> Returns:
    """Before the first reward."""
    zero = jnp.zeros(())
    return Returns(zero, zero, zero, zero)


def note_reward(
    returns: Returns, reward: Scalar, ended: Bool[Array, ""], discount: Real
) -> Returns:
    """One step more; after an end the next return begins anew."""
    total = discount * returns.total + reward
    steps = returns.steps + 1.0
    gap = total - returns.mean
    mean = returns.mean + gap / steps
    squares = returns.squares + gap * (total - mean)
    return Returns(jnp.where(ended, 0.0, total), steps, mean, squares)


def note_rewards(
    returns: Returns,
    rewards: Float[Array, " steps"],
    ended: Bool[Array, " steps"],
    discount: Real,
) -> Returns:
    """Some steps more, one after the other."""

    def one(
        returns: Returns, step: tuple[Scalar, Bool[Array, ""]]
    ) -> tuple[Returns, None]:
        return note_reward(returns, *step, discount), None

    return jax.lax.scan(one, returns, (rewards, ended), unroll=True)[0]


def spread(returns: Returns) -> Scalar:
    """Their standard deviation; their size while all are alike, one if that is zero."""
    variance = returns.squares / jnp.maximum(returns.steps, 1.0)
    size = jnp.abs(returns.mean)
    alike = jnp.where(size > 0.0, size, 1.0)
    return jnp.where(variance > 0.0, jnp.sqrt(variance), alike)
