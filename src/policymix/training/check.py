"""Is a transfer task sound? Each finding says what is wrong and how to mend it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np

from policymix.core.errors import PolicymixError
from policymix.environments.copies import Variant, copies_of
from policymix.environments.domain import spec_of
from policymix.environments.episodes import collect
from policymix.sources.checks import check_source
from policymix.sources.experts import SourceTask
from policymix.sources.policies import policy_of
from policymix.training.source_library import probe_errors
from policymix.training.task import TransferTask, prepare

TRIED_STEPS = 512
CHECK_SEED = 7_000_000


@dataclass(frozen=True)
class Finding:
    """One question that was asked of a task, and the answer."""

    question: str
    sound: bool
    detail: str = ""
    remedy: str = ""


def check_task(task: TransferTask) -> list[Finding]:
    """Ask everything; a task is sound when every finding is."""
    task = prepare(task)
    return [*_check_spaces(task), *_check_sources(task), *_check_seeds(task)]


def _check_spaces(task: TransferTask) -> Iterator[Finding]:
    family = task.domain.family()
    target = spec_of(family.target)
    for name, variant in family.sources.items():
        own = spec_of(variant)
        yield Finding(
            f"{name}: spaces of its task equal the target's",
            own == target,
            f"{own} instead of {target}" if own != target else "",
            "Give every source the observations and actions of the target",
        )
    yield Finding(
        "library: spaces equal the target's",
        task.sources.spec == target,
        f"{task.sources.spec} instead of {target}",
        "Train the library again for this domain",
    )
    if task.is_own:
        return
    yield Finding(
        "library: one source for every source task",
        set(task.sources.names) <= set(family.sources),
        f"{task.sources.names} against {tuple(family.sources)}",
        "Name each source after its task",
    )


def _check_sources(task: TransferTask) -> Iterator[Finding]:
    target = task.domain.family().target
    for source in task.sources.sources:
        yield _attempt(
            f"{source.name}: legal actions and finite outputs on the target",
            lambda source=source: _try_source(task, source, target),
            "Mend the policy or the model that is named",
        )
        if source.name in task.domain.family().sources:
            yield _check_dynamics(task, source)


def _try_source(task: TransferTask, source: SourceTask, target: Variant) -> None:
    """Judge the source where it leads, and where random actions lead."""
    for epsilon in (0.0, 1.0):
        data = collect(
            copies_of(target, 16),
            policy_of(source.policy, task.sources.experts.spec.action),
            TRIED_STEPS,
            CHECK_SEED,
            epsilon,
        )
        check_source(source, task.sources.experts, jnp.asarray(data.obs))


def _check_dynamics(task: TransferTask, source: SourceTask) -> Finding:
    variant = task.domain.family().variant(source.name)
    policy = policy_of(source.policy, task.sources.experts.spec.action)
    error, still = probe_errors(task.domain, source, variant, policy)
    return Finding(
        f"{source.name}: dynamics better than 'nothing changes' on its own task",
        error < still,
        f"error {error:.2g} against {still:.2g}",
        "Fit the model longer, on more data, or on data of its own policy",
    )


def _check_seeds(task: TransferTask) -> Iterator[Finding]:
    family = task.domain.family()
    policy = policy_of(task.sources.sources[0].policy, task.sources.experts.spec.action)
    for name, variant in {"target": family.target, **family.sources}.items():
        runs = [
            collect(copies_of(variant, 4), policy, TRIED_STEPS, CHECK_SEED)
            for _ in range(2)
        ]
        yield Finding(
            f"{name}: the same seed gives the same episodes",
            all(np.array_equal(a, b) for a, b in zip(*runs, strict=True)),
            remedy="Draw every random number from the environment's own generator",
        )


def _attempt(question: str, action: Callable[[], None], remedy: str) -> Finding:
    try:
        action()
    except PolicymixError as error:
        return Finding(question, False, str(error), remedy)
    return Finding(question, True)
