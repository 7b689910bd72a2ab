"""How an observation becomes the vector that mixtures and kernels see."""

import abc

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from policymix.core.types import Discrete, Observation, Space


class AbstractEncoder(eqx.Module):
    """Observation in, vector out; the same for every source of a library."""

    @abc.abstractmethod
    def __call__(self, obs: Observation) -> Float[Array, " d"]:
        """Encode one observation."""


class Identity(AbstractEncoder):
    """Observations that are vectors of like units already."""

    def __call__(self, obs: Float[Array, " d"]) -> Float[Array, " d"]:
        return obs


class Constant(AbstractEncoder):
    """The same number whatever is observed: who reads it cannot tell states apart."""

    def __call__(self, obs: Observation) -> Float[Array, " d"]:
        del obs
        return jnp.ones(1)


class Clip(AbstractEncoder):
    """Components cut to [low, high], as the paper does where some are unbounded."""

    low: float = eqx.field(static=True, default=-1.0)
    high: float = eqx.field(static=True, default=1.0)

    def __call__(self, obs: Float[Array, " d"]) -> Float[Array, " d"]:
        return jnp.clip(obs, self.low, self.high)


class Standardise(AbstractEncoder):
    """Components in units of their spread, so that a precision means the same in each.

    `centre` and `spread` come from source data; see `standardise`.
    """

    centre: Float[Array, " d"]
    spread: Float[Array, " d"]

    def __call__(self, obs: Float[Array, " d"]) -> Float[Array, " d"]:
        """Shift and scale every component."""
        return (obs - self.centre) / self.spread


def standardise(observations: Float[Array, "samples d"]) -> Standardise:
    """Measure the spread of each component; one that never varies keeps its unit.

    Nor does one vary that is mere rounding: of its own size, or beside the others.
    """
    spread = jnp.std(observations, axis=0)
    largest = jnp.max(jnp.abs(observations), axis=0)
    constant = (spread <= 1e-6 * largest) | (spread <= 1e-14 * jnp.max(spread))
    return Standardise(jnp.mean(observations, axis=0), jnp.where(constant, 1.0, spread))


class OneHot(AbstractEncoder):
    """The index of a state as a unit vector."""

    n: int = eqx.field(static=True)

    def __call__(self, obs: Int[Array, ""]) -> Float[Array, " d"]:
        """Put a one at the index."""
        return jax.nn.one_hot(obs, self.n)


class OneHotGrid(AbstractEncoder):
    """A cell of a grid as one-hot row and one-hot column (29 + 29 = the paper's 58).

    The index is row · columns + column; a negative index, which means "no
    prediction", encodes to zeros and so equals no cell.
    """

    rows: int = eqx.field(static=True)
    columns: int = eqx.field(static=True)

    def __call__(self, obs: Int[Array, ""]) -> Float[Array, " d"]:
        """Concatenate the two unit vectors."""
        row = jnp.where(obs < 0, -1, obs // self.columns)
        column = jnp.where(obs < 0, -1, obs % self.columns)
        return jnp.concatenate(
            [jax.nn.one_hot(row, self.rows), jax.nn.one_hot(column, self.columns)]
        )


def plain_encoder(space: Space) -> AbstractEncoder:
    """Vectors as they are; the index of a state as a unit vector."""
    return OneHot(space.n) if isinstance(space, Discrete) else Identity()
