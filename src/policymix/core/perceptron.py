"""Networks that were trained elsewhere, with the activations they were trained with."""

from collections.abc import Callable
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

ACTIVATIONS: dict[str, Callable] = {
    "relu": jax.nn.relu,
    "tanh": jnp.tanh,
    "elu": jax.nn.elu,
    "leaky_relu": jax.nn.leaky_relu,
    "silu": jax.nn.silu,
    "gelu": partial(jax.nn.gelu, approximate=False),
}
"""What may stand between the layers of a `Perceptron`."""


class Perceptron(eqx.Module):
    """Fully connected layers, a named activation after each but the last.

    Products are asked for in full float32, which GPUs by default round to fewer bits,
    so that a network from elsewhere gives the numbers it gave there.
    """

    weights: tuple[Float[Array, "_ _"], ...]
    biases: tuple[Float[Array, " _"], ...]
    activations: tuple[str, ...] = eqx.field(static=True)

    def __call__(self, x: Float[Array, " inputs"]) -> Float[Array, " outputs"]:
        """Apply the layers to one input."""
        *hidden, last = zip(self.weights, self.biases, strict=True)
        for layer, name in zip(hidden, self.activations, strict=True):
            x = ACTIVATIONS[name](_linear(*layer, x))
        return _linear(*last, x)


def _linear(
    weight: Float[Array, "out in"], bias: Float[Array, " out"], x: Float[Array, " in"]
) -> Float[Array, " out"]:
    return jnp.matmul(weight, x, precision=jax.lax.Precision.HIGHEST) + bias
