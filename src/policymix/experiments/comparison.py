"""Methods on a task, a folder for each: what is there is kept and extended.

All methods of a folder have the same trials, so that they can be compared.
"""

import time
from pathlib import Path

from policymix.beliefs.telling import Over
from policymix.core.errors import FileFormatError
from policymix.core.progress import Begin
from policymix.core.seeds import seeds_from
from policymix.experiments.plans import Experiment, Part
from policymix.experiments.runner import check_part, facts_of
from policymix.experiments.snapshots import read_snapshots, reference, snapshot_facts
from policymix.experiments.visited import (
    Glance,
    beliefs_seen,
    glance_times,
    trust_in,
    view_facts,
    visited_by,
)
from policymix.experiments.watched import Piece, joined, watch_part
from policymix.storage.folders import replace_folder, write_folder
from policymix.storage.runs import FACTS, Curve, Row, files_of, read_facts, read_run
from policymix.training.run import Pause, TrainingRun, carry_out
from policymix.training.setup import build_setup


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
        new = joined([old, new])
    facts = facts_of(experiment, part) | {"status": "finished"}
    facts |= {"wall_seconds": {part.method: seconds}, "own": experiment.task.is_own}
    files = files_of(facts, new.rows) | new.files()
    (replace_folder if found else write_folder)(folder, files)


def watched_before(folder: Path, method: str) -> Piece:
    """What a folder has of a method."""
    kept = read_run(folder)
    rows = rows_of(kept.facts["domain"], kept.curves[method])
    return Piece(rows, *(read_snapshots(folder) if kept.has_snapshots else ({}, {})))


def watch(
    experiment: Experiment, part: Part, begin: Begin, over: Over, old: Piece | None
) -> Piece:
    """Train a method's trials and look at their mixtures on the way."""
    task, settings = experiment.task, experiment.settings_of(part)
    if task.domain.study.view is not None:
        return watch_part(experiment, part, reference(task), begin)
    setup = build_setup(task, part.method, settings)
    run = TrainingRun(
        task,
        part.method,
        setup,
        settings,
        seeds_from(experiment.seed, experiment.trials),
        glance_times(settings) if setup.method.contextual else (),
    )
    glances: list[Glance] = []

    def at_pause(pause: Pause) -> None:
        if run.stops and (pause.step in run.stops or pause.step == settings.steps):
            beliefs = tuple(agent.belief for agent in run.agents())
            glances.append(Glance(pause.step, beliefs))

    rows = carry_out(run, begin, experiment.title(part), at_pause)
    if not glances:
        return Piece(rows, {}, {})
    if old is not None:
        return Piece(rows, {}, {"trust": trust_in(glances, old.arrays["visited"])})
    space = task.domain.spec().observation
    arrays = beliefs_seen(glances, space, visited_by(run))
    facts = snapshot_facts(task, [x.step for x in glances], arrays)
    return Piece(rows, facts | {"view": view_facts(space, arrays, over)}, arrays)


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
