"""Feed-forward networks, written for one sample."""

from collections.abc import Callable, Sequence
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from policymix.core.types import Key

ACTIVATIONS: dict[str, Callable] = {
    "relu": jax.nn.relu,
    "tanh": jnp.tanh,
    "elu": jax.nn.elu,
    "leaky_relu": jax.nn.leaky_relu,
    "silu": jax.nn.silu,
    "gelu": partial(jax.nn.gelu, approximate=False),
}
"""What may stand between the layers of a `Perceptron`."""


class MLP(eqx.Module):
    """Fully connected layers with ReLU between them and a linear output."""

    weights: tuple[Float[Array, "_ _"], ...]
    biases: tuple[Float[Array, " _"], ...]

    def __call__(self, x: Float[Array, " inputs"]) -> Float[Array, " outputs"]:
        """Apply the layers to one input."""
        return self.weights[-1] @ self.hidden(x) + self.biases[-1]

    def hidden(self, x: Float[Array, " inputs"]) -> Float[Array, " features"]:
        """The last hidden layer, which the outputs are linear in."""
        for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            x = jax.nn.relu(weight @ x + bias)
        return x

    @property
    def sizes(self) -> tuple[int, ...]:
        """The topology as the paper writes it: inputs, hidden layers, outputs."""
        outputs = tuple(bias.shape[-1] for bias in self.biases)
        return (self.weights[0].shape[-1], *outputs)


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


def squared_weights(network: MLP) -> Float[Array, ""]:
    """What an L2 penalty sums: the squares of the weights, not of the biases."""
    squares = [jnp.sum(jnp.square(weight)) for weight in network.weights]
    return jnp.sum(jnp.stack(squares))


def init_mlp(key: Key, sizes: Sequence[int]) -> MLP:
    """Draw weights as Keras does by default: Glorot uniform, biases zero."""
    keys = jax.random.split(key, len(sizes) - 1)
    glorot = jax.nn.initializers.glorot_uniform(in_axis=-1, out_axis=-2)
    shapes = zip(sizes[1:], sizes[:-1], strict=True)
    weights = tuple(glorot(k, s) for k, s in zip(keys, shapes, strict=True))
    return MLP(weights, tuple(jnp.zeros(size) for size in sizes[1:]))


def absorb(
    network: MLP,
    inputs: tuple[Float[Array, " in"], Float[Array, " in"]],
    outputs: tuple[Float[Array, " out"], Float[Array, " out"]],
) -> MLP:
    """A network on raw numbers that acts as `network` does on standardised ones.

    Args:
        network: from (x − centre) / spread to (y − centre) / spread.
        inputs: centre and spread of x.
        outputs: centre and spread of y.
    """
    (in_centre, in_spread), (out_centre, out_spread) = inputs, outputs
    first, last = network.weights[0] / in_spread[None, :], network.weights[-1]
    first_bias = network.biases[0] - first @ in_centre
    last_bias = out_centre + out_spread * network.biases[-1]
    return MLP(
        (first, *network.weights[1:-1], out_spread[:, None] * last),
        (first_bias, *network.biases[1:-1], last_bias),
    )
