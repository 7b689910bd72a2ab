"""What the libraries of all domains have in common: scores and facts of a source."""

import platform
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from policymix.core.types import Discrete
from policymix.environments.copies import Policy, copies_of
from policymix.environments.episodes import collect, policy_of
from policymix.sources.dynamics import LogDensity
from policymix.sources.experts import SourceTask
from policymix.sources.fitting.fit import Transitions, errors
from policymix.sources.library import SourceLibrary
from policymix.training.task import Domain, score_of

EPISODES = 100
PROBES = 4_096
OWN_SEED, TARGET_SEED, PROBE_SEED = 4_000_000, 5_000_000, 6_000_000
"""Seeds for judging finished sources; training and its checkpoints use others."""


def source_facts(
    domain: Domain, source: SourceTask, samples: int, episodes: int = EPISODES
) -> dict[str, Any]:
    """A policy's scores and a model's errors, at home and on the target."""
    family, policy = domain.family(), policy_of(source)
    own, target = family.variant(source.name), family.target
    own_error, own_still = probe_errors(domain, source, own, policy)
    target_error, target_still = probe_errors(domain, source, target, policy)
    return {
        "own_score": score_of(domain, own, policy, episodes, OWN_SEED),
        "zero_shot": score_of(domain, target, policy, episodes, TARGET_SEED),
        "own_error": own_error,
        "own_still": own_still,
        "target_error": target_error,
        "target_still": target_still,
        "samples": samples,
    }


def probe_errors(
    domain: Domain, source: SourceTask, variant: Any, policy: Policy
) -> tuple[float, float]:
    """Error of a model, and of "nothing changes", on fresh transitions of a task.

    Squared and summed over components; for tables the share of wrong predictions; for
    densities −log P̂ in nats, and that of a guess among all states.
    """
    data = collect(copies_of(variant, 16), policy, PROBES, PROBE_SEED)
    model: Callable = source.dynamics
    space = domain.spec().observation
    if isinstance(space, Discrete) and isinstance(model, LogDensity):
        nats = -np.asarray(jax.vmap(model)(*map(jnp.asarray, data)))
        return float(nats.mean()), float(np.log(space.n))
    if isinstance(space, Discrete):
        predicted = np.asarray(jax.vmap(model)(data.obs, data.action))
        wrong, moved = predicted != data.next_obs, data.obs != data.next_obs
        return float(wrong.mean()), float(moved.mean())
    return errors(model, Transitions(*map(jnp.asarray, data)), domain.encoder)


def library_record(
    domain: Domain, command: str, seed: int, sources: dict[str, dict[str, Any]]
) -> dict[str, Any]:
    """The facts that are saved with a library."""
    packages = ("policymix", "jax", "gymnasium", "numpy")
    return {
        "domain": domain.name,
        "measure": domain.measure,
        "command": command,
        "seed": seed,
        "versions": {
            "python": platform.python_version(),
            **{package: version(package) for package in packages},
        },
        "sources": sources,
    }


def make_library(domain: Domain, sources: list[SourceTask]) -> SourceLibrary:
    """The sources in the domain's order, checked against its target."""
    return SourceLibrary(sources, domain.spec(), domain.encoder)
