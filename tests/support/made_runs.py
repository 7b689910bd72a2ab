"""Folders of runs as the runner writes them, their rows made up instead of trained."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np

from policymix.core.kernels import Indicator
from policymix.core.settings import Settings
from policymix.domains.cartpole.experiment import ANGLE, POSITION
from policymix.environments.registry import find_domain, known_domain
from policymix.experiments.facts import describe
from policymix.experiments.snapshots import (
    EPISODES,
    POINTS,
    Look,
    percent,
)
from policymix.experiments.watched import with_looks
from policymix.reports.results import Results, Seen, put_together
from policymix.sources.dynamics import TableDynamics
from policymix.sources.experts import SourceTask
from policymix.sources.library import SourceLibrary
from policymix.sources.policies import table_policy
from policymix.storage.folders import canonical, write_folder
from policymix.storage.runs import FACTS, Curve, Row, Run, read_facts
from policymix.storage.runs import files_of as run_files
from policymix.training.task import TransferTask

from support.known import PAPER

SOURCES = {
    "maze": ("upper-left", "lower-left", "lower-right", "upper-right"),
    "cartpole": ("rough", "slippery", "long-pole"),
    "lander": ("hover", "land", "low-mass"),
}
"""Those of the shipped libraries."""
EVERY = 1_000
"""Samples between tests, unless times are given."""
Sweep = tuple[str, float]


def spread(level: float, trials: int = 10, width: float = 1.0, tests: int = 5):
    """Flat curves, evenly spread around a level: their mean is the level."""
    return np.tile(level + width * np.linspace(-1, 1, trials), (tests, 1))


def toward(scores: np.ndarray, start: float) -> np.ndarray:
    """The same curves, all of them from another first test."""
    return np.vstack([np.full_like(scores[:1], start), scores[1:]])


def task_of(domain: str, names: Sequence[str] = ()) -> TransferTask:
    """A domain with sources in name only: a state, an action and nothing to learn."""
    known = names or SOURCES.get(domain, ("one", "two"))
    place = known_domain(domain) or replace(find_domain("cartpole"), name=domain)
    policy = table_policy(jnp.zeros(1, int), 1)
    dynamics = TableDynamics(jnp.zeros((1, 1), int))
    sources = [SourceTask(name, policy, dynamics, Indicator()) for name in known]
    facts = {"sources": {name: {"samples": 60_000} for name in known}}
    return TransferTask(place, SourceLibrary(sources), facts)


def run_of(
    domain: str,
    curves: Mapping[str, np.ndarray],
    *,
    alone: Mapping[str, np.ndarray] | None = None,
    folder: Path = Path("made"),
    times: Sequence[int] = (),
    seed: int = 0,
    names: Sequence[str] = (),
    sweep: Sweep | None = None,
    settings: Mapping[str, Any] | None = None,
    **facts: Any,
) -> Run:
    """A run in memory.

    Args:
        domain: one of the three, or one of your own.
        curves: method → scores [tests, trials].
        alone: the same without the sources; by default as good as with them.
        folder: where it is said to be.
        times: of the tests; every thousand samples by default.
        seed: of the first trial.
        names: of the sources, where they are not the domain's.
        sweep: a setting and its value, for a piece of a sweep.
        settings: what differs from the paper's.
        **facts: what differs from a finished run.
    """
    tests, trials = next(iter(curves.values())).shape
    steps = np.array(times or range(0, EVERY * tests, EVERY))
    usual = PAPER.get(domain, Settings())
    every = int(steps[1] - steps[0]) if len(steps) > 1 else int(steps[0])
    changes = {"steps": int(steps[-1]), "evaluate_every": every, **(settings or {})}
    if sweep:
        changes[sweep[0]] = sweep[1]
    task, chosen = task_of(domain, names), replace(usual, **changes)
    known = describe(task, list(curves), chosen, seed, trials)
    known["wall_seconds"] = dict.fromkeys(curves, 30.0)
    swept = {"setting": sweep[0], "value": sweep[1]} if sweep else None
    known |= {"status": "finished", "sweep": swept} | facts
    seeds = tuple(range(seed, seed + trials))
    unaided = {**curves, **(alone or {})}
    made = {
        name: Curve(name, steps[: len(scores)], scores, unaided[name], seeds)
        for name, scores in curves.items()
    }
    return Run(folder, known, made)


def write_run(
    folder: Path,
    domain: str,
    curves: Mapping[str, np.ndarray],
    looks: Sequence[Look] = (),
    **made: Any,
) -> Path:
    """A run's folder, with snapshots if there are looks; see `run_of`."""
    run = run_of(domain, curves, folder=folder, **made)
    rows = [
        Row(domain, name, trial, seed, int(step), float(score), float(alone))
        for name, curve in run.curves.items()
        for trial, seed in enumerate(curve.seeds)
        for step, score, alone in zip(
            curve.steps, curve.scores[:, trial], curve.alone[:, trial], strict=True
        )
    ]
    task = task_of(domain, made.get("names", ()))
    seen = with_looks(task, rows, looks)
    write_folder(folder, run_files(run.facts, rows) | seen.files())
    return folder


def write_domain(
    place: Path, domain: str, curves: Mapping[str, np.ndarray], **made: Any
) -> Path:
    """A folder for each method, as the runner leaves them; looks go to mars."""
    looks = made.pop("looks", ())
    for name, scores in curves.items():
        seen = looks if name == "mars" else ()
        write_run(place / domain / name, domain, {name: scores}, seen, **made)
    return place


def change(folder: Path, **facts: Any) -> Path:
    """Write other facts into a run's folder."""
    (folder / FACTS).write_bytes(canonical(read_facts(folder) | facts))
    return folder / FACTS


def results_of(
    domain: str,
    curves: Mapping[str, np.ndarray],
    seen: Mapping[str, Seen] | None = None,
    **made: Any,
) -> Results:
    """What `read_results` makes of such a run; see `run_of`."""
    results = put_together(domain, [run_of(domain, curves, **made)])
    return replace(results, seen=dict(seen or {}))


def look_of(
    domain: str, step: int, right: Sequence[float] | np.ndarray = (0.5, 0.7)
) -> Look:
    """A made-up look at a mixture: weights at random, and the share that is right."""
    rng = np.random.default_rng([len(domain), step])
    ones = np.ones(len(SOURCES[domain]))
    arrays: dict[str, np.ndarray] = {"right": np.array(right)}
    if domain == "lander":
        falling = np.linspace([0.0, 1.4], [0.3, 0.0], POINTS)
        drift = rng.normal(scale=0.1, size=(EPISODES, 1, 2))
        arrays["places"] = (falling + drift).astype(np.float32)
        arrays["scores"] = rng.normal(scale=100.0, size=EPISODES)
    shapes = {
        "maze": (29 * 29,),
        "cartpole": (len(ANGLE.values), len(POSITION.values)),
        "lander": (EPISODES, POINTS),
    }
    arrays["weights"] = percent(rng.dirichlet(ones, size=shapes[domain]))
    return Look(step, arrays)


def seen_of(domain: str, looks: Sequence[Look]) -> Seen:
    """Looks as they are read back."""
    arrays = {
        name: np.stack([look.arrays[name] for look in looks])
        for name in looks[0].arrays
    }
    return Seen(tuple(look.step for look in looks), SOURCES[domain], arrays)
