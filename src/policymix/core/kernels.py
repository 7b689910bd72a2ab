"""How likely was s' under a source's prediction? Log-likelihoods, equation (5).

A kernel judges one transition: it takes what a source predicted and what the target
did, both encoded, and returns log ρ(‖s' − ŝ'‖). With the paper's precision 5·10⁵ the
likelihood itself underflows for half of all transitions, so it never leaves log space.

`normalised` kernels integrate to one over s', which is what makes different precisions
comparable and is therefore the default. The paper drops the constant; with one common,
fixed precision both forms give the same weights, but with several precisions the
unnormalised form favours the vaguest source, whose kernel is the widest.
"""

import abc
import math
from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float

from policymix.core.errors import PolicymixError
from policymix.core.types import Scalar


def as_float(value: ArrayLike | Sequence[float]) -> Float[Array, "..."]:
    """A number as a float array, so that kernels can be stacked."""
    return jnp.asarray(value, dtype=float)


class AbstractKernel(eqx.Module):
    """A radial basis function of the prediction error."""

    @abc.abstractmethod
    def __call__(
        self, prediction: Float[Array, " d"], next_obs: Float[Array, " d"]
    ) -> Scalar:
        """Log-likelihood of the encoded next observation."""

    def at(self, radius: Scalar, dimension: int) -> Scalar:
        """Log-likelihood of an error of this length, in so many dimensions."""
        error = jnp.full(dimension, radius / math.sqrt(dimension))
        return self(error, jnp.zeros(dimension))

    def log_normaliser(self, dimension: int) -> Scalar:
        """Log-likelihood of an exact prediction, where errors count as −ν‖error‖².

        Only such a kernel can be sharpened afterwards: a learned precision multiplies
        what is left of a log-likelihood without its normaliser.
        """
        raise PolicymixError(
            f"{type(self).__name__} has no precision that could be learned: its "
            "log-likelihood is no multiple of a squared error. Give the sources "
            'Gaussian kernels, or set precision="fixed"'
        )


class Gaussian(AbstractKernel):
    """ρ(r) ∝ exp(−ν r²), the paper's choice."""

    precision: Scalar = eqx.field(converter=as_float, default=5e5)
    normalised: bool = eqx.field(static=True, default=True)

    def __call__(
        self, prediction: Float[Array, " d"], next_obs: Float[Array, " d"]
    ) -> Scalar:
        """−ν‖s' − ŝ'‖², plus d/2 · log(ν/π) when normalised."""
        log_kernel = -self.precision * jnp.sum(jnp.square(next_obs - prediction))
        if self.normalised:
            log_kernel += self.log_normaliser(prediction.size)
        return log_kernel

    def log_normaliser(self, dimension: int) -> Scalar:
        """d/2 · log(ν/π), or nothing if not normalised."""
        if not self.normalised:
            return jnp.zeros_like(self.precision)
        return dimension / 2 * jnp.log(self.precision / jnp.pi)


class StudentT(AbstractKernel):
    """A kernel with heavy tails: outliers cost log r instead of r².

    `freedom` → ∞ gives the Gaussian of the same precision. Use it where models are
    sometimes badly wrong (contacts, collisions) without their source being wrong.
    """

    precision: Scalar = eqx.field(converter=as_float, default=5e5)
    freedom: float = eqx.field(static=True, default=3.0)
    normalised: bool = eqx.field(static=True, default=True)

    def __call__(
        self, prediction: Float[Array, " d"], next_obs: Float[Array, " d"]
    ) -> Scalar:
        """−(k + d)/2 · log(1 + 2ν‖s' − ŝ'‖²/k), plus its normaliser."""
        d, k = prediction.size, self.freedom
        squared = 2 * self.precision * jnp.sum(jnp.square(next_obs - prediction))
        log_kernel = -(k + d) / 2 * jnp.log1p(squared / k)
        if self.normalised:
            log_gammas = math.lgamma((k + d) / 2) - math.lgamma(k / 2)
            log_kernel += log_gammas + d / 2 * jnp.log(2 * self.precision / k / jnp.pi)
        return log_kernel


class Indicator(AbstractKernel):
    """1{s' = ŝ'} for look-up tables, with a floor instead of zero.

    Without the floor a transition that no source explains has likelihood 0, and the
    loss is infinite. A source without a prediction gets the floor as well.
    """

    floor: Scalar = eqx.field(converter=as_float, default=1e-3)

    def __call__(
        self, prediction: Float[Array, " d"], next_obs: Float[Array, " d"]
    ) -> Scalar:
        """0 when the prediction is exact, log floor otherwise."""
        exact = jnp.all(prediction == next_obs)
        return jax.lax.select(exact, jnp.zeros_like(self.floor), jnp.log(self.floor))
