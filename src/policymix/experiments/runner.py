"""Train what was asked for, and keep it: nothing finished is lost nor repeated."""

import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from policymix.core.errors import PolicymixError
from policymix.core.progress import Begin
from policymix.core.seeds import seeds_from
from policymix.core.settings import Settings
from policymix.experiments.facts import check_facts_alike, describe
from policymix.experiments.plans import Experiment, Part
from policymix.experiments.snapshots import Reference, reference
from policymix.experiments.watched import Piece, rows_of, watch_part
from policymix.storage.folders import remove_folder, write_folder
from policymix.storage.places import GOING_ON, check_unused
from policymix.storage.runs import FACTS, Row, files_of, read_run, write_run
from policymix.training.checkpoint import Checkpoint, too_large
from policymix.training.loop import lanes_of
from policymix.training.run import Pause, TrainingRun, TrialError, carry_out
from policymix.training.setup import build_setup
from policymix.training.task import TransferTask

PLANNED = (
    "domain",
    "methods",
    "seed",
    "trials",
    "settings",
    "target",
    "sources",
    "sweep",
    "status",
)
"""Facts in which a finished part must agree with the plan."""
Looking: TypeAlias = Literal["study", "visited", "never"]
"""When and where a mixture is looked at: as the domain's study says, in states that
training has visited, or not at all."""


def run_methods(
    task: TransferTask,
    methods: Sequence[str],
    settings: Settings,
    seed: int,
    trials: int,
    out: Path,
    begin: Begin,
) -> list[Row]:
    """Train every method and write the run's folder as it goes.

    Rows are written at every evaluation. Whatever ends it, the same call goes on from
    the last one, and ends with the same rows.

    Args:
        task: prepared.
        methods: their names, each once.
        settings: shared by all.
        seed: trial t has seed + t.
        trials: of every method.
        out: a folder that does not exist yet, is empty, or was begun by the same call.
        begin: reports on the progress.
    """
    setups = {name: build_setup(task, name, settings) for name in methods}
    seeds = seeds_from(seed, trials)
    facts, found = begun_run(task, methods, settings, seed, trials, out)
    kept = finished(found, settings)
    rows: list[Row] = []
    try:
        for name, setup in setups.items():
            if name in kept:
                rows += kept[name]
                continue
            started = time.perf_counter()
            lanes = lanes_of(trials)
            run = TrainingRun(
                task, name, setup, settings, seeds, lanes=lanes, recorded=True
            )
            run_kept(run, begin, out, facts, rows)
            facts["wall_seconds"][name] = time.perf_counter() - started
            write_run(out, facts, rows)
    except TrialError as error:
        reached = rows + [row for row in error.rows if row not in rows]
        write_run(out, {**facts, "status": f"stopped: {error}"}, reached)
        raise
    except KeyboardInterrupt:
        # It may be stopped before it has come to where it was.
        reached = furthest(methods, rows, found)
        write_run(out, {**facts, "status": "interrupted"}, reached)
        raise
    finish_run(out, facts, rows)
    return rows


def begun_run(
    task: TransferTask,
    methods: Sequence[str],
    settings: Settings,
    seed: int,
    trials: int,
    out: Path,
) -> tuple[dict[str, Any], dict[str, list[Row]]]:
    """The facts of a run, and the rows that its methods have already."""
    if len(set(methods)) < len(methods):
        raise PolicymixError(f"a method is named twice in {', '.join(methods)}")
    facts = describe(task, methods, settings, seed, trials)
    check_begun(out, facts)
    if not (out / FACTS).exists():
        return facts, {}
    run = read_run(out)
    found = {name: rows_of(facts["domain"], run.curves[name]) for name in run.curves}
    took, kept = run.facts["wall_seconds"], finished(found, settings)
    facts["wall_seconds"] = {name: took[name] for name in kept if name in took}
    return facts, found


def finished(found: dict[str, list[Row]], settings: Settings) -> dict[str, list[Row]]:
    """The rows of the methods that need not be run any more."""
    return {n: rows for n, rows in found.items() if rows[-1].step == settings.steps}


def furthest(
    methods: Sequence[str], rows: Sequence[Row], found: dict[str, list[Row]]
) -> list[Row]:
    """Of every method the rows of now or those of before, whichever are more."""
    mine = {name: [row for row in rows if row.method == name] for name in methods}
    both = ((mine[name], found.get(name, [])) for name in methods)
    return [row for pair in both for row in max(pair, key=len)]


