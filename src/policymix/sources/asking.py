"""Sources on the host are asked there, and compiled programs are told the answers.

A call from the middle of a program costs more than most answers. Where a loop is on the
host anyway, every function is asked between two calls of the program, about all rows at
once. In the program a `Told` stands in its place; so a program does not depend on what
the functions are, and others of the same shapes find it compiled.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias, TypeVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from policymix.core.types import Discrete
from policymix.sources.dynamics import LogDensity
from policymix.sources.host_calls import HostFunction

Experts = TypeVar("Experts")
"""Of a library; they import this module."""
Answers: TypeAlias = Float[Array, " columns"]
"""Of all functions about one state or transition, one after the other."""


class Heard(NamedTuple):
    """`Answers` about a step; None: nobody has been asked yet."""

    predictions: Any = None
    next_advice: Any = None
    """Where the step led."""
    advice: Any = None
    """Where the trial goes on: there, or at the start of a new episode."""


class Told(eqx.Module):
    """Stands for a function on the host and says what that has answered."""

    shape: tuple[int, ...] = eqx.field(static=True)
    kind: str = eqx.field(static=True)
    answer: Array | None = None

    def __call__(self, *arguments: Array) -> Array:
        """The answer, which is about these arguments."""
        del arguments
        assert self.answer is not None
        return self.answer


def _function(stack: Any) -> Any:
    """What a stack of policies or of models would call."""
    part = stack.members[0] if isinstance(stack.members, tuple) else stack.members
    return part.log_density if isinstance(part, LogDensity) else part


def _calling(stack: Any, function: Any) -> Any:
    """The same stack, but it calls another function."""
    if not isinstance(stack.members, tuple):
        return replace(stack, members=function)
    part, *more = stack.members
    part = LogDensity(function) if isinstance(part, LogDensity) else function
    return replace(stack, members=(part, *more))


def without_host(experts: Experts) -> Experts:
    """The same, with a `Told` for every function on the host.

    Within a source's maps they stay, since what they are asked about is not known
    before.
    """

    def stand_in(stack: Any) -> Any:
        function = _function(stack)
        if not isinstance(function, HostFunction):
            return stack
        return _calling(stack, Told(function.shape, function.kind))

    told: dict[str, Any] = {
        name: tuple(map(stand_in, getattr(experts, name)))
        for name in ("policies", "models")
    }
    return replace(experts, **told)  # pyright: ignore[reportArgumentType]


def told(stacks: tuple[Any, ...], answers: Answers) -> tuple[Any, ...]:
    """Stacks of sources whose `Told`s know their answers.

    Args:
        stacks: of `Experts`.
        answers: a row of what `Questions` gives.
    """
    filled, end = [], 0
    for stack in stacks:
        slot = _function(stack)
        if isinstance(slot, Told):
            begin, end = end, end + math.prod(slot.shape)
            answer = answers[begin:end].reshape(slot.shape).astype(slot.kind)
            if stack.batched:  # its arrays have an axis of members
                answer = jnp.broadcast_to(answer, (len(stack.places), *slot.shape))
            stack = _calling(stack, Told(slot.shape, slot.kind, answer))
        filled.append(stack)
    return tuple(filled)


class Question(NamedTuple):
    """A function on the host."""

    ask: Callable[..., np.ndarray]
    arguments: int
    """How many of (obs, action, next_obs) it takes."""
    size: int
    """Numbers of an answer."""


class Questions:
    """Asks all functions of a library that are on the host.

    Args:
        experts: the library's; None has nobody to be asked.
        predicts: whether models are asked as well.
    """

    def __init__(self, experts: Any, predicts: bool = True):
        self._policies: list[Question] = []
        self._models: list[Question] = []
        discrete = False
        if experts is not None:
            self._policies = _hosts(experts.policies)
            self._models = _hosts(experts.models) if predicts else []
            discrete = isinstance(experts.spec.observation, Discrete)
        self._kind = np.int32 if discrete else np.float32
        advice, predictions = map(_width, (self._policies, self._models))
        self.widths = Heard(predictions, advice, advice)
        """Columns of each answer."""

    def advice(self, obs: np.ndarray) -> np.ndarray:
        """What every policy says of these states: a row for each, side by side."""
        return self._ask(self._policies, obs)

    def predictions(
        self, obs: np.ndarray, action: np.ndarray, next_obs: np.ndarray
    ) -> np.ndarray:
        """What every model predicts, or how likely it finds what happened."""
        return self._ask(self._models, obs, action, next_obs)

    def _ask(
        self, questions: Sequence[Question], obs: np.ndarray, *more: np.ndarray
    ) -> np.ndarray:
        answers = np.zeros((len(obs), _width(questions)), np.float32)
        if not answers.size:
            return answers
        rows = [obs.astype(self._kind)]
        if more:
            action, next_obs = more
            rows += [action, next_obs.astype(self._kind)]
        end = 0
        for question in questions:
            found = question.ask(*rows[: question.arguments])
            begin, end = end, end + question.size
            answers[:, begin:end] = found.reshape(len(obs), -1)
        return answers


def _width(questions: Sequence[Question]) -> int:
    return sum(question.size for question in questions)


def _hosts(stacks: Sequence[Any]) -> list[Question]:
    functions = map(_function, stacks)
    return [
        Question(part.plain, len(part.arguments), math.prod(part.shape))
        for part in functions
        if isinstance(part, HostFunction)
    ]
