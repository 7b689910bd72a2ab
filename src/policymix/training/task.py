"""A transfer task: a target, and sources that may help with it."""

import os
from dataclasses import dataclass, field, replace
from importlib.resources import as_file
from pathlib import Path
from typing import Any

import jax.numpy as jnp

from policymix.core.encoders import standardise
from policymix.core.errors import DomainError, PolicymixError
from policymix.core.settings import DEFAULTS, TABLE_DEFAULTS
from policymix.core.types import Box, Discrete
from policymix.environments.base import Family
from policymix.environments.copies import copies_of
from policymix.environments.domain import Domain, RightSource, spec_of
from policymix.environments.episodes import Sampled, collect, taking_turns
from policymix.environments.finite import FiniteDomain
from policymix.environments.own_code import is_own_code, own_value
from policymix.environments.registry import domain_names, find_domain, known_domain
from policymix.environments.targets import first_steps, own_variant, repeats
from policymix.sources.behaviour import Prints, behaviour, digest
from policymix.sources.foreign import is_foreign
from policymix.sources.library import SourceLibrary, read_library_folder
from policymix.sources.policies import policy_of
from policymix.sources.prepare import prepare_sources

LED_STEPS = 512
"""Of a target whose units no source knows."""


@dataclass(frozen=True)
class TransferTask:
    """A target and a library of sources that may help with it.

    Args:
        target: a Gymnasium environment, its id, a function that makes one, a domain
            written in JAX, or a domain of this package by its name. Trials and tests
            have environments of their own, so what was changed in an environment after
            it was made must be changed by a function that makes it.
        sources: `prepare`, with which training begins, tries them on the target.
        facts: about the sources, for reports.
        horizon: steps after which episodes of an own target are cut off if its
            environment sets no limit itself.
        prints: by what a target and sources of the user's own did when they were tried,
            they are known again; `prepare` finds them.
    """

    target: Any
    sources: SourceLibrary
    facts: dict[str, Any] = field(default_factory=dict)
    horizon: int = 1_000
    prints: Prints | None = None

    def __post_init__(self):
        if not isinstance(self.sources, SourceLibrary):
            object.__setattr__(self, "sources", SourceLibrary(self.sources))

    @property
    def domain(self) -> Domain:
        """The target of a prepared task, and how it is scored."""
        if isinstance(self.target, Domain):
            return self.target
        raise PolicymixError(
            "the task has not been prepared: its target was not looked at yet. "
            "Call task = policymix.prepare(task) first"
        )

    @property
    def is_own(self) -> bool:
        """Whether the target was brought by the user."""
        return known_domain(self.domain.name) is not self.domain

    @property
    def right_source(self) -> RightSource | None:
        """Which source is right in a state, if the domain knows it of these sources."""
        known = self.domain.right
        if known is None or not set(self.domain.family().sources) >= set(
            self.sources.names
        ):
            return None
        return known(self.sources.names)


def prepare(task: TransferTask | str | Path) -> TransferTask:
    """Look at the target, try every source on it, bring observations to like units.

    A few random steps of the target are played, and 512 that the sources lead if all of
    them speak another language than the target. What is wrong with a target or a source
    is said here. A task that was prepared before comes back as it is, and one that is
    given by its place is loaded.
    """
    task = load_task(task) if isinstance(task, str | Path) else task
    if not isinstance(task, TransferTask):
        raise PolicymixError(
            f"the task is {task!r:.40}: it must be a domain's name, a folder of "
            "sources, or policymix.TransferTask(target, sources)"
        )
    if isinstance(task.target, Domain) and task.sources.tried:
        return task
    domain = domain_of(task.target, task.horizon)
    sources = task.sources
    if sources.encoder is None and known_domain(domain.name) is domain:
        sources = replace(sources, encoder=domain.encoder)
    steps = first_steps(domain.target)
    probes = jnp.asarray(steps.obs)
    ready = prepare_sources(sources, domain.spec(), probes)
    prints = None
    if not set(sources.names) <= set(domain.family().sources):
        seen = digest(*steps) if repeats(domain.target, steps) else None
        prints = Prints(seen, behaviour(ready, probes))
    if sources.encoder is None and _speak_otherwise(ready):
        led = explore(replace(task, target=domain, sources=ready), LED_STEPS)
        ready = replace(ready, encoder=standardise(jnp.asarray(led.obs)))
    return replace(task, target=domain, sources=ready, prints=prints)


