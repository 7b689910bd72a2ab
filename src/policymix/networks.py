"""Feed-forward networks, written for one sample."""

from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from policymix.types import Key


class MLP(eqx.Module):
    """Fully connected layers with ReLU between them and a linear output."""

    weights: tuple[Float[Array, "_ _"], ...]
    biases: tuple[Float[Array, " _"], ...]

    def __call__(self, x: Float[Array, " inputs"]) -> Float[Array, " outputs"]:
        """Apply the layers to one input."""
        for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            x = jax.nn.relu(weight @ x + bias)
        return self.weights[-1] @ x + self.biases[-1]

    @property
    def sizes(self) -> tuple[int, ...]:
        """The topology as the paper writes it: inputs, hidden layers, outputs."""
        outputs = tuple(bias.shape[-1] for bias in self.biases)
        return (self.weights[0].shape[-1], *outputs)


def init_mlp(key: Key, sizes: Sequence[int]) -> MLP:
    """Draw weights as Keras does by default: Glorot uniform, biases zero."""
    keys = jax.random.split(key, len(sizes) - 1)
    glorot = jax.nn.initializers.glorot_uniform(in_axis=-1, out_axis=-2)
    shapes = zip(sizes[1:], sizes[:-1], strict=True)
    weights = tuple(glorot(k, s) for k, s in zip(keys, shapes, strict=True))
    return MLP(weights, tuple(jnp.zeros(size) for size in sizes[1:]))
