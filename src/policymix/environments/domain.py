"""A domain: a target with its source tasks, how it is scored and studied."""

from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

import numpy as np
from jaxtyping import Array, Int

from policymix.core.encoders import AbstractEncoder, Identity
from policymix.core.settings import DEFAULTS, Settings
from policymix.core.spaces import spec_of_spaces
from policymix.core.types import Observation, TaskSpec
from policymix.environments.base import AbstractDomain, Family
from policymix.environments.copies import Policy, Variant
from policymix.environments.episodes import play
from policymix.environments.finite import FiniteDomain, regret_in
from policymix.environments.study import Study

RightSource: TypeAlias = Callable[[Observation], Int[Array, ""]]


@runtime_checkable
class Played(Protocol):
    """An episode, as far as scores look at it."""

    @property
    def length(self) -> int:
        """Steps taken."""
        ...

    @property
    def total(self) -> float:
        """The return."""
        ...


def total_of(episode: Played) -> float:
    """The usual score: the return."""
    return episode.total


def length_of(episode: Played) -> float:
    """The score where an episode should be short."""
    return float(episode.length)


@dataclass(frozen=True)
class Domain:
    """All that the package knows of a target and its source tasks.

    Args:
        name: as the command line has it.
        family: the target and its source tasks.
        encoder: turns observations into what kernels compare and mixtures read.
        measure: what scores count.
        score: of an episode; None where a policy's regret is computed, not played.
        right: names of sources → which of them is right in a state.
        better: which scores are the good ones.
        settings: for every method.
        study: what experiments and reports want to know.
        shipped: its sources: the folder of a library, or a function that makes one.
        alter: makes its sources out of the shipped library, if they are not the same.
        home: the domain that its sources were made for, if it is another.
        trainer: "module:function" that trains one source, if they can be made anew.
        kinds: modules that its sources are made of, besides the package's own.
    """

    name: str
    family: Callable[[], Family[Any]]
    encoder: AbstractEncoder = field(default_factory=Identity)
    measure: str = "return"
    score: Callable[[Played], float] | None = total_of
    right: Callable[[tuple[str, ...]], RightSource] | None = None
    better: Literal["higher", "lower"] = "higher"
    settings: Settings = DEFAULTS
    study: Study = field(default_factory=Study)
    shipped: Path | Traversable | Callable[[], Any] | None = None
    alter: Callable[[Any], Any] | None = None
    home: str | None = None
    trainer: str | None = None
    kinds: tuple[type, ...] = ()

    @property
    def target(self) -> Variant:
        """What is to be learned."""
        return self.family().target

    @property
    def title(self) -> str:
        """For people."""
        return self.study.title or self.name

    def spec(self) -> TaskSpec:
        """The spaces that target and sources share."""
        return spec_of(self.target, self.name)


def spec_of(variant: Variant, name: str = "the environment") -> TaskSpec:
    """Spaces of a JAX domain or of a Gymnasium environment."""
    if isinstance(variant, AbstractDomain):
        return variant.spec
    return spec_of_spaces(variant(), name)


def score_of(
    domain: Domain, variant: Variant, policy: Policy, episodes: int, seed: int
) -> float:
    """A policy by the domain's measure: computed, or averaged over episodes."""
    if domain.score is None:
        assert isinstance(variant, FiniteDomain)
        return float(regret_in(variant)(policy(np.arange(variant.num_states))))
    played = play(variant, policy, episodes, seed)
    return float(np.mean([domain.score(episode) for episode in played]))
