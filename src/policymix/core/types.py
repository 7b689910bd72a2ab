"""The words every other module uses: spaces, transitions, keys."""

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import jaxtyping
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

Key: TypeAlias = PRNGKeyArray
Keys: TypeAlias = jaxtyping.Key[Array, " n"]
"""One key for each of n."""
TestKeys: TypeAlias = jaxtyping.Key[Array, "trials episodes"]
Observation: TypeAlias = Float[Array, " obs"] | Int[Array, ""]
"""A vector of real numbers, or the index of a state."""
DiscreteAction: TypeAlias = Int[Array, ""]
Action: TypeAlias = DiscreteAction | Float[Array, " act"]
Scalar: TypeAlias = Float[Array, ""]
Real: TypeAlias = float | int | Scalar
"""A number that may be traced, and may be written as a literal."""


@dataclass(frozen=True)
class Discrete:
    """The integers 0 … n − 1."""

    n: int

    @property
    def shape(self) -> tuple[int, ...]:
        """A single number has no axes."""
        return ()


@dataclass(frozen=True)
class Box:
    """Real vectors, bounded (possibly by infinity) in every component."""

    low: tuple[float, ...]
    high: tuple[float, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self.low),)


Space: TypeAlias = Discrete | Box


@dataclass(frozen=True)
class TaskSpec:
    """What source tasks and their target share: observations and actions."""

    observation: Space
    action: Space


class Transition(NamedTuple):
    """One step of a task.

    Bootstrapping stops at `terminated` and goes on at `truncated`.
    """

    obs: Observation
    action: Action
    reward: Float[Array, ""]
    next_obs: Observation
    terminated: Bool[Array, ""]
    truncated: Bool[Array, ""]
