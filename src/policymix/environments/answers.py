"""What a user's environment answers, or a sentence about what it did instead."""

from collections.abc import Callable
from typing import Any

import numpy as np

from policymix.core.errors import DomainError

PAIR = "reset must return two values: the observation and info"
FIVE = (
    "step must return five values: observation, reward, terminated, truncated and "
    "info, as Gymnasium has it since 0.26"
)


class BrokenEnvironmentError(DomainError):
    """An environment failed in the middle.

    Args:
        seed: that its copy began with.
        taken: steps of the copy until then.
        error: what was raised.
    """

    def __init__(self, seed: int, taken: int, error: Exception):
        self.seed, self.taken = seed, taken
        told = str(error) if isinstance(error, DomainError) else brief(error)
        super().__init__(told)


def brief(error: Exception) -> str:
    """An exception in one line."""
    return f"{type(error).__name__}: {error}".splitlines()[0]


def start_of(environment: Any, **options: Any) -> Any:
    """Begin an episode: its first observation."""
    started = _ask(environment.reset, PAIR, **options)
    if not isinstance(started, tuple) or len(started) != 2:
        raise DomainError(f"the target's reset returns {_count(started)}. {PAIR}")
    return started[0]


def step_of(environment: Any, action: Any) -> tuple[Any, ...]:
    """Take one step: observation, reward, terminated, truncated and info."""
    outcome = _ask(environment.step, FIVE, action)
    if not isinstance(outcome, tuple) or len(outcome) != 5:
        raise DomainError(f"the target's step returns {_count(outcome)}. {FIVE}")
    return outcome


def same_shape(found: Any, before: np.ndarray | np.generic, asked: str = "step") -> Any:
    """An observation, if it has the shape of the one before: NumPy would repeat it.

    Args:
        found: the observation.
        before: one that the first reset returned.
        asked: what returned it.
    """
    if np.shape(found) != before.shape:
        raise DomainError(
            f"the target's {asked} returns an observation of shape {np.shape(found)}, "
            f"but reset returned {before.shape}"
        )
    return found


def in_numbers(found: list[Any], kind: type) -> np.ndarray:
    """Observations as an array of that kind, or a sentence about what is none."""
    try:
        first = np.asarray(found[0])
        return np.array([same_shape(each, first, "reset") for each in found], kind)
    except (TypeError, ValueError, OverflowError) as error:
        if isinstance(error, DomainError):
            raise
        raise DomainError(
            f"the target's observations are no numbers ({brief(error)}). Return what "
            "its observation_space promises"
        ) from error


def _ask(function: Callable, rule: str, *arguments: Any, **options: Any) -> Any:
    try:
        return function(*arguments, **options)
    except Exception as error:
        # A wrapper around it may have missed a value first.
        hint = f". {rule}" if "to unpack" in str(error) else ""
        raise DomainError(
            f"the target's {function.__name__} raised {brief(error)}{hint}"
        ) from error


def _count(answer: Any) -> str:
    if isinstance(answer, tuple):
        return f"{len(answer)} values"
    return f"a {type(answer).__name__}"
