"""What a source with maps observes and does, as far as it can be known."""

from typing import Any

import gymnasium
import jax
import numpy as np

from policymix.core.errors import DomainError, SourceError
from policymix.core.spaces import spec_of_spaces
from policymix.core.types import Box, Discrete, Space, TaskSpec
from policymix.sources.dynamics import TableDynamics
from policymix.sources.experts import SourceTask
from policymix.sources.policies import TablePolicy
from policymix.sources.simulators import Simulator


def own_spec(source: SourceTask, spec: TaskSpec, seen: np.ndarray) -> TaskSpec:
    """Spaces of a source: of its simulator or model, or what its maps tell.

    Args:
        source: with maps.
        spec: of the target; a part without a map is the target's.
        seen: what `observe` made of some of the target's observations.
    """
    told = _told(source)
    observation, action = spec.observation, spec.action
    if source.observe is not None:
        known = None if told is None else told[1].observation
        observation = _observation(source, seen, known)
        if told is not None:
            _expect_shape(source.name, seen, observation, told[0])
    if source.act is not None:
        action = told[1].action if told else _action(source, seen)
    return TaskSpec(observation, action)


def _told(source: SourceTask) -> tuple[str, TaskSpec] | None:
    """The spaces of a simulator or of a model with `predict`, and whose they are."""
    dynamics, policy = source.dynamics, source.policy
    try:
        if isinstance(dynamics, Simulator):
            return "simulator", spec_of_spaces(dynamics.env, f"source {source.name!r}")
        if isinstance(dynamics, gymnasium.Env):
            return "simulator", spec_of_spaces(dynamics, f"source {source.name!r}")
        if hasattr(policy, "observation_space") and hasattr(policy, "action_space"):
            return "policy", spec_of_spaces(policy, f"source {source.name!r}")
    except DomainError as error:
        raise SourceError(str(error)) from None
    return None


def _expect_shape(name: str, seen: np.ndarray, space: Space, whose: str) -> None:
    if seen.shape[1:] != space.shape:
        raise SourceError(
            f"source {name!r}: its observe returns shape {seen.shape[1:]}, but its "
            f"{whose} wants {space.shape}. Let observe return what the {whose} observes"
        )
    if isinstance(space, Discrete) and np.any((seen < 0) | (seen >= space.n)):
        raise SourceError(
            f"source {name!r}: its observe returns the state {seen.max()}, but its "
            f"{whose} has the states 0 … {space.n - 1}"
        )


def _observation(source: SourceTask, seen: np.ndarray, known: Space | None) -> Space:
    if known is not None:
        return known
    if seen.ndim > 1:
        size = seen.shape[1]
        return Box((-np.inf,) * size, (np.inf,) * size)
    for part in (source.policy, source.dynamics):
        table = _table(part)
        if table is not None:
            space = Discrete(len(table))
            _expect_shape(source.name, seen, space, "table")
            return space
    raise SourceError(
        f"source {source.name!r}: its observe returns the number of a state, but how "
        "many states the source has is not known. Give its policy or its dynamics as a "
        "table, or let observe return a vector"
    )


def _action(source: SourceTask, seen: np.ndarray) -> Space:
    if not callable(source.act):
        return Discrete(len(source.act))
    table = _table(source.policy)
    if table is not None and table.ndim > 1:
        return Discrete(table.shape[1])
    try:
        policy: Any = source.policy
        ask = policy if callable(policy) else lambda o: policy.predict(o, True)[0]
        advice = np.array([ask(row.copy()) for row in seen])
    except Exception as error:
        told = f"{type(error).__name__}: {error}".splitlines()[0]
        raise SourceError(
            f"source {source.name!r}: its policy fails on what observe makes of one of "
            f"the target's observations, {seen[0].tolist()} ({told}): shape "
            f"{seen.shape[1:]}"
        ) from error
    if advice.ndim == 2:
        size = advice.shape[1]
        if size > 1 and np.all(advice >= 0) and np.allclose(advice.sum(axis=1), 1):
            return Discrete(size)  # probabilities
        return Box((-np.inf,) * size, (np.inf,) * size)
    raise SourceError(
        f"source {source.name!r}: its act is a function, and how many actions the "
        "source has is not known. Give a list, act=[…], with the target's action for "
        "each of the source's"
    )


def _table(part: Any) -> np.ndarray | None:
    if isinstance(part, TablePolicy):
        part = part.probabilities
    elif isinstance(part, TableDynamics):
        part = part.next_obs
    return np.asarray(part) if isinstance(part, np.ndarray | jax.Array) else None