def _speak_otherwise(library: SourceLibrary) -> bool:
    """Whether no source predicts what the target observes, so that none has its units.

    They are then measured on the target, where its sources lead.
    """
    spec = library.experts.spec
    measurable = isinstance(spec.observation, Box) and isinstance(spec.action, Discrete)
    return measurable and all(is_foreign(each.dynamics) for each in library.sources)


def domain_of(target: Any, horizon: int) -> Domain:
    """A known domain, or one made around a target of the user's own.

    It is scored by its return, or by regret if that can be computed. Where observations
    and actions are numbers, tables are learned.
    """
    if isinstance(target, Domain):
        return target
    if isinstance(target, str) and target in domain_names():
        return find_domain(target)
    variant, name = own_variant(target, horizon)
    family, spec = Family(name, variant, {}), spec_of(variant, name)
    spaces = spec.observation, spec.action
    numbered = all(isinstance(space, Discrete) for space in spaces)
    domain = Domain(
        name, lambda: family, settings=TABLE_DEFAULTS if numbered else DEFAULTS
    )
    if not isinstance(variant, FiniteDomain):
        return domain
    return replace(domain, measure="regret per step", score=None, better="lower")


def load_task(place: str | Path) -> TransferTask:
    """A domain by name with its shipped sources, a library's folder, or your own code.

    Args:
        place: a domain's name; a folder that `SourceLibrary.save` wrote; a Python file
            that defines `task`, or `my_task.py:name`, or `module:name`. A function of
            that name is called for the task.
    """
    if str(place) not in domain_names() and is_own_code(str(place)):
        return own_task(str(place))
    if str(place) not in domain_names() and os.path.exists(place):
        library, facts = read_library_folder(Path(place))
        domain = find_domain(str(facts.get("domain")))
        return TransferTask(domain, fitting(domain, library, facts, place), facts)
    domain = find_domain(str(place))
    if domain.shipped is None:
        raise DomainError(
            f"{domain.name} comes without sources. Give the folder of a library, or "
            "TransferTask(domain, sources)"
        )
    if callable(domain.shipped):
        return TransferTask(domain, domain.shipped())
    with as_file(domain.shipped) as folder:
        library, facts = read_library_folder(folder)
    library = fitting(domain, library, facts, domain.name)
    if domain.alter is not None:
        library = domain.alter(library)
    return TransferTask(domain, library, facts)


def own_task(place: str) -> TransferTask:
    """The task that a user's own file or module defines."""
    task = own_value(place, "task")
    if isinstance(task, TransferTask):
        return task
    raise DomainError(
        f"{place} defines a {type(task).__name__}, no transfer task. Write "
        "task = policymix.TransferTask(target, sources) in it"
    )


def fitting(
    domain: Domain, library: SourceLibrary, facts: dict[str, Any], place: str | Path
) -> SourceLibrary:
    """The library, if it was made for the domain (or for the one it borrows from)."""
    found = facts.get("domain")
    if found != (domain.home or domain.name) or library.spec != domain.spec():
        raise DomainError(
            f"{place} holds sources for {found!r}, not for {domain.name!r}: their "
            "spaces differ. Give a library of the right domain"
        )
    return library


def explore(
    task: TransferTask, samples: int, seed: int = 0, epsilon: float = 0.3
) -> Sampled:
    """Transitions of the target, led by the sources in turn and often at random."""
    task = prepare(task)
    space = task.domain.spec().action
    policies = [policy_of(source.policy, space) for source in task.sources.sources]
    leader = taking_turns(policies, 40, seed)
    tasks = copies_of(task.domain.target, 16)
    return collect(tasks, leader, samples, seed, epsilon)
