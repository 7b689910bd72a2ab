"""Blocks of trials, run wherever there is room; the driver alone writes.

Anything with `submit(function, *arguments)` whose answer has `result()` is an executor:
processes of `concurrent.futures`, SLURM by `submitit`, Dask, Ray (`executors.py`).
"""

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from functools import cache
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from policymix.core.errors import PolicymixError
from policymix.core.progress import silent
from policymix.environments.own_code import run_own_code, was_run
from policymix.experiments.plans import Experiment, Part, plan
from policymix.experiments.runner import Wanted, write_part
from policymix.experiments.snapshots import Reference, reference
from policymix.experiments.watched import Piece, joined, watch_part
from policymix.training.loop import lanes_of
from policymix.training.task import load_task, prepare

BLOCK = 5
"""Trials of a block, if nobody says otherwise."""
BEGUN_AT_MOST = 3
"""How often a block is begun whose worker is lost."""
WAITING = 256
"""Blocks that an executor has at a time, if it does not say how many it works on."""


@runtime_checkable
class Answer(Protocol):
    """What comes of a block, sooner or later."""

    def result(self) -> Any:
        """Wait for it."""
        ...


@runtime_checkable
class Executor(Protocol):
    """Runs functions elsewhere."""

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> Answer:
        """Begin."""
        ...


class Block(NamedTuple):
    """Some trials of a part, in words that travel."""

    domain: str
    quick: bool
    seed: int
    """Of the experiment's first trial."""
    part: Part
    first: int
    """Place of the block's first trial."""
    trials: int
    loaded: tuple[str, ...] = ()
    """Modules or files of the user's that make names known."""


class Made(NamedTuple):
    """What a worker returns."""

    watched: Piece
    seconds: float


@cache
def planned(
    domain: str, seed: int, quick: bool, loaded: tuple[str, ...]
) -> tuple[Experiment, Reference | None]:
    """The experiment as every worker has it; made once in each."""
    for place in set(loaded) - set(was_run()):
        run_own_code(place)
    experiment = plan(prepare(load_task(domain)), seed, quick)
    return experiment, reference(experiment.task)


def run_block(block: Block, cores: int | None = 1) -> Made:
    """What a worker does: nothing is written.

    Raises:
        PolicymixError: the sentence alone, since not every error can travel.
    """
    started = time.perf_counter()
    try:
        whole, known = planned(block.domain, block.seed, block.quick, block.loaded)
        experiment = whole._replace(seed=whole.seed + block.first, trials=block.trials)
        lanes = lanes_of(whole.trials)
        watched = watch_part(experiment, block.part, known, silent, cores, lanes)
    except PolicymixError as error:
        raise PolicymixError(str(error)) from None
    return Made(watched, time.perf_counter() - started)


def blocks_of(wanted: Wanted, quick: bool, size: int) -> list[Block]:
    """A part's trials, some whole shards at a time."""
    experiment = wanted.experiment
    lanes = lanes_of(experiment.trials)
    size = max(lanes, size // lanes * lanes)
    return [
        Block(
            domain=experiment.task.domain.name,
            quick=quick,
            seed=experiment.seed,
            part=wanted.part,
            first=first,
            trials=min(size, experiment.trials - first),
            loaded=was_run(),
        )
        for first in range(0, experiment.trials, size)
    ]


def run_on(
    executor: Executor,
    wanted: Sequence[Wanted],
    quick: bool,
    size: int,
    at_block: Callable[[Wanted, Block, Made], None],
) -> None:
    """Run parts in blocks; the longest first, each written when all of it is there.

    Args:
        executor: runs blocks.
        wanted: the parts.
        quick: whether they are those of small experiments.
        size: trials of a block, at most.
        at_block: is told of every block that is done.

    Raises:
        PolicymixError: in the end, with what could not be run; the rest is written.
    """
    longest = sorted(wanted, key=lambda w: -w.effort)
    pieces = [blocks_of(w, quick, size) for w in longest]
    done: list[dict[int, Made]] = [{} for _ in longest]
    failed: dict[str, str] = {}
    with waiting(executor) as threads:
        begun = {
            threads.submit(until_done, executor, block): (place, block)
            for place, blocks in enumerate(pieces)
            for block in blocks
        }
        for future in as_completed(begun):
            (place, block), problem = begun[future], future.exception()
            w, made = longest[place], done[place]
            if problem is not None:
                failed.setdefault(w.title, str(problem))
                continue
            made[block.first] = future.result()
            at_block(w, block, made[block.first])
            if len(made) == len(pieces[place]):
                write_joined(w, made)
                made.clear()
    if failed:
        told = "\n".join(f"{title}: {problem}" for title, problem in failed.items())
        raise PolicymixError(
            f"{len(failed)} of {len(wanted)} parts could not be run; the others are "
            f"written, and the same command tries these again:\n{told}"
        )


def write_joined(wanted: Wanted, made: dict[int, Made]) -> None:
    """Write a part's folder."""
    pieces = [made[first] for first in sorted(made)]
    seconds = float(np.sum([piece.seconds for piece in pieces]))
    watched = joined([piece.watched for piece in pieces])
    write_part(wanted.experiment, wanted.part, watched, seconds, wanted.out)


@contextmanager
def waiting(executor: Executor) -> Iterator[ThreadPoolExecutor]:
    """Threads that wait for an executor; nothing more is begun once one is left."""
    threads = ThreadPoolExecutor(getattr(executor, "workers", WAITING))
    try:
        yield threads
    finally:
        threads.shutdown(wait=False, cancel_futures=True)


def until_done(executor: Executor, block: Block) -> Made:
    """Have a block run; again elsewhere if its worker is lost."""
    for attempt in range(1, BEGUN_AT_MOST + 1):
        try:
            return executor.submit(run_block, block).result()
        except PolicymixError:
            raise
        except Exception as error:
            if attempt == BEGUN_AT_MOST:
                raise PolicymixError(
                    f"trials {block.first} to {block.first + block.trials - 1} were "
                    f"begun {BEGUN_AT_MOST} times, the last ended with "
                    f"{type(error).__name__}: {error}"
                ) from error
    raise AssertionError("unreachable")
