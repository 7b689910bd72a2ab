"""Trials side by side: shards of them, on all cores or on every accelerator.

Every core has a thread that steps shards: compiled programs hold no interpreter lock,
so threads run at once, and no setting of JAX is needed.

How a program rounds depends on how many trials it computes at once. So on processors
the shards of an experiment are always as wide: what a trial learns, to the last bit,
does not depend on the number of cores, nor on the machine that has its shard.
"""

import abc
import math
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import jax
import numpy as np

from policymix.training.lockstep import Carry
from policymix.training.trial import Trial


class AbstractShard(abc.ABC):
    """Some of the trials, on one device; those beyond `count` only fill it up."""

    carry: Carry
    count: int

    steps: int = 0
    """That every trial has taken; known without waiting for the device."""

    @abc.abstractmethod
    def advance(self, length: int) -> None:
        """One chunk of steps."""

    @abc.abstractmethod
    def refresh(self) -> None:
        """Copy the target networks."""

    @abc.abstractmethod
    def evaluate(
        self, first: int = 0, alone: bool = False
    ) -> tuple[np.ndarray, np.ndarray]:
        """Lengths and returns of some test episodes, one row for each trial.

        Args:
            first: number of the first of them, see `keys_for_tests`.
            alone: ask no source, as in `greedy`.
        """

    @abc.abstractmethod
    def act(self, rows: np.ndarray, alone: bool = False) -> np.ndarray:
        """Greedy actions: one row of states in, one of actions out for each trial."""

    @property
    def histories(self) -> list[list[float]]:
        """How environments that no array holds came to where they are."""
        return []

    def restore(self, carry: Carry, histories: Sequence[Sequence[float]]) -> None:
        """Go on from another state of the same trials; copies of them fill it up."""
        del histories

        def put(new: Any, old: Any) -> Any:
            return jax.device_put(np.resize(new, old.shape), old.sharding)

        self.carry = jax.tree.map(put, carry, self.carry)
        self.steps = int(carry.written)


MakeShard = Callable[[np.ndarray, Any], AbstractShard]
"""From the seeds of its trials and its device to a shard."""


LANES = 5
"""Trials of an experiment's shard on a processor, at most: more are hardly faster."""


class Shards(NamedTuple):
    """Which trials go together, and where."""

    width: int
    """Trials that a shard has room for; with one width, one program serves all."""
    devices: list[Any]
    """One for each shard."""
    threads: int


