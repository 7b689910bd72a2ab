"""Feed-forward networks, written for one sample, and their way down a loss."""

from collections.abc import Sequence
from typing import Any, Generic, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float

from policymix.core.types import Key

T = TypeVar("T")


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


def init_silent_mlp(key: Key, sizes: Sequence[int]) -> MLP:
    """The same, but for a last layer of zeros: nothing is told before it is learned."""
    network = init_mlp(key, sizes)
    *others, last = network.weights
    return MLP((*others, jnp.zeros_like(last)), network.biases)


class OptimiserState(eqx.Module, Generic[T]):
    """Parameters, and what their optimiser remembers."""

    parameters: T
    memory: Any


def start_descent(
    optimiser: optax.GradientTransformation, parameters: T
) -> OptimiserState[T]:
    """Nothing is remembered yet."""
    memory = optimiser.init(parameters)  # pyright: ignore[reportArgumentType]
    return OptimiserState(parameters, memory)


def descend(
    optimiser: optax.GradientTransformation, state: OptimiserState[T], gradient: T
) -> OptimiserState[T]:
    """One step of the optimiser."""
    parameters: Any = state.parameters
    direction: Any = gradient
    updates, memory = optimiser.update(direction, state.memory, parameters)
    return OptimiserState(optax.apply_updates(parameters, updates), memory)  # pyright: ignore[reportReturnType]
