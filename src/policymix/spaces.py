"""Gymnasium's spaces as ours, with advice for those that have no counterpart."""

from typing import Any

import numpy as np
from gymnasium import spaces

from policymix.errors import DomainError
from policymix.types import Box, Discrete, Space, TaskSpec

UNBOUNDED = 1e30
"""Bounds beyond this stand for infinity: Gymnasium's CartPole writes 3.4e38."""


def spec_of_spaces(environment: Any, name: str) -> TaskSpec:
    """The spaces of a Gymnasium environment.

    Args:
        environment: anything with an observation_space and an action_space.
        name: what to call it in a complaint.
    """
    parts = ("observation_space", "action_space")
    missing = [part for part in parts if not hasattr(environment, part)]
    if missing:
        raise DomainError(
            f"{name} has no {missing[0]}: {type(environment).__name__} is no Gymnasium "
            "environment. Give an environment, its id, or a function that makes one"
        )
    observation, action = (
        our_space(getattr(environment, part), f"{name}: its {part}") for part in parts
    )
    return TaskSpec(observation, action)


def our_space(space: Any, where: str) -> Space:
    """One space; `where` begins the complaint about one that cannot be used."""
    if isinstance(space, spaces.Discrete):
        if space.start != 0:
            raise DomainError(
                f"{where} is {space}, which does not start at 0. Wrap the environment "
                "so that its numbers run from 0"
            )
        return Discrete(int(space.n))
    if not isinstance(space, spaces.Box):
        raise DomainError(
            f"{where} is {_brief(space)}, not Box or Discrete. {_advice(space)}"
        )
    if len(space.shape) != 1 or space.shape[0] == 0:
        raise DomainError(
            f"{where} has the shape {space.shape}; one axis is needed. Wrap the "
            "environment in gymnasium.wrappers.FlattenObservation (for actions, in a "
            "TransformAction that flattens them)"
        )
    low, high = (np.asarray(bound, float) for bound in (space.low, space.high))
    low, high = (
        np.where(np.abs(b) < UNBOUNDED, b, np.copysign(np.inf, b)) for b in (low, high)
    )
    return Box(tuple(low.tolist()), tuple(high.tolist()))


def _brief(space: Any) -> str:
    return f"a {type(space).__name__} space"


def _advice(space: Any) -> str:
    if isinstance(space, spaces.Dict | spaces.Tuple | spaces.MultiBinary):
        return (
            "Wrap the environment in gymnasium.wrappers.FlattenObservation, which "
            "makes one vector of it"
        )
    if isinstance(space, spaces.MultiDiscrete):
        return (
            "Number the combinations in a wrapper of your own (an action), or wrap the "
            "environment in gymnasium.wrappers.FlattenObservation (an observation)"
        )
    return "Wrap the environment so that it gives vectors or numbers"
