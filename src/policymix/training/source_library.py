"""A domain's sources, with scores and facts of each: trained in turn or elsewhere."""

import platform
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from policymix.core.errors import DomainError
from policymix.core.executor import Executor, at_work, until_done, waiting
from policymix.core.progress import Begin, silent
from policymix.core.seeds import check_seed
from policymix.core.types import Discrete
from policymix.environments.copies import Policy, copies_of
from policymix.environments.domain import Domain, score_of
from policymix.environments.episodes import collect
from policymix.environments.own_code import run_again, was_run
from policymix.environments.registry import find_domain, load
from policymix.sources.dynamics import LogDensity
from policymix.sources.experts import SourceTask
from policymix.sources.fitting.data import Transitions
from policymix.sources.fitting.fit import errors
from policymix.sources.library import SourceLibrary
from policymix.sources.policies import policy_of

EPISODES = 100
PROBED_STEPS = 4_096
OWN_SEED, TARGET_SEED, PROBE_SEED = 4_000_000, 5_000_000, 6_000_000
"""Seeds for judging finished sources; training and its checkpoints use others."""


def source_facts(
    domain: Domain, source: SourceTask, samples: int, episodes: int = EPISODES
) -> dict[str, Any]:
    """A policy's scores and a model's errors, at home and on the target."""
    family = domain.family()
    policy = policy_of(source.policy, domain.spec().action)
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
    data = collect(copies_of(variant, 16), policy, PROBED_STEPS, PROBE_SEED)
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


def origin_of(
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


def trained_source(
    domain_name: str, name: str, seed: int, begin: Begin = silent
) -> tuple[SourceTask, dict[str, Any]]:
    """Train one source of a domain, and judge it."""
    domain = find_domain(domain_name)
    assert domain.trainer is not None
    train: Callable[..., Any] = load(domain.trainer)
    source, samples = train(name, domain.family().variant(name), seed, begin)
    advance = begin(f"{name}: scores", 1, "own score")
    facts = source_facts(domain, source, samples)
    advance(1, facts["own_score"])
    return source, facts


def train_there(
    domain_name: str, name: str, seed: int, loaded: tuple[str, ...]
) -> tuple[SourceTask, dict[str, Any]]:
    """The same, by a worker."""
    with at_work():
        run_again(loaded, domain_name)
        return trained_source(domain_name, name, seed)


def train_all_on(
    executor: Executor, domain_name: str, seeds: dict[str, int], begin: Begin
) -> list[tuple[SourceTask, dict[str, Any]]]:
    """Each source by a worker; the bar counts those that are there."""
    advance = begin("sources", len(seeds), "own score")

    def trained(name: str) -> tuple[SourceTask, dict[str, Any]]:
        work = (train_there, domain_name, name, seeds[name], was_run())
        source, facts = until_done(executor, f"source {name}", *work)
        advance(1, facts["own_score"])
        return source, facts

    with waiting(executor) as threads:
        return list(threads.map(trained, seeds))


def train_library(
    domain_name: str,
    seed: int = 0,
    begin: Begin = silent,
    executor: Executor | None = None,
) -> tuple[SourceLibrary, dict[str, Any]]:
    """Train every source of a domain.

    Args:
        domain_name: of a domain that has sources of its own.
        seed: source i is trained with seed + i.
        begin: reports on the parts of the work.
        executor: trains each source elsewhere; None trains one after the other here.

    Returns:
        The library, and the facts to save with it.
    """
    domain = find_domain(domain_name)
    if domain.home is not None:
        raise DomainError(
            f"{domain.name} uses the sources of {domain.home}. Train those: "
            f"policymix sources train {domain.home}"
        )
    if domain.trainer is None:
        raise DomainError(
            f"{domain.name} does not say how its sources are trained. Give its Domain "
            'a trainer="module:function"'
        )
    names = domain.family().sources
    check_seed(seed, len(names))
    seeds = {name: seed + offset for offset, name in enumerate(names)}
    if executor is None:
        made = [trained_source(domain.name, name, seeds[name], begin) for name in names]
    else:
        made = train_all_on(executor, domain.name, seeds, begin)
    facts = {source.name: told for source, told in made}
    command = f"policymix sources train {domain.name} --seed {seed} --out DIR"
    record = origin_of(domain, command, seed, facts)
    library = SourceLibrary([source for source, _ in made], encoder=domain.encoder)
    return library.for_target(domain.spec()), record
