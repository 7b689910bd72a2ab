"""A run's folder: what was run, and one row for every evaluation of every trial."""

import platform
import time
from collections.abc import Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jax

from policymix.core.errors import PolicymixError
from policymix.core.progress import Begin
from policymix.core.settings import Settings
from policymix.methods.recipes import find_recipe
from policymix.sources.library import fingerprint
from policymix.storage.folders import canonical, check_new, write_file
from policymix.training.task import TransferTask
from policymix.training.train import Row, TrainingRun, TrialError, mean_of

FORMAT, VERSION = "policymix run", 1
FACTS, ROWS = "run.json", "evaluations.csv"
HEADER = ",".join(Row._fields)
PACKAGES = ("policymix", "jax", "jaxlib", "equinox", "optax", "numpy", "gymnasium")


def run(
    task: TransferTask,
    methods: Sequence[str],
    settings: Settings,
    seed: int,
    trials: int,
    out: Path,
    begin: Begin,
) -> list[Row]:
    """Train every method and write the run's folder as it goes.

    What one method has reached stays in the folder, whatever happens to the next.

    Args:
        task: a target and its sources.
        methods: their names, each once.
        settings: shared by all.
        seed: trial t has seed + t.
        trials: of every method.
        out: a folder that does not exist yet, or is empty.
        begin: reports on the progress.
    """
    for name in methods:
        find_recipe(name, len(task.sources))
    if len(set(methods)) < len(methods):
        raise PolicymixError(f"a method is named twice in {', '.join(methods)}")
    check_new(out)
    facts = describe(task, methods, settings, seed, trials)
    rows: list[Row] = []
    try:
        for name in methods:
            started = time.perf_counter()
            advance = begin(name, settings.steps * trials, "score")
            work = TrainingRun.of(task, name, None, seed, trials, settings)
            for moment in work.run():
                rows += moment.rows
                advance(moment.taken, mean_of(moment.rows))
            facts["wall_seconds"][name] = time.perf_counter() - started
            write(out, facts, rows)
    except TrialError as error:
        rows += error.rows
        write(out, {**facts, "status": f"stopped: {error}"}, rows)
        raise
    except KeyboardInterrupt:
        write(out, {**facts, "status": "interrupted"}, rows)
        raise
    write(out, {**facts, "status": "finished"}, rows)
    return rows


def describe(
    task: TransferTask,
    methods: Sequence[str],
    settings: Settings,
    seed: int,
    trials: int,
) -> dict[str, Any]:
    """All that a reader needs to know in order to run it again."""
    device, sources = jax.devices()[0], task.sources.sources
    origins = task.facts.get("sources", {})
    return {
        "format": FORMAT,
        "version": VERSION,
        "status": "running",
        "domain": task.domain.name,
        "measure": task.domain.measure,
        "better": task.domain.better,
        "methods": list(methods),
        "seed": seed,
        "trials": trials,
        "settings": asdict(settings),
        "sources": {source.name: fingerprint(source) for source in sources},
        "source_samples": {name: origins[name]["samples"] for name in origins},
        "versions": {
            "python": platform.python_version(),
            **{package: version(package) for package in PACKAGES},
        },
        "devices": f"{len(jax.devices())} × {device.device_kind}",
        "wall_seconds": {},
    }


def files_of(facts: dict[str, Any], rows: Sequence[Row]) -> dict[str, bytes]:
    """The contents of both files."""
    lines = [HEADER, *(",".join(str(value) for value in row) for row in rows)]
    return {ROWS: ("\n".join(lines) + "\n").encode(), FACTS: canonical(facts)}


def write(out: Path, facts: dict[str, Any], rows: Sequence[Row]) -> None:
    """Both files, each whole."""
    for name, content in files_of(facts, rows).items():
        write_file(out / name, content)
