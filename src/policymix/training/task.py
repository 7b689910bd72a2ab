"""The domains by name: what the command line and the checks need to know of each."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from policymix.core.encoders import AbstractEncoder, Clip, Identity, OneHotGrid
from policymix.core.errors import DomainError, did_you_mean
from policymix.core.spaces import spec_of_spaces
from policymix.core.types import Observation, TaskSpec
from policymix.domains.cartpole.task import cartpole_family, right_source
from policymix.domains.inventory.task import (
    CAPACITY,
    MONTHS,
    inventory_family,
    right_forecast,
    unforeseen_family,
)
from policymix.domains.lander.task import FAMILY, make_lander
from policymix.domains.maze.files import load_mazes
from policymix.domains.maze.task import ROOMS, room
from policymix.environments.base import AbstractDomain, Family
from policymix.environments.copies import Policy, Variant, copies_of
from policymix.environments.episodes import (
    Sampled,
    collect,
    play,
    policy_of,
    taking_turns,
)
from policymix.environments.finite import FiniteDomain, regret_in
from policymix.environments.targets import first_observations, own_variant
from policymix.sources.library import SourceLibrary, library_facts
from policymix.sources.units import prepare

RightSource: TypeAlias = Callable[[Observation], Int[Array, ""]]


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


@dataclass(frozen=True)
class Domain:
    """A target with its source tasks, and how it is scored."""

    name: str
    family: Callable[[], Family[Variant]]
    encoder: AbstractEncoder
    measure: str
    score: Callable[[Played], float] | None
    """Of an episode; None where a policy's regret is computed instead of played."""
    right: Callable[[tuple[str, ...]], RightSource] | None = None
    """Names of sources → which of them is right in a state."""
    better: Literal["higher", "lower"] = "higher"
    """Which scores are the good ones."""
    library: str | None = None
    """Whose shipped sources it uses, if not its own."""

    def spec(self) -> TaskSpec:
        """The spaces that target and sources share."""
        return spec_of(self.family().target, self.name)


def spec_of(variant: Variant, name: str = "the environment") -> TaskSpec:
    """Spaces of a JAX domain or of a Gymnasium environment."""
    if isinstance(variant, AbstractDomain):
        return variant.spec
    return spec_of_spaces(variant(), name)


def _landers() -> Family[Variant]:
    sources = {name: partial(make_lander, name) for name in FAMILY.sources}
    return Family(FAMILY.name, make_lander, sources)


@cache
def _right_room(names: tuple[str, ...]) -> RightSource:
    maze = load_mazes().target
    places = jnp.array([names.index(name) for name in ROOMS])
    return lambda cell: places[room(maze, cell)]


@cache
def _right_surface(names: tuple[str, ...]) -> RightSource:
    family = cartpole_family()
    sources = [family.sources[name] for name in names]
    return lambda obs: right_source(family.target, sources, obs)


@cache
def _right_altitude(names: tuple[str, ...]) -> RightSource:
    hover, land = names.index("hover"), names.index("land")
    return lambda obs: jnp.where(obs[1] > SWITCH_ALTITUDE, hover, land)


@cache
def _right_month(names: tuple[str, ...]) -> RightSource:
    return partial(right_forecast, names)


SWITCH_ALTITUDE = 0.5
"""Where a hand-written pilot of the lander hands over from hover to land."""

DOMAINS = {
    domain.name: domain
    for domain in (
        Domain(
            "maze",
            load_mazes,  # pyright: ignore[reportArgumentType]
            OneHotGrid(29, 29),
            "steps to goal",
            lambda episode: float(episode.length),
            _right_room,
            "lower",
        ),
        Domain(
            "cartpole",
            cartpole_family,  # pyright: ignore[reportArgumentType]
            Identity(),
            "steps balanced",
            lambda episode: episode.total,
            _right_surface,
        ),
        Domain(
            "lander",
            _landers,
            Clip(),
            "return",
            lambda episode: episode.total,
            _right_altitude,
        ),
        Domain(
            "inventory",
            inventory_family,  # pyright: ignore[reportArgumentType]
            OneHotGrid(MONTHS, CAPACITY + 1),
            "regret per month",
            None,
            _right_month,
            "lower",
        ),
        Domain(
            "inventory-unforeseen",
            unforeseen_family,  # pyright: ignore[reportArgumentType]
            OneHotGrid(MONTHS, CAPACITY + 1),
            "regret per month",
            None,
            better="lower",
            library="inventory",
        ),
    )
}


