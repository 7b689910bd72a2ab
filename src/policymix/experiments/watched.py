"""Trials of a method and what was seen of its mixture: made in one piece or in several.

Shards of an experiment are as wide everywhere, so that pieces of whole shards are, byte
by byte, the whole again, wherever they were made.
"""

from collections.abc import Sequence
from functools import partial, reduce
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from policymix.core.progress import Begin
from policymix.experiments.going_on import Watch, watch_run
from policymix.experiments.plans import Experiment, Part
from policymix.experiments.snapshots import (
    FORMAT,
    VERSION,
    Arrays,
    Look,
    Reference,
    look,
    read_snapshots,
    snapshot_facts,
    stacked,
)
from policymix.storage.folders import pack
from policymix.storage.runs import Curve, Row, read_run
from policymix.training.loop import lanes_of
from policymix.training.run import TrainingRun, new_run
from policymix.training.task import TransferTask

OF_TRIALS = ("trust", "right")
"""Arrays of snapshots whose second axis is that of trials."""


class Piece(NamedTuple):
    """A method's trials, and what was seen of its mixture, if it has one."""

    rows: list[Row]
    facts: dict[str, Any]
    arrays: Arrays

    def files(self) -> dict[str, bytes]:
        """Those of the snapshots; none where nothing was seen."""
        return pack(FORMAT, VERSION, self.facts, self.arrays) if self.facts else {}


def watch_part(
    experiment: Experiment,
    part: Part,
    known: Reference | None,
    begin: Begin,
    cores: int | None = None,
    lanes: int | None = None,
    recorded: bool = False,
    home: Path | None = None,
) -> Piece:
    """Train a part's trials and look at their mixtures when the study says so.

    Args:
        experiment: all of it, or some of its trials.
        part: what to run.
        known: where the right source is known.
        begin: reports on the progress.
        cores: of the processor to use; None uses all.
        lanes: as wide as the whole experiment's shards are.
        recorded: whether every episode of an environment has a seed of its own, so that
            trials can go on after a stop.
        home: where they are kept to go on from, if they are.
    """
    task, stops = experiment.task, experiment.looks(part)

    def make() -> TrainingRun:
        return new_run(
            task,
            part.method,
            experiment.settings_of(part),
            experiment.seed,
            experiment.trials,
            stops,
            cores=cores,
            lanes=lanes or lanes_of(experiment.trials),
            recorded=recorded,
        )

    watch = Watch(stops, partial(_look, known))
    taken = watch_run(make, watch, begin, experiment.title(part), home)
    return with_looks(task, taken.rows, taken.looks)


def _look(known: Reference | None, run: TrainingRun) -> Look:
    return look(run.task, known, run.loop.steps, run.agents())


def with_looks(task: TransferTask, rows: list[Row], looks: Sequence[Look]) -> Piece:
    """Rows, and all looks together."""
    if not looks:
        return Piece(rows, {}, {})
    arrays = stacked(looks)
    facts = snapshot_facts(task, [each.step for each in looks], arrays)
    return Piece(rows, facts, arrays)


def watched_before(folder: Path, method: str) -> Piece:
    """What a folder has of a method."""
    kept = read_run(folder)
    rows = rows_of(kept.facts["domain"], kept.curves[method])
    return Piece(rows, *(read_snapshots(folder) if kept.has_snapshots else ({}, {})))


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


def joined(pieces: Sequence[Piece]) -> Piece:
    """Trials one after the other; maps are of the first."""
    return reduce(_two, pieces)


def _two(first: Piece, second: Piece) -> Piece:
    found = 1 + max(row.trial for row in first.rows)
    later = [row._replace(trial=row.trial + found) for row in second.rows]
    rows = sorted([*first.rows, *later], key=lambda row: (row.step, row.trial))
    longer = {
        name: np.concatenate([first.arrays[name], second.arrays[name]], axis=1)
        for name in OF_TRIALS
        if name in first.arrays
    }
    return Piece(rows, first.facts, first.arrays | longer)
