"""Methods on a task, a folder for each: what is there is kept and extended.

All methods of a folder have the same trials, so that they can be compared.
"""

import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from policymix.core.errors import FileFormatError
from policymix.core.progress import Begin
from policymix.core.seeds import seeds_from
from policymix.experiments.plans import Experiment, Part
from policymix.experiments.runner import check_part, facts_of
from policymix.experiments.snapshots import (
    FORMAT,
    VERSION,
    Arrays,
    Look,
    look,
    read_snapshots,
    reference,
    snapshot_facts,
    stacked,
)
from policymix.experiments.visited import (
    Glance,
    Over,
    beliefs_seen,
    glance_times,
    trust_in,
    view_facts,
    visited_by,
)
from policymix.storage.folders import pack, replace_folder, write_folder
from policymix.storage.runs import FACTS, Curve, Row, files_of, read_facts, read_run
from policymix.training.run import Pause, TrainingRun, carry_out
from policymix.training.setup import build_setup

OF_TRIALS = ("trust", "right")
"""Arrays of snapshots whose second axis is that of trials."""


class Watched(NamedTuple):
    """A method's trials, and what was seen of its mixture, if it has one."""

    rows: list[Row]
    facts: dict[str, Any]
    arrays: Arrays


def trials_there(folder: Path) -> int:
    """Of one method; none where its folder is not there."""
    return read_facts(folder)["trials"] if folder.exists() else 0


def methods_there(out: Path) -> list[str]:
    """Methods that have a folder at a place."""
    found = sorted(out.glob(f"*/{FACTS}")) if out.is_dir() else []
    return [p.parent.name for p in found if not p.parent.name.startswith(".")]


def unfinished(experiment: Experiment, out: Path) -> list[Part]:
    """Parts that lack trials; what is there must be a beginning of the plan."""
    lacking = []
    for part in experiment.parts:
        folder, found = out / part.name, trials_there(out / part.name)
        check_part(experiment._replace(trials=found or 1), part, folder)
        if found > experiment.trials:
            problem = f"{found} already, more than {experiment.trials}"
            remedy = "Ask for as many, or choose another folder"
            raise FileFormatError(folder / FACTS, "trials", problem, remedy)
        if found < experiment.trials:
            lacking.append(part)
    return lacking


def extend(
    experiment: Experiment, part: Part, out: Path, begin: Begin, over: Over = None
) -> None:
    """Run the trials that a method lacks, and write its folder, whole or not at all.

    Args:
        experiment: with all trials that the method shall have.
        part: the method.
        out: a folder in which it has its own, perhaps with some trials already.
        begin: reports on the progress.
        over: by which numbers of an observation an own task's mixture is drawn.
    """
    started, folder = time.perf_counter(), out / part.name
    found = trials_there(folder)
    old = watched_before(folder, part.method) if found else None
    rest = experiment._replace(
        seed=experiment.seed + found, trials=experiment.trials - found
    )
    new = watch(rest, part, begin, over, old)
    seconds = time.perf_counter() - started
    if old is not None:
        seconds += sum(read_facts(folder)["wall_seconds"].values())
        new = joined(old, new, found)
    facts = facts_of(experiment, part) | {"status": "finished"}
    facts |= {"wall_seconds": {part.method: seconds}, "own": experiment.task.is_own}
    files = files_of(facts, new.rows)
    if new.arrays:
        files |= pack(FORMAT, VERSION, new.facts, new.arrays)
    (replace_folder if found else write_folder)(folder, files)


def watched_before(folder: Path, method: str) -> Watched:
    """What a folder has of a method."""
    kept = read_run(folder)
    rows = rows_of(kept.facts["domain"], kept.curves[method])
    return Watched(rows, *(read_snapshots(folder) if kept.has_snapshots else ({}, {})))


def watch(
    experiment: Experiment, part: Part, begin: Begin, over: Over, old: Watched | None
) -> Watched:
    """Train a method's trials and look at their mixtures on the way."""
    task, settings = experiment.task, experiment.settings_of(part)
    setup = build_setup(task, part.method, settings)
    mapped = task.domain.study.view is not None
    stops = experiment.looks(part) if mapped else glance_times(settings)
    run = TrainingRun(
        task,
        part.method,
        setup,
        settings,
        seeds_from(experiment.seed, experiment.trials),
        stops if setup.method.contextual else (),
    )
    looks: list[Look] = []
    glances: list[Glance] = []
    known = reference(task) if mapped else None

    def at_pause(pause: Pause) -> None:
        if mapped and pause.step in run.stops:
            looks.append(look(task, known, pause.step, run.agents()))
        elif run.stops and (pause.step in run.stops or pause.step == settings.steps):
            beliefs = tuple(agent.belief for agent in run.agents())
            glances.append(Glance(pause.step, beliefs))

    rows = carry_out(run, begin, experiment.title(part), at_pause)
    if looks:
        arrays = stacked(looks)
        return Watched(
            rows, snapshot_facts(task, [x.step for x in looks], arrays), arrays
        )
    if not glances:
        return Watched(rows, {}, {})
    if old is not None:
        return Watched(rows, {}, {"trust": trust_in(glances, old.arrays["visited"])})
    space = task.domain.spec().observation
    arrays = beliefs_seen(glances, space, visited_by(run))
    facts = snapshot_facts(task, [x.step for x in glances], arrays)
    return Watched(rows, facts | {"view": view_facts(space, arrays, over)}, arrays)


def joined(old: Watched, new: Watched, found: int) -> Watched:
    """Trials that were there, then those that came later; maps are of the first."""
    later = [row._replace(trial=row.trial + found) for row in new.rows]
    rows = sorted([*old.rows, *later], key=lambda row: (row.step, row.trial))
    longer = {
        name: np.concatenate([old.arrays[name], new.arrays[name]], axis=1)
        for name in OF_TRIALS
        if name in old.arrays
    }
    return Watched(rows, old.facts, old.arrays | longer)


def rows_of(domain: str, curve: Curve) -> list[Row]:
    """A curve's rows, test by test."""
    columns = (curve.scores, curve.alone, curve.training)
    return [
        Row(
            domain,
            curve.method,
            trial,
            seed,
            step,
            *(float(x[at, trial]) for x in columns),
        )
        for at, step in enumerate(curve.steps.tolist())
        for trial, seed in enumerate(curve.seeds)
    ]
