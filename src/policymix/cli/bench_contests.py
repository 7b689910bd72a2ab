"""Taking turns against the clock: speeds, and ratios within one round."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from policymix.core.progress import Advance, silent

Chunk: TypeAlias = Callable[[], int]
"""Does some work, waits for its end, and says how many samples it took."""
Rows: TypeAlias = Sequence[Any]
"""Named tuples of one kind: the lines of a table."""
ROUNDS = 3
"""Turns of every contestant: each ratio is that of one round."""


class Speed(NamedTuple):
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


class Share(NamedTuple):
    """How much of the threads' time goes into environments, see `host_share`."""

    trials: int
    threads: int
    host_microseconds: float
    loop_microseconds: float
    share: float


class Absent(NamedTuple):
    """A library that could have competed."""

    library: str
    why: str


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


def compare(speeds: Mapping[str, Sequence[float]], baseline: str) -> list[Versus]:
    """Everyone against one of them, round by round."""
    rows = []
    for name, own in speeds.items():
        ratios = np.divide(own, speeds[baseline])
        low, middle, high = np.quantile(ratios, (0.0, 0.5, 1.0)).tolist()
        speed = float(np.median(own))
        rows.append(Versus(name, speed, low, middle, high, baseline))
    return rows


def fastest(ways: Mapping[str, Chunk]) -> tuple[str, list[Versus]]:
    """Of several ways to do the same, by a short look at each."""
    speeds = contest(ways, 0.0, rounds=1)
    name = max(speeds, key=lambda name: speeds[name][0])
    return name, compare(speeds, name)


def host_share(loop: float, host: float, threads: int) -> float:
    """The share of the host loop's time that environments and their arrays take.

    The loop has a thread for each device, and all of them step environments. So this
    is the time of one step of all trials' environments, taken one after the other in
    one thread with nothing else going on, over the time that the loop's threads
    together have for that step: its wall time × threads.

    Args:
        loop: samples a second of the whole loop.
        host: samples a second of its environments alone, in one thread.
        threads: of the loop.
    """
    return loop / (host * threads)


def share_of(
    loop: Sequence[float], host: Sequence[float], trials: int, threads: int
) -> Share:
    """The median of the rounds' shares, beside the times of a step of all trials."""
    shares = [host_share(*pair, threads) for pair in zip(loop, host, strict=True)]
    host_time, loop_time = (1e6 * trials / float(np.median(x)) for x in (host, loop))
    return Share(trials, threads, host_time, loop_time, float(np.median(shares)))
