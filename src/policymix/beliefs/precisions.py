"""How sharp a kernel is: fixed, or learned with the mixture (after equation (7)).

A learned precision τ multiplies the kernel's own. A Gaussian kernel of precision ν
gives ℓ = −ν‖error‖² + z, where its normaliser z is d/2 · log(ν/π), or 0 if it has none.
Then τ(ℓ − z) + z + d/2 · log τ is the Gaussian of precision τν, normalised as ℓ is: the
normaliser is no part of the error and must not be multiplied. τ is kept within bounds,
because the likelihood of an exact model grows without limit.
"""

import abc
import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float

from policymix.core.kernels import as_float


class AbstractPrecision(eqx.Module):
    """What the mixture knows of precisions."""

    @abc.abstractmethod
    def num_outputs(self, num_sources: int) -> int:
        """How many outputs of the network it needs."""

    @abc.abstractmethod
    def init(self, num_sources: int) -> Float[Array, " k"]:
        """Parameters of its own."""

    @abc.abstractmethod
    def apply(
        self,
        parameters: Float[Array, " k"],
        outputs: Float[Array, " m"],
        log_likelihoods: Float[Array, " n"],
    ) -> Float[Array, " n"]:
        """The log-likelihoods under the learned precisions."""


class FixedPrecision(AbstractPrecision):
    """The kernels' own precision, as in the paper."""

    def num_outputs(self, num_sources: int) -> int:
        return 0

    def init(self, num_sources: int) -> Float[Array, " k"]:
        return jnp.zeros(0)

    def apply(
        self,
        parameters: Float[Array, " k"],
        outputs: Float[Array, " m"],
        log_likelihoods: Float[Array, " n"],
    ) -> Float[Array, " n"]:
        return log_likelihoods


def bounded(raw: Float[Array, " n"], low: float, high: float) -> Float[Array, " n"]:
    """A precision between low and high, on a logarithmic scale; raw 0 is halfway."""
    share = jax.nn.sigmoid(raw)
    return jnp.exp(math.log(low) + (math.log(high) - math.log(low)) * share)


def temper(
    log_likelihoods: Float[Array, " n"],
    precision: Float[Array, " n"],
    dimension: ArrayLike,
    log_normaliser: ArrayLike = 0.0,
) -> Float[Array, " n"]:
    """τ(ℓ − z) + z + d/2 · log τ."""
    errors = log_likelihoods - log_normaliser
    return precision * errors + log_normaliser + dimension / 2 * jnp.log(precision)


class LearnedPrecision(AbstractPrecision):
    """A learned τᵢ for each source, or τᵢ(s; θ) as a further output of the network.

    Args:
        dimension: of the encoded observation; one number, or one for each source.
        log_normaliser: of the kernels, see `AbstractKernel.log_normaliser`; likewise.
        per_state: whether the mixture's network gives the precision of each state.
        low: least precision, relative to the kernel's.
        high: greatest precision.
    """

    dimension: Float[Array, "..."] = eqx.field(converter=as_float)
    log_normaliser: Float[Array, "..."] = eqx.field(converter=as_float, default=0.0)
    per_state: bool = eqx.field(static=True, default=False)
    low: float = eqx.field(static=True, default=1e-4)
    high: float = eqx.field(static=True, default=1e4)

    def num_outputs(self, num_sources: int) -> int:
        """One for each source, if states differ."""
        return num_sources if self.per_state else 0

    def init(self, num_sources: int) -> Float[Array, " k"]:
        """Halfway between the bounds; nothing if the network has the parameters."""
        return jnp.zeros(0 if self.per_state else num_sources)

    def precisions(
        self, parameters: Float[Array, " k"], outputs: Float[Array, " m"]
    ) -> Float[Array, " n"]:
        """The τᵢ, or the τᵢ(s)."""
        raw = outputs if self.per_state else parameters
        return bounded(raw, self.low, self.high)

    def apply(
        self,
        parameters: Float[Array, " k"],
        outputs: Float[Array, " m"],
        log_likelihoods: Float[Array, " n"],
    ) -> Float[Array, " n"]:
        """Temper each source by its precision."""
        precision = self.precisions(parameters, outputs)
        return temper(log_likelihoods, precision, self.dimension, self.log_normaliser)
