"""The domains by name: what the command line and the checks need to know of each."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import numpy as np

from policymix.domains.base import Family
from policymix.domains.cartpole import cartpole_family
from policymix.domains.lander import FAMILY, make_lander
from policymix.domains.maze_files import load_mazes
from policymix.encoders import AbstractEncoder, Clip, Identity, OneHotGrid
from policymix.episodes import Episode, Sampled, collect, policy_of, taking_turns
from policymix.errors import DomainError, did_you_mean
from policymix.sources import SourceLibrary, library_facts
from policymix.types import Box, Discrete, TaskSpec
from policymix.vector_tasks import Variant, copies_of


@dataclass(frozen=True)
class Domain:
    """A target with its source tasks, and how the paper scores it."""

    name: str
    family: Callable[[], Family[Variant]]
    encoder: AbstractEncoder
    measure: str
    score: Callable[[Episode], float]

    def spec(self) -> TaskSpec:
        """The spaces that target and sources share."""
        return spec_of(self.family().target)


def spec_of(variant: Variant) -> TaskSpec:
    """Spaces of a JAX domain or of a Gymnasium environment."""
    if not callable(variant):
        return variant.spec
    environment = variant()
    observation, action = environment.observation_space, environment.action_space
    low, high = (tuple(map(float, b)) for b in (observation.low, observation.high))
    return TaskSpec(Box(low, high), Discrete(int(action.n)))


def _landers() -> Family[Variant]:
    sources = {name: partial(make_lander, name) for name in FAMILY.sources}
    return Family(FAMILY.name, make_lander, sources)


DOMAINS = {
    domain.name: domain
    for domain in (
        Domain(
            "maze",
            load_mazes,  # pyright: ignore[reportArgumentType]
            OneHotGrid(29, 29),
            "steps to goal",
            lambda episode: float(episode.length),
        ),
        Domain(
            "cartpole",
            cartpole_family,  # pyright: ignore[reportArgumentType]
            Identity(),
            "steps balanced",
            lambda episode: episode.total,
        ),
        Domain("lander", _landers, Clip(), "return", lambda episode: episode.total),
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
    """A domain and a library of sources for its target."""

    domain: Domain
    sources: SourceLibrary
    facts: dict[str, Any]


def load_task(place: str | Path) -> TransferTask:
    """A domain by name with its shipped sources, or the folder of a library."""
    if str(place) not in DOMAINS and Path(place).exists():
        return _read_task(Path(place))
    name = find_domain(str(place)).name
    with as_file(files("policymix") / "data" / "libraries" / name) as folder:
        return _read_task(folder)


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


def mean_score(domain: Domain, episodes: list[Episode]) -> float:
    """The domain's measure, averaged over episodes."""
    return float(np.mean([domain.score(episode) for episode in episodes]))
