"""`policymix run` in blocks: one folder for all methods, as without an executor."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from policymix.core.progress import Begin
from policymix.core.seeds import check_seed
from policymix.core.settings import Settings
from policymix.experiments.blocks import Blockwise, move_bar, run_on
from policymix.experiments.plans import Experiment, Part
from policymix.experiments.runner import Wanted, begun_run, finish_run, finished
from policymix.experiments.watched import Piece
from policymix.methods.recipes import find_recipe
from policymix.storage.places import GOING_ON
from policymix.storage.runs import Row, write_run
from policymix.training.task import TransferTask


def run_methods_on(
    blockwise: Blockwise,
    task: TransferTask,
    methods: Sequence[str],
    settings: Settings,
    seed: int,
    trials: int,
    out: Path,
    begin: Begin,
) -> list[Row]:
    """Train every method in blocks of trials and write the run's folder as it goes.

    A method's rows are written when all of its blocks are there. Whatever ends it, the
    same call goes on with the methods that lack rows, here or elsewhere.

    Args:
        blockwise: runs blocks.
        task: prepared.
        methods: their names, each once.
        settings: shared by all.
        seed: trial t has seed + t.
        trials: of every method.
        out: a folder that does not exist yet, is empty, or was begun by the same call.
        begin: reports on the progress.
    """
    for name in methods:
        find_recipe(name, len(task.sources))
    facts, found = begun_run(task, methods, settings, seed, trials, out)
    kept = finished(found, settings)
    (out / GOING_ON).mkdir(parents=True, exist_ok=True)
    parts = tuple(map(Part, methods))
    whole = Experiment(task, settings, trials, check_seed(seed, trials), parts)
    wanted = [
        Wanted(whole, part, out, look="never", recorded=True)
        for part in parts
        if part.method not in kept
    ]

    def finish(wanted: Wanted, watched: Piece, seconds: float) -> None:
        kept[wanted.part.method] = watched.rows
        facts["wall_seconds"][wanted.part.method] = seconds
        write_run(out, facts, in_order())

    def in_order() -> list[Row]:
        return [row for name in methods for row in kept.get(name, ())]

    run_on(blockwise, wanted, partial(move_bar, begin), finish)
    finish_run(out, facts, in_order())
    return in_order()
