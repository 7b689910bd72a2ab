"""Gymnasium's spaces as ours, with advice for those that have no counterpart."""

from typing import Any

import numpy as np
from gymnasium import spaces

from policymix.core.errors import DomainError
from policymix.core.types import Box, Discrete, Space, TaskSpec

UNBOUNDED = 1e30
"""Bounds beyond this stand for infinity: Gymnasium's CartPole writes 3.4e38."""
READ_ON = '("Other spaces" in docs/own.md)'
FLATTENING = (
    "Wrap the environment in gymnasium.wrappers.FlattenObservation, which makes"
)
REMEDIES = {
    "observation_space": f"{FLATTENING} one vector of it",
    "action_space": "Wrap the environment in a gymnasium.ActionWrapper that numbers "
    "the actions (Discrete) or joins them in one vector (Box)",
}
IMAGE = (
    f"{FLATTENING} one vector of {{count:,}} numbers of it. Networks here have no "
    "convolutions: where these are more than some hundreds, let a gymnasium."
    "ObservationWrapper return what an encoder of yours makes of the image"
)
NUMBERED = (
    "Wrap the environment in a gymnasium.ActionWrapper that numbers its {count:,} "
    "combinations (Discrete), for instance by np.unravel_index"
)
WHOLE = (
    "{where} is {space}: whole numbers. Wrap the environment in a gymnasium."
    "ActionWrapper that numbers them (Discrete), or in one whose action_space is a Box "
    f"of floats and that rounds {READ_ON}"
)
FIXED = (
    "{where} is {space}: component {place} has a single value. Wrap the environment in "
    "a gymnasium.ActionWrapper that leaves it out and fills it in"
)
UNSIZED = (
    "Its size is not fixed: let a gymnasium.ObservationWrapper return a vector that "
    "always has the same length"
)


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
    _check_actions(environment.action_space, f"{name}: its action_space")
    observation, action = (
        our_space(
            getattr(environment, part),
            f"{name}: its {part}",
            remedy_for(getattr(environment, part), part),
        )
        for part in parts
    )
    return TaskSpec(observation, action)


def _check_actions(space: Any, where: str) -> None:
    """A vector of actions has real components that can be chosen."""
    if not isinstance(space, spaces.Box):
        return
    if space.dtype.kind != "f":
        raise DomainError(WHOLE.format(where=where, space=space))
    fixed = np.flatnonzero(np.ravel(space.low) >= np.ravel(space.high))
    if fixed.size:
        raise DomainError(FIXED.format(where=where, space=space, place=fixed[0]))


def remedy_for(space: Any, part: str) -> str:
    """What can be done about a space that is neither a vector nor a number."""
    remedy = REMEDIES[part]
    if part == "observation_space":
        if isinstance(space, spaces.Box) and len(space.shape) > 1:
            remedy = IMAGE.format(count=int(np.prod(space.shape)))
        elif isinstance(space, spaces.Space) and not space.is_np_flattenable:
            remedy = UNSIZED
    elif isinstance(space, spaces.MultiDiscrete):
        remedy = NUMBERED.format(count=int(np.prod(space.nvec)))
    elif isinstance(space, spaces.MultiBinary):
        remedy = NUMBERED.format(count=2 ** int(np.prod(space.shape)))
    return f"{remedy} {READ_ON}"


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