def find_domain(name: str) -> Domain:
    """The domain of that name."""
    if name in DOMAINS:
        return DOMAINS[name]
    raise DomainError(
        f"there is no domain {name!r}: choose {', '.join(DOMAINS)}."
        f"{did_you_mean(name, DOMAINS)}"
    )


@dataclass(frozen=True)
class TransferTask:
    """A target and a library of sources that may help with it.

    Args:
        target: a Gymnasium environment, its id, a function that makes one, a domain
            written in JAX, or a domain of this package by its name. Trials and tests
            have environments of their own, so what was changed in an environment after
            it was made must be changed by a function that makes it.
        sources: they are tried on the target before anything else happens.
        facts: about the sources, for reports.
        horizon: steps after which episodes of an own target are cut off if its
            environment sets no limit itself.
    """

    target: Any
    sources: SourceLibrary
    facts: dict[str, Any] = field(default_factory=dict)
    horizon: int = 1_000

    def __post_init__(self):
        if isinstance(self.target, Domain):
            return
        sources, domain = self.sources, self.domain
        if not self.is_own and sources.encoder is None:
            sources = replace(sources, encoder=domain.encoder)
        probes = jnp.asarray(first_observations(domain.family().target))
        ready = prepare(sources, domain.spec(), probes)
        object.__setattr__(self, "sources", ready)

    @cached_property
    def domain(self) -> Domain:
        """The target, and how it is scored."""
        if isinstance(self.target, Domain):
            return self.target
        if isinstance(self.target, str) and self.target in DOMAINS:
            return DOMAINS[self.target]
        return own_domain(self.target, self.horizon)

    @property
    def is_own(self) -> bool:
        """Whether the target was brought by the user."""
        return DOMAINS.get(self.domain.name) is not self.domain

    @property
    def right_source(self) -> RightSource | None:
        """Which source is right in a state, if the domain knows it of these sources."""
        known = self.domain.right
        if known is None or not set(self.domain.family().sources) >= set(
            self.sources.names
        ):
            return None
        return known(self.sources.names)


def own_domain(target: Any, horizon: int) -> Domain:
    """A target of the user's own, scored by its return, or by regret if it is known."""
    variant, name = own_variant(target, horizon)
    family = Family(name, variant, {})
    if isinstance(variant, FiniteDomain):
        measure = "regret per step"
        return Domain(name, lambda: family, Identity(), measure, None, better="lower")
    return Domain(name, lambda: family, Identity(), "return", lambda e: e.total)


def load_task(place: str | Path) -> TransferTask:
    """A domain by name with its shipped sources, or the folder of a library."""
    if str(place) not in DOMAINS and Path(place).exists():
        return _read_task(Path(place))
    domain = find_domain(str(place))
    home = domain.library or domain.name
    with as_file(files(f"policymix.domains.{home}") / "library") as folder:
        return replace(_read_task(folder), target=domain)


def _read_task(folder: Path) -> TransferTask:
    facts = library_facts(folder)
    domain = find_domain(str(facts.get("domain")))
    return TransferTask(domain, task_sources(domain, folder), facts)


def task_sources(domain: Domain, folder: Path) -> SourceLibrary:
    """The library of a folder, which must be one for this domain."""
    library = SourceLibrary.load(folder)
    found = library_facts(folder).get("domain")
    if found != domain.name or library.spec != domain.spec():
        raise DomainError(
            f"{folder} holds sources for {found!r}, not for {domain.name!r}: their "
            "spaces differ. Give a library of the right domain"
        )
    return library


def explore(
    task: TransferTask, samples: int, seed: int = 0, epsilon: float = 0.3
) -> Sampled:
    """Transitions of the target, led by the sources in turn and often at random."""
    policies = [policy_of(source) for source in task.sources.sources]
    leader = taking_turns(policies, 40, seed)
    tasks = copies_of(task.domain.family().target, 16)
    return collect(tasks, leader, samples, seed, epsilon)


def score_of(
    domain: Domain, variant: Variant, policy: Policy, episodes: int, seed: int
) -> float:
    """A policy by the domain's measure: computed, or averaged over episodes."""
    if domain.score is None:
        assert isinstance(variant, FiniteDomain)
        return float(regret_in(variant)(policy(np.arange(variant.num_states))))
    played = play(variant, policy, episodes, seed)
    return float(np.mean([domain.score(episode) for episode in played]))
