"""Run an experiment piece by piece; what is finished is never lost nor repeated."""

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from policymix.core.errors import FileFormatError
from policymix.core.progress import Begin
from policymix.experiments.plans import Experiment, Part
from policymix.experiments.runs import FACTS, describe
from policymix.experiments.runs import files_of as run_files
from policymix.experiments.snapshots import Look, Reference, files_of, look, reference
from policymix.storage.folders import canonical, write_folder
from policymix.storage.records import read_settings
from policymix.storage.runs import read_run
from policymix.training.train import Row, TrainingRun, mean_of

SAME = ("domain", "methods", "seed", "trials", "settings", "sources", "sweep", "status")
"""Facts in which a finished piece must agree with the plan."""


def missing(experiment: Experiment, out: Path) -> list[Part]:
    """The pieces that are still to run; those that are there must fit the plan."""
    for piece in experiment.pieces:
        check_piece(experiment, piece, out / piece.name)
    return [p for p in experiment.pieces if not (out / p.name).exists()]


def run_experiment(
    experiment: Experiment,
    out: Path,
    begin: Begin,
    finished: Callable[[Part, float], None],
) -> None:
    """Run the pieces that are not in the folder yet; see `run_pieces`."""
    run_pieces(experiment, missing(experiment, out), out, begin, finished)


def run_pieces(
    experiment: Experiment,
    pieces: Sequence[Part],
    out: Path,
    begin: Begin,
    finished: Callable[[Part, float], None],
) -> None:
    """Run some pieces of an experiment.

    Args:
        experiment: to which they belong.
        pieces: what to run.
        out: the domain's folder; each piece becomes a folder in it, all at once.
        begin: reports on the progress of a piece.
        finished: is told of every piece that was run, and the seconds it took.
    """
    known = reference(experiment.task) if pieces else None
    for piece in pieces:
        started = time.perf_counter()
        run_piece(experiment, piece, known, out / piece.name, begin)
        finished(piece, time.perf_counter() - started)


def run_piece(
    experiment: Experiment,
    piece: Part,
    known: Reference | None,
    out: Path,
    begin: Begin,
) -> None:
    """Train one method with one set of settings and write its folder."""
    started = time.perf_counter()
    facts = facts_of(experiment, piece)
    settings, stops = experiment.settings_of(piece), experiment.looks(piece)
    work = TrainingRun.of(
        *(experiment.task, piece.method, None, experiment.seed, experiment.trials),
        *(settings, stops),
    )
    advance = begin(experiment.title(piece), work.samples, "score")
    rows: list[Row] = []
    looks: list[Look] = []
    for moment in work.run():
        rows += moment.rows
        advance(moment.taken, mean_of(moment.rows))
        if moment.step in stops:
            agents = work.agents()
            looks.append(look(experiment.task, known, moment.step, agents))
    facts["status"] = "finished"
    facts["wall_seconds"] = {piece.method: time.perf_counter() - started}
    files = run_files(facts, rows) | files_of(experiment.task, looks)
    write_folder(out, files)


def facts_of(experiment: Experiment, piece: Part) -> dict[str, Any]:
    """Those of a run, and the sweep to which the piece belongs."""
    settings = experiment.settings_of(piece)
    facts = describe(
        *(experiment.task, [piece.method], settings),
        *(experiment.seed, experiment.trials),
    )
    swept = None
    if piece.setting is not None:
        swept = {"setting": piece.setting, "value": piece.value}
    return facts | {"sweep": swept}


def check_piece(experiment: Experiment, piece: Part, folder: Path) -> None:
    """A piece that is there must be what the plan would run."""
    if not folder.exists():
        return
    found = dict(read_run(folder).facts)
    # Settings that came later were not written down: they had their defaults.
    settings = {"settings": asdict(read_settings(found["settings"]))}
    found |= json.loads(canonical(settings))
    wanted = json.loads(canonical(facts_of(experiment, piece)))
    wanted["status"] = "finished"
    for name in SAME:
        if found.get(name) != wanted[name]:
            was, now = found.get(name), wanted[name]
            raise FileFormatError(
                folder / FACTS,
                name,
                "not what this experiment would run"
                if isinstance(now, dict)
                else f"{was!r}, but this experiment would have {now!r}",
                "Choose another folder for --out, or delete this one to run it again",
            )
