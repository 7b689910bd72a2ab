"""Parameters on their way down a loss: optax with types."""

from typing import Any, Generic, TypeVar

import equinox as eqx
import optax

T = TypeVar("T")


class Descent(eqx.Module, Generic[T]):
    """Parameters, and what their optimiser remembers."""

    parameters: T
    memory: Any


def begin(optimiser: optax.GradientTransformation, parameters: T) -> Descent[T]:
    """Nothing is remembered yet."""
    memory = optimiser.init(parameters)  # pyright: ignore[reportArgumentType]
    return Descent(parameters, memory)


def descend(
    optimiser: optax.GradientTransformation, state: Descent[T], gradient: T
) -> Descent[T]:
    """One step of the optimiser."""
    parameters: Any = state.parameters
    direction: Any = gradient
    updates, memory = optimiser.update(direction, state.memory, parameters)
    return Descent(optax.apply_updates(parameters, updates), memory)  # pyright: ignore[reportReturnType]