def finish_run(out: Path, facts: dict[str, Any], rows: Sequence[Row]) -> None:
    """The last word on a run: it cannot be gone on with any more."""
    write_run(out, {**facts, "status": "finished"}, rows)
    remove_folder(out / GOING_ON)


def check_begun(out: Path, facts: dict[str, Any]) -> None:
    """The folder is new, or what it holds is this very run, not yet finished."""
    if not (out / GOING_ON).is_dir():
        check_unused(out)
    elif (out / FACTS).exists():
        check_facts_alike(out, facts, PLANNED[:-2])


def run_kept(
    run: TrainingRun, begin: Begin, out: Path, facts: dict[str, Any], rows: list[Row]
) -> None:
    """One method from where it was; its rows are added, on disk at every evaluation.

    Where its state is too large to be kept, it begins anew whenever it was stopped.
    """
    place, before = out / GOING_ON / run.name.replace("/", "-"), len(rows)
    told = too_large(run)
    kept = None if told else Checkpoint(place, run)
    if kept is None:
        place.parent.mkdir(parents=True, exist_ok=True)
        warnings.warn(f"{told}: stopped, {run.name} begins anew", stacklevel=2)
    else:
        rows += kept.resume().rows

    def at_pause(pause: Pause) -> None:
        rows.extend(pause.rows)
        write_run(out, facts, rows)
        if kept is not None:
            kept.save(rows[before:])

    carry_out(run, begin, run.name, at_pause, tuple(rows[before:]))


def missing(experiment: Experiment, out: Path) -> list[Part]:
    """The parts that are still to run; those that are there must fit the plan."""
    for part in experiment.parts:
        check_part(experiment, part, out / part.name)
    return [p for p in experiment.parts if not (out / p.name).exists()]


class Wanted(NamedTuple):
    """A part that is to be run, and the folder that it becomes, all at once."""

    experiment: Experiment
    part: Part
    out: Path
    lanes: int | None = None
    """Trials of a shard, where these are only some of the trials."""
    look: Looking = "study"
    visited: np.ndarray | None = None
    """States to look in, for "visited"; None stands for those of the first trial."""
    recorded: bool = False
    """Whether every episode of an environment has a seed of its own, as where trials
    go on after a stop."""

    @property
    def title(self) -> str:
        """Of the part among those of other domains."""
        return self.experiment.title(self.part)

    @property
    def effort(self) -> float:
        """Seconds it may take on two cores."""
        return self.experiment.effort(self.part)


def run_here(
    wanted: Sequence[Wanted], begin: Begin, finished: Callable[[Wanted, float], None]
) -> None:
    """Run parts one after the other.

    Args:
        wanted: what to run.
        begin: reports on the progress of a part.
        finished: is told of every part that was run, and the seconds it took.
    """
    known: dict[str, Reference | None] = {}
    for each in wanted:
        started, task = time.perf_counter(), each.experiment.task
        if task.domain.name not in known:
            known[task.domain.name] = reference(task)
        right = known[task.domain.name]
        run_part(each.experiment, each.part, right, each.out, begin)
        finished(each, time.perf_counter() - started)


def run_part(
    experiment: Experiment,
    part: Part,
    known: Reference | None,
    out: Path,
    begin: Begin,
) -> None:
    """Train one method with one set of settings and write its folder."""
    started = time.perf_counter()
    watched = watch_part(experiment, part, known, begin)
    write_part(experiment, part, watched, time.perf_counter() - started, out)


def write_part(
    experiment: Experiment, part: Part, watched: Piece, seconds: float, out: Path
) -> None:
    """A part's folder, whole or not at all."""
    facts = facts_of(experiment, part) | {"status": "finished"}
    facts["wall_seconds"] = {part.method: seconds}
    write_folder(out, files_of(facts, watched.rows) | watched.files())


def facts_of(experiment: Experiment, part: Part) -> dict[str, Any]:
    """Those of a run, and the sweep to which the part belongs."""
    settings = experiment.settings_of(part)
    facts = describe(
        experiment.task,
        methods=[part.method],
        settings=settings,
        seed=experiment.seed,
        trials=experiment.trials,
    )
    swept = None
    if part.setting is not None:
        swept = {"setting": part.setting, "value": part.value}
    return facts | {"sweep": swept}


def check_part(experiment: Experiment, part: Part, folder: Path) -> None:
    """A part that is there must be what the plan would run."""
    if not folder.exists():
        return
    wanted = facts_of(experiment, part) | {"status": "finished"}
    check_facts_alike(folder, wanted, PLANNED)
