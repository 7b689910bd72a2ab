"""Trials of a method and what was seen of its mixture: made in one piece or in several.

Shards of an experiment are as wide everywhere, so that pieces of whole shards are, byte
by byte, the whole again, wherever they were made.
"""

from collections.abc import Sequence
from functools import reduce
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from policymix.core.progress import Begin
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
from policymix.training.run import Pause, carry_out, new_run
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
) -> Piece:
    """Train a part's trials and look at their mixtures when the study says so.

    Args:
        experiment: all of it, or some of its trials.
        part: what to run.
        known: where the right source is known.
        begin: reports on the progress.
        cores: of the processor to use; None uses all.
        lanes: as wide as the whole experiment's shards are.
    """
    task, settings = experiment.task, experiment.settings_of(part)
    seed, trials, stops = experiment.seed, experiment.trials, experiment.looks(part)
    lanes = lanes or lanes_of(trials)
    run = new_run(
        task, part.method, settings, seed, trials, stops, cores=cores, lanes=lanes
    )
    looks: list[Look] = []

    def at_pause(pause: Pause) -> None:
        if pause.step in stops:
            looks.append(look(task, known, pause.step, run.agents()))

    rows = carry_out(run, begin, experiment.title(part), at_pause)
    return with_looks(task, rows, looks)


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
