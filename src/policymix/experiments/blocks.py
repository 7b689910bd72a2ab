"""Blocks of trials, run wherever there is room; the driver alone writes.

What an executor is, is said in `core/executor.py`; two of them are in `executors.py`.
"""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from functools import cache
from typing import NamedTuple

import numpy as np

from policymix.core.errors import PolicymixError
from policymix.core.executor import Executor, at_work, until_done, waiting
from policymix.core.progress import Begin, silent
from policymix.core.settings import Settings
from policymix.environments.own_code import run_again, was_run
from policymix.experiments.plans import Experiment, Part
from policymix.experiments.runner import Looking, Wanted, write_part
from policymix.experiments.snapshots import Reference, reference
from policymix.experiments.visited import watch_visited
from policymix.experiments.watched import Piece, joined, watch_part
from policymix.training.loop import lanes_of
from policymix.training.run import carry_out, new_run
from policymix.training.task import TransferTask, load_task, prepare

BLOCK = 5
"""Trials of a block, if nobody says otherwise."""


class Blockwise(NamedTuple):
    """Blocks of trials run on an executor."""

    executor: Executor
    block: int = BLOCK
    """Trials of a block, at most."""
    place: str = ""
    """Where workers find the task; "" stands for its domain's name."""


class Block(NamedTuple):
    """Some trials of a part, in words that travel."""

    place: str
    """Of the task: a domain's name, or what else `load_task` takes."""
    settings: Settings
    """Of the experiment."""
    part: Part
    seed: int
    """Of the experiment's first trial."""
    first: int
    """Place of the block's first trial."""
    trials: int
    lanes: int
    """As wide as the whole experiment's shards are."""
    look: Looking = "study"
    visited: np.ndarray | None = None
    """States of the first trial, for looks of "visited" at the others."""
    recorded: bool = False
    """Whether every episode of an environment has a seed of its own."""
    loaded: tuple[str, ...] = ()
    """Modules or files of the user's that make names known."""


class Made(NamedTuple):
    """What a worker returns."""

    watched: Piece
    seconds: float


Finish = Callable[[Wanted, Piece, float], None]
"""Keeps a part, all of it, and the seconds it took."""


@cache
def task_at(place: str, loaded: tuple[str, ...]) -> TransferTask:
    """The task as every worker has it; made once in each."""
    run_again(loaded, place)
    return prepare(load_task(place))


@cache
def reference_at(place: str, loaded: tuple[str, ...]) -> Reference | None:
    """Where the right source is known; made once in each worker."""
    return reference(task_at(place, loaded))


def run_block(block: Block, cores: int | None = 1) -> Made:
    """What a worker does: nothing is written."""
    started = time.perf_counter()
    with at_work():
        watched = _watch(block, cores)
    return Made(watched, time.perf_counter() - started)


def _watch(block: Block, cores: int | None) -> Piece:
    task, part = task_at(block.place, block.loaded), block.part
    first = block.seed + block.first
    some = Experiment(task, block.settings, block.trials, first, (part,))
    if block.look == "study":
        known = reference_at(block.place, block.loaded)
        return watch_part(some, part, known, silent, cores, block.lanes, block.recorded)
    if block.look == "visited":
        seen = block.visited
        return watch_visited(
            some, part, silent, cores=cores, lanes=block.lanes, visited=seen
        )
    run = new_run(
        task,
        part.method,
        some.settings_of(part),
        first,
        block.trials,
        cores=cores,
        lanes=block.lanes,
        recorded=block.recorded,
    )
    return Piece(carry_out(run, silent, part.name), {}, {})


