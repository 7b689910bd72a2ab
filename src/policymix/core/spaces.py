"""Gymnasium's spaces as ours, with advice for those that have no counterpart."""

from typing import Any

import numpy as np
from gymnasium import spaces

from policymix.core.errors import DomainError
from policymix.core.types import Box, Discrete, Space, TaskSpec

UNBOUNDED = 1e30
"""Bounds beyond this stand for infinity: Gymnasium's CartPole writes 3.4e38."""
REMEDIES = {
    "observation_space": "Wrap the environment in "
    "gymnasium.wrappers.FlattenObservation, which makes one vector of it",
    "action_space": "Wrap the environment in a gymnasium.ActionWrapper that numbers "
    "the actions (Discrete) or joins them in one vector (Box)",
}


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
        our_space(getattr(environment, part), f"{name}: its {part}", REMEDIES[part])
        for part in parts
    )
    return TaskSpec(observation, action)


def our_space(space: Any, where: str, remedy: str) -> Space:
    """One space; the complaint about an unfit one begins and ends with these words."""
    if isinstance(space, spaces.Discrete):
        if space.start != 0:
            raise DomainError(
                f"{where} is {space}, which does not start at 0. Wrap the environment "
                "so that its numbers run from 0"
            )
        return Discrete(int(space.n))
    if not isinstance(space, spaces.Box):
        raise DomainError(
            f"{where} is a {type(space).__name__} space, not Box or Discrete. {remedy}"
        )
    if len(space.shape) != 1 or space.shape[0] == 0:
        raise DomainError(
            f"{where} has the shape {space.shape}; one axis is needed. {remedy}"
        )
    low, high = (np.asarray(bound, float) for bound in (space.low, space.high))
    low, high = (
        np.where(np.abs(b) < UNBOUNDED, b, np.copysign(np.inf, b)) for b in (low, high)
    )
    return Box(tuple(low.tolist()), tuple(high.tolist()))