def lanes_of(trials: int) -> int:
    """How wide shards of an experiment are, wherever it runs; two fill two cores."""
    return min(LANES, -(-trials // 2))


def share_out(
    trials: int, cores: int | None, lanes: int | None, least: int = 1
) -> Shards:
    """Shards for so many trials.

    Args:
        trials: how many there are.
        cores: of the processor to use; None uses all that this process may.
        lanes: how wide shards are on a processor; None fills all cores, with shards of
            some trials each.
        least: how many these are at least, if there are so many.
    """
    devices = jax.devices()
    if devices[0].platform != "cpu":
        width = -(-trials // len(devices))
        return Shards(width, devices[: -(-trials // width)], len(devices))
    whole = len(os.sched_getaffinity(0))
    threads = min(cores or whole, whole)
    width = lanes or min(trials, max(least, -(-trials // threads)))
    count = -(-trials // width)
    return Shards(width, devices[:1] * count, min(threads, count))


Tests = tuple[np.ndarray, np.ndarray]
"""Lengths and returns of test episodes, one row for each trial."""


def until_enough(play: Callable[[int], Tests], episodes: int) -> Tests:
    """So many test episodes; `play` plays some, those from a number on."""
    lengths, totals = play(0)
    while lengths.shape[1] < episodes:
        more = play(lengths.shape[1])
        lengths, totals = map(np.hstack, zip((lengths, totals), more, strict=True))
    return lengths[:, :episodes], totals[:, :episodes]


class Loop:
    """All trials, shard by shard.

    Args:
        make: makes a shard.
        seeds: one for each trial.
        shards: how they are shared out.
    """

    def __init__(self, make: MakeShard, seeds: np.ndarray, shards: Shards):
        width = shards.width
        parts = [seeds[at : at + width] for at in range(0, len(seeds), width)]
        self._threads = ThreadPoolExecutor(shards.threads)
        self._shards = [make(*part) for part in zip(parts, shards.devices, strict=True)]

    def _each(self, ask: Callable[[AbstractShard], Any]) -> list[Any]:
        return list(self._threads.map(ask, self._shards))

    def advance(self, length: int) -> None:
        self._each(lambda shard: shard.advance(length))

    def refresh(self) -> None:
        self._each(lambda shard: shard.refresh())

    def evaluate(
        self, episodes: int, alone: bool = False
    ) -> tuple[np.ndarray, np.ndarray]:
        """Lengths and returns of so many test episodes, one row for each trial.

        Shards play some at a time: tests of all sizes share a program.
        """
        return until_enough(lambda first: self._round(first, alone), episodes)

    def _round(self, first: int, alone: bool) -> tuple[np.ndarray, np.ndarray]:
        played = self._each(lambda shard: shard.evaluate(first, alone))
        lengths, totals = zip(*played, strict=True)
        return np.concatenate(lengths), np.concatenate(totals)

    def decide(self, obs: np.ndarray, alone: bool = False) -> np.ndarray:
        """Greedy actions in these states, one row for each trial."""
        count = sum(shard.count for shard in self._shards)
        return self.act(np.broadcast_to(obs, (count, *obs.shape)), alone)

    def act(self, rows: np.ndarray, alone: bool = False) -> np.ndarray:
        """The same where every trial has states of its own, a row of them."""
        ends = np.cumsum([shard.count for shard in self._shards])
        parts = np.split(rows, ends[:-1])
        asked = zip(self._shards, parts, strict=True)
        acted = self._threads.map(lambda pair: pair[0].act(pair[1], alone), asked)
        return np.concatenate(list(acted))

    def wait(self) -> None:
        """Until all that was asked for is done."""
        jax.block_until_ready([shard.carry for shard in self._shards])

    @property
    def fault(self) -> tuple[np.ndarray, np.ndarray]:
        """Step and code of every trial's `Fault`."""
        faults = [(s.carry.trials.fault, s.count) for s in self._shards]
        steps = [np.asarray(fault.step)[:count] for fault, count in faults]
        codes = [np.asarray(fault.code)[:count] for fault, count in faults]
        return np.concatenate(steps), np.concatenate(codes)

    @property
    def training(self) -> list[float]:
        """Every trial's mean return of finished training episodes; nan before any."""
        parts = [(s.carry.trials.behaviour, s.count) for s in self._shards]
        sums = np.concatenate([np.asarray(b.earned)[:n] for b, n in parts])
        counts = np.concatenate([np.asarray(b.episode)[:n] for b, n in parts])
        pairs = zip(sums.tolist(), counts.tolist(), strict=True)
        return [total / count if count else math.nan for total, count in pairs]

    @property
    def trials(self) -> Trial:
        """The state of every trial, on the host."""
        parts: Sequence[Any] = [
            jax.tree.map(lambda x, n=s.count: x[:n], jax.device_get(s.carry.trials))
            for s in self._shards
        ]
        return jax.tree.map(lambda *leaves: np.concatenate(leaves), *parts)

    @property
    def steps(self) -> int:
        """That every trial has taken."""
        return self._shards[0].steps

    @property
    def histories(self) -> list[list[float]]:
        """Every trial's; none where its environment is part of its state."""
        return [history for shard in self._shards for history in shard.histories]

    def restore(
        self,
        trials: Trial,
        rows: np.ndarray,
        steps: int,
        histories: Sequence[Sequence[float]],
    ) -> None:
        """Go on from what `trials`, `rows`, `steps` and `histories` once were."""
        first = 0
        for shard in self._shards:
            mine = slice(first, first + shard.count)
            part: Any = jax.tree.map(lambda x, mine=mine: x[mine], trials)
            carry = Carry(part, rows[mine], np.array(steps, np.int32))  # pyright: ignore[reportArgumentType]
            shard.restore(carry, histories[mine])
            first += shard.count

    def latest(self, count: int) -> np.ndarray:
        """Every trial's newest rows, at least one; the oldest of few come again."""
        parts = []
        for shard in self._shards:
            rows, written = shard.carry.rows, int(shard.carry.written)
            filled = max(1, min(written, rows.shape[1]))
            places = (written - 1 - np.arange(count) % filled) % rows.shape[1]
            parts.append(np.asarray(rows[: shard.count, places]))
        return np.concatenate(parts)

    @property
    def rows(self) -> np.ndarray:
        """Every trial's replay, on the host."""
        return np.concatenate(
            [np.asarray(s.carry.rows)[: s.count] for s in self._shards]
        )
