"""What a domain written in JAX must offer."""

import abc
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

import equinox as eqx
from jaxtyping import Array, Bool, Float

from policymix.core.errors import DomainError, did_you_mean
from policymix.core.types import Action, Key, Observation, TaskSpec


class Step(NamedTuple):
    """What one action leads to."""

    next_obs: Observation
    reward: Float[Array, ""]
    terminated: Bool[Array, ""]


class AbstractDomain(eqx.Module):
    """A task whose observation is its whole state; variants of a task are data.

    The horizon ends an episode from outside (`truncated`); it is no part of the state.
    """

    horizon: eqx.AbstractVar[int]

    @property
    @abc.abstractmethod
    def spec(self) -> TaskSpec:
        """Observation and action spaces."""

    @abc.abstractmethod
    def initial(self, key: Key) -> Observation:
        """Draw the first observation of an episode."""

    @abc.abstractmethod
    def step(self, key: Key, obs: Observation, action: Action) -> Step:
        """Take one action."""


class DeterministicDomain(AbstractDomain):
    """A domain split where the problem splits: dynamics differ, goals are shared."""

    @abc.abstractmethod
    def transition(self, obs: Observation, action: Action) -> Observation:
        """The next observation; a learned dynamics model has this signature."""

    @abc.abstractmethod
    def reward(
        self, obs: Observation, action: Action, next_obs: Observation
    ) -> Float[Array, ""]:
        """The reward of one transition."""

    @abc.abstractmethod
    def terminal(self, obs: Observation) -> Bool[Array, ""]:
        """Whether the task ends here."""

    def step(self, key: Key, obs: Observation, action: Action) -> Step:
        """Take one action; the key is not needed."""
        del key
        next_obs = self.transition(obs, action)
        return Step(
            next_obs, self.reward(obs, action, next_obs), self.terminal(next_obs)
        )


Variant = TypeVar("Variant")


@dataclass(frozen=True)
class Family(Generic[Variant]):
    """A target and its named sources; their order is the order of mixture weights."""

    name: str
    target: Variant
    sources: Mapping[str, Variant]

    def variant(self, source: str | None) -> Variant:
        """The source of that name; None is the target."""
        if source is None:
            return self.target
        if source in self.sources:
            return self.sources[source]
        names = ", ".join(repr(name) for name in self.sources)
        raise DomainError(
            f"{self.name} has no source {source!r}: "
            f"it has {names}, and None is the target."
            f"{did_you_mean(source, self.sources)}"
        )