def blocks_of(wanted: Wanted, blockwise: Blockwise) -> list[Block]:
    """A part's trials, some whole shards at a time."""
    experiment = wanted.experiment
    lanes = wanted.lanes or lanes_of(experiment.trials)
    size = max(lanes, blockwise.block // lanes * lanes)
    return [
        Block(
            place=blockwise.place or experiment.task.domain.name,
            settings=experiment.settings,
            part=wanted.part,
            seed=experiment.seed,
            first=first,
            trials=min(size, experiment.trials - first),
            lanes=lanes,
            look=wanted.look,
            visited=wanted.visited,
            recorded=wanted.recorded,
            loaded=was_run(),
        )
        for first in range(0, experiment.trials, size)
    ]


def write_wanted(wanted: Wanted, watched: Piece, seconds: float) -> None:
    """A part's folder."""
    write_part(wanted.experiment, wanted.part, watched, seconds, wanted.out)


class _Job:
    """A part's blocks, and what has come of them.

    Trials are looked at in states of the first, so where nobody has such states yet,
    the other blocks follow the first one.
    """

    def __init__(self, wanted: Wanted, blockwise: Blockwise):
        self.wanted, self.made = wanted, dict[int, Made]()
        whole = blocks_of(wanted, blockwise)
        self.count = len(whole)
        at_once = wanted.look != "visited" or wanted.visited is not None
        self.ready = whole if at_once else whole[:1]
        self._later = [] if at_once else whole[1:]

    def add(self, block: Block, made: Made) -> list[Block]:
        """Keep what has come; the blocks that can be begun now."""
        self.made[block.first] = made
        seen = made.watched.arrays.get("visited")
        later, self._later = self._later, []
        return [each._replace(visited=seen) for each in later]

    def whole(self) -> tuple[Piece, float]:
        """All trials, and the seconds that they took together."""
        pieces = [self.made[first] for first in sorted(self.made)]
        seconds = float(np.sum([piece.seconds for piece in pieces]))
        return joined([piece.watched for piece in pieces]), seconds


def run_on(
    blockwise: Blockwise,
    wanted: Sequence[Wanted],
    at_block: Callable[[Wanted, Block, Made], None],
    finish: Finish = write_wanted,
) -> None:
    """Run parts in blocks; the longest first, each kept when all of it is there.

    Args:
        blockwise: runs blocks.
        wanted: the parts.
        at_block: is told of every block that is done.
        finish: keeps a part.

    Raises:
        PolicymixError: in the end, with what could not be run; the rest is kept.
    """
    jobs = [_Job(w, blockwise) for w in sorted(wanted, key=lambda w: -w.effort)]
    failed: dict[str, str] = {}
    begun: dict[Future[Made], tuple[_Job, Block]] = {}
    with waiting(blockwise.executor) as threads:

        def begin(job: _Job, blocks: Sequence[Block]) -> None:
            for block in blocks:
                what = f"trials {block.first} to {block.first + block.trials - 1}"
                work = (blockwise.executor, what, run_block, block)
                begun[threads.submit(until_done, *work)] = job, block

        for job in jobs:
            begin(job, job.ready)
        while begun:
            for future in wait(begun, return_when=FIRST_COMPLETED).done:
                job, block = begun.pop(future)
                problem = future.exception()
                if problem is not None:
                    failed.setdefault(job.wanted.title, str(problem))
                    continue
                at_block(job.wanted, block, future.result())
                begin(job, job.add(block, future.result()))
                if len(job.made) == job.count:
                    finish(job.wanted, *job.whole())
                    job.made.clear()
    if failed:
        told = "\n".join(f"{title}: {problem}" for title, problem in failed.items())
        raise PolicymixError(
            f"{len(failed)} of {len(wanted)} parts could not be run; the others are "
            f"written, and the same command tries these again:\n{told}"
        )


def move_bar(begin: Begin, wanted: Wanted, block: Block, made: Made) -> None:
    """A block is finished: the bar of all workers moves on."""
    steps, rows = wanted.experiment.settings.steps, made.watched.rows
    last = [row.score for row in rows if row.step == rows[-1].step]
    advance = begin(wanted.title, steps * wanted.experiment.trials, "score")
    advance(steps * block.trials, sum(last) / len(last))
