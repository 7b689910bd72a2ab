"""Turns against the clock: our loops, their speeds, and ratios within one round."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from policymix.core.progress import Advance, silent
from policymix.core.settings import Settings

Chunk: TypeAlias = Callable[[], int]
"""Does some work, waits for its end, and says how many samples it took."""
Rows: TypeAlias = Sequence[Any]
"""Named tuples of one kind: the lines of a table."""
ROUNDS = 3
"""Turns of every contestant: each ratio is that of one round."""


class MethodSpeed(NamedTuple):
    """A method's speed in training, compilation and tests left out."""

    domain: str
    method: str
    trials: int
    samples_per_second: float
    compile_seconds: float


class Versus(NamedTuple):
    """A contestant's speed, and how many times that of another it was in each round."""

    contestant: str
    samples_per_second: float
    ratio_min: float
    ratio_median: float
    ratio_max: float
    times_that_of: str


def timed(chunk: Chunk) -> tuple[int, float]:
    """Samples and seconds of one chunk."""
    started = time.perf_counter()
    samples = chunk()
    return samples, time.perf_counter() - started


def warm_up(chunk: Chunk) -> tuple[int, float]:
    """Samples and seconds of the first two chunks: the second may still compile."""
    laps = [timed(chunk), timed(chunk)]
    return sum(lap[0] for lap in laps), sum(lap[1] for lap in laps)


def rate(chunk: Chunk, seconds: float) -> float:
    """Samples a second, of two chunks or as many as fill the seconds."""
    samples, spent, chunks = 0, 0.0, 0
    while chunks < 2 or spent < seconds:
        more, passed = timed(chunk)
        samples, spent, chunks = samples + more, spent + passed, chunks + 1
    return samples / spent


def contest(
    contestants: Mapping[str, Chunk],
    seconds: float,
    advance: Advance = silent("", 0, ""),  # noqa: B008, it has no state
    rounds: int = ROUNDS,
) -> dict[str, list[float]]:
    """Samples a second of everyone in each round, taken in turns after a warm-up."""
    for chunk in contestants.values():
        warm_up(chunk)
    speeds: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(rounds):
        for name, chunk in contestants.items():
            speeds[name].append(rate(chunk, seconds))
            advance(1, speeds[name][-1])
    return speeds


def ratios_to(speeds: Mapping[str, Sequence[float]], baseline: str) -> list[Versus]:
    """Everyone against one of them, round by round."""
    rows = []
    for name, own in speeds.items():
        ratios = np.divide(own, speeds[baseline])
        low, middle, high = np.quantile(ratios, (0.0, 0.5, 1.0)).tolist()
        speed = float(np.median(own))
        rows.append(Versus(name, speed, low, middle, high, baseline))
    return rows


def our_chunks(
    task: Any, method: str, trials: int, settings: Settings | None = None
) -> Chunk:
    """Train a method's trials, a chunk of the loop and the copies due at a time.

    Args:
        task: a `TransferTask`, or a domain's name.
        method: its name.
        trials: run side by side.
        settings: by default the paper's.
    """
    from policymix.training.run import new_run
    from policymix.training.task import prepare

    task = prepare(task)
    work = new_run(task, method, settings or task.domain.settings, trials=trials)
    length, taken = work.plan.length, 0

    def chunk() -> int:
        nonlocal taken
        work.loop.advance(length)
        taken += length
        if taken % work.settings.refresh_every == 0:
            work.loop.refresh()
        work.loop.wait()
        return length * trials

    return chunk
