"""Tests in another environment than the one that is learned in."""

from dataclasses import replace
from typing import Any

import jax.numpy as jnp
import numpy as np

from policymix.core.errors import DomainError
from policymix.core.seeds import words_of
from policymix.core.types import Space
from policymix.environments.copies import copies_of
from policymix.environments.domain import Domain
from policymix.environments.episodes import tally
from policymix.environments.finite import FiniteDomain
from policymix.training.lockstep import (
    TESTS,
    keys_for_tests,
    keys_of,
    seeds_for_tests,
)
from policymix.training.loop import Loop, Tests, until_enough
from policymix.training.task import TransferTask, domain_of


def examined(task: TransferTask, place: Any) -> Domain:
    """The task's domain, with another target to be tested in.

    Args:
        task: prepared; its measure stays.
        place: a Gymnasium environment, its id, a function that makes one, a domain
            written in JAX or the name of one, with the spaces of the task's target.
    """
    domain, other = task.domain, domain_of(place, task.horizon)
    ours, theirs = task.sources.experts.spec, other.spec()
    for what in ("observation", "action"):
        if _size(getattr(ours, what)) != _size(getattr(theirs, what)):
            raise DomainError(
                f"evaluate_on={other.name}: its {what}s are {getattr(theirs, what)}, "
                f"those of {domain.name} {getattr(ours, what)}. Give an environment "
                "with the same spaces"
            )
    if domain.score is None and not isinstance(other.target, FiniteDomain):
        raise DomainError(
            f"evaluate_on={other.name}: {domain.name} is scored by regret, which can "
            "be computed only where all transitions are known. Give a FiniteDomain"
        )
    family = replace(domain.family(), target=other.target)
    return replace(domain, family=lambda: family)


def _size(space: Space) -> Any:
    """All that an agent must know of a space; bounds may differ."""
    return type(space), space.shape, getattr(space, "n", None)


class Elsewhere:
    """Plays tests as a loop does, each trial from starts of its own.

    Args:
        domain: whose target is played.
        loop: of the trials.
        seeds: of the trials.
        episodes: that are played at a time.
    """

    def __init__(self, domain: Domain, loop: Loop, seeds: np.ndarray, episodes: int):
        self._loop, self._shape = loop, (len(seeds), episodes)
        self._keys = keys_of(jnp.asarray(words_of(seeds)), TESTS)
        self._tasks = copies_of(domain.target, len(seeds) * episodes)

    def evaluate(self, episodes: int, alone: bool = False) -> Tests:
        """Lengths and returns of so many test episodes, one row for each trial."""
        return until_enough(lambda first: self._round(first, alone), episodes)

    def _round(self, first: int, alone: bool) -> Tests:
        shape = self._shape

        def policy(obs: np.ndarray) -> np.ndarray:
            rows = obs.reshape(*shape, *obs.shape[1:])
            return np.concatenate(self._loop.act(rows, alone))

        step = jnp.asarray(self._loop.steps)
        keys = keys_for_tests(self._keys, step, first, shape[1])
        lengths, totals = tally(self._tasks, seeds_for_tests(keys), policy)
        return lengths.reshape(shape), totals.reshape(shape)
