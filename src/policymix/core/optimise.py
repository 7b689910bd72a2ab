"""Parameters on their way down a loss: optax with types."""

from typing import Any, Generic, TypeVar

import equinox as eqx
import optax

T = TypeVar("T")


class OptimiserState(eqx.Module, Generic[T]):
    """Parameters, and what their optimiser remembers."""

    parameters: T
    memory: Any


def begin(optimiser: optax.GradientTransformation, parameters: T) -> OptimiserState[T]:
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
