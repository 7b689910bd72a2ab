"""Plain Python functions in the middle of compiled code."""

import re
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array

from policymix.core.errors import SourceError
from policymix.core.types import Space

TARGETS = "one of the target's observations"
ASKED = {"act": "one of the source's actions", "act_inverse": "an action of the target"}
"""What a part is asked about, in complaints."""
_TURN = threading.RLock()
"""Trials run side by side, but two sources may share an environment."""


class HostFunction(eqx.Module):
    """A part of a source on the host: rows of arguments in, rows of answers out."""

    function: Callable[..., np.ndarray] = eqx.field(static=True)
    arguments: tuple[Space, ...] = eqx.field(static=True)
    shape: tuple[int, ...] = eqx.field(static=True)
    """Of an answer."""
    kind: str = eqx.field(static=True, default="float32")

    def __call__(self, *arguments: Array) -> Array:
        """One answer, or as many as there are arguments under `vmap`."""
        answer = jax.ShapeDtypeStruct(self.shape, self.kind)
        return jax.pure_callback(
            self.plain, answer, *arguments, vmap_method="broadcast_all"
        )

    @property
    def plain(self) -> "Plain":
        """The same for use outside of compiled code, where modules answer slowly."""
        return Plain(self.function, self.arguments, self.shape, self.kind)


@dataclass(frozen=True)
class Plain:
    """Asks on the host; equal to any other that asks the same, as `Each` is."""

    function: Callable[..., np.ndarray]
    spaces: tuple[Space, ...]
    shape: tuple[int, ...]
    kind: str

    def __call__(self, *arguments: Any) -> np.ndarray:
        """Answers to arguments with any leading axes."""
        values = [np.array(argument) for argument in arguments]
        batch = values[0].shape[: values[0].ndim - len(self.spaces[0].shape)]
        pairs = zip(values, self.spaces, strict=True)
        columns = [value.reshape(-1, *space.shape) for value, space in pairs]
        with _TURN, np.errstate(all="ignore"):
            answers = self.function(*columns)
            try:
                return answers.astype(self.kind).reshape((*batch, *self.shape))
            except (TypeError, ValueError, OverflowError) as error:
                raise self._complaint(answers[0]) from error

    def _complaint(self, answer: Any) -> SourceError:
        """Of an answer that is not like those before."""
        asked = getattr(self.function, "ask", self.function)
        known = isinstance(asked, Each)
        who = f"source {asked.name!r}: its {asked.part}" if known else "a source"
        return SourceError(
            f"{who} returns {np.asarray(answer).tolist()!r:.40}, but the target needs "
            f"numbers of shape {self.shape}, always"
        )


def try_on(
    name: str, part: str, function: Callable, *arguments: np.ndarray
) -> list[Any]:
    """Call a function as its author would, with NumPy's numbers of its own."""
    answers, kept = [], [argument.copy() for argument in arguments]
    with np.errstate(all="ignore"):
        for place, row in enumerate(zip(*kept, strict=True)):
            try:
                answers.append(np.array(function(*row)))
            except Exception as error:
                shapes = [argument.shape[1:] for argument in arguments]
                told = f"{type(error).__name__}: {error}".splitlines()[0]
                raise SourceError(
                    f"source {name!r}: its {part} fails on {ASKED.get(part, TARGETS)}, "
                    f"{arguments[0][place].tolist()} ({told}). It must accept "
                    f"arguments of shape {shapes}"
                ) from error
    return answers


@dataclass(frozen=True)
class Each:
    """A function asked row by row; equal to any other of the same function.

    Compiled programs are found again by what they call, so what stands for a user's
    function must not be new with every library around it.
    """

    name: str
    part: str
    function: Callable

    def __call__(self, *arguments: np.ndarray) -> np.ndarray:
        """The answers as one array."""
        answers = try_on(self.name, self.part, self.function, *arguments)
        check_shapes(self.name, self.part, answers, answers[0].shape)
        return np.array(answers)


def hashable(function: Callable) -> Callable:
    """The same function: compiled code needs to tell whether it has changed."""
    try:
        hash(function)
    except TypeError:
        return Itself(function)
    return function


@dataclass(frozen=True, eq=False)
class Itself:
    """What cannot be hashed, or should not be: the same only as its like around it."""

    value: Any

    def __call__(self, *arguments: Any) -> Any:
        """Its answer, if it is a function."""
        return self.value(*arguments)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Itself) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)


def compiles(
    function: Callable, answers: list[np.ndarray], *arguments: np.ndarray
) -> bool:
    """Whether JAX can trace a function and then finds the same answers.

    The second part matters: a random choice is traced as a constant.
    """
    try:
        compiled = np.asarray(_rows(hashable(function), *arguments))
        plain = np.array(answers)
    except Exception:
        return False
    return compiled.shape == plain.shape and np.allclose(
        compiled, plain, rtol=1e-3, atol=1e-5, equal_nan=True
    )


@partial(jax.jit, static_argnums=0)
def _rows(function: Callable, *arguments: Array) -> Array:
    return jax.vmap(function)(*arguments)


def told_by_host(error: Exception) -> str | None:
    """What a source complained of on the host, dug out of JAX's error."""
    found = re.findall(r"SourceError: (.+)", str(error))
    return found[-1] if found else None


def check_shapes(
    name: str, part: str, answers: Iterable[Any], shape: tuple[int, ...]
) -> None:
    """Complain of an answer that has another shape."""
    for answer in answers:
        if answer.shape != shape:
            raise SourceError(
                f"source {name!r}: its {part} returns shape {answer.shape}, but the "
                f"target needs {shape}. Select or reorder its outputs"
            )


def check_actions(name: str, actions: Iterable[Any], count: int) -> None:
    """Complain of an action's index that does not exist."""
    for action in actions:
        if action not in range(count):
            raise SourceError(
                f"source {name!r}: its policy returns action {action}, but the target "
                f"has actions 0 … {count - 1}. Map its actions to those"
            )
