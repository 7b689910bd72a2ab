"""Train many trials of a method on a task: the interface that users meet."""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from policymix.core.errors import PolicymixError
from policymix.core.progress import bars
from policymix.core.settings import Settings
from policymix.environments.base import AbstractDomain
from policymix.environments.finite import regret_in
from policymix.methods.recipes import Recipe
from policymix.sources.host_calls import told_by_host
from policymix.training.agent import TrainedAgent
from policymix.training.compiled import CompiledLoop
from policymix.training.host import HostLoop
from policymix.training.lockstep import Plan
from policymix.training.setup import build_problem, settings_of
from policymix.training.step import LearningSetup, faults
from policymix.training.task import TransferTask, load_task

EXAM_SEED = 5_000_000
"""First seed of the test episodes; no trial has it."""


class Row(NamedTuple):
    """One evaluation of one trial."""

    domain: str
    method: str
    trial: int
    seed: int
    step: int
    score: float


class Result(NamedTuple):
    """A test episode, as far as scores look at it."""

    length: int
    total: float


class TrialError(PolicymixError):
    """A trial met a number that is not finite; `rows` holds what it had reached."""

    def __init__(self, message: str, rows: list[Row]):
        self.rows = rows
        super().__init__(message)


@dataclass(frozen=True)
class Training:
    """What training gives: an agent for each trial, and their learning curves."""

    agents: tuple[TrainedAgent, ...]
    rows: tuple[Row, ...]

    def curve(self) -> tuple[np.ndarray, np.ndarray]:
        """Steps of the evaluations, and scores [evaluations, trials]."""
        steps = sorted({row.step for row in self.rows})
        scores = np.array([row.score for row in self.rows])
        return np.array(steps), scores.reshape(len(steps), len(self.agents))


def train(
    task: TransferTask | str,
    method: str | Recipe = "mars",
    *,
    steps: int | None = None,
    seed: int = 0,
    trials: int = 1,
    settings: Settings | None = None,
    progress: bool = True,
) -> Training:
    """Learn the target of a task with the help of its sources.

    Args:
        task: from `load_task`, or a domain's name.
        method: "mars", "mapse", "scratch", …, or a recipe of your own.
        steps: samples of the target; by default those of the settings.
        seed: trial t has seed + t.
        trials: independent repetitions, run side by side.
        settings: by default the paper's for its domains.
        progress: show a bar with samples, speed, score and time left.
    """
    task = load_task(task) if isinstance(task, str) else task
    work = TrainingRun.of(task, method, steps, seed, trials, settings)
    rows: list[Row] = []
    with bars(quiet=not progress) as begin:
        advance = begin(f"{task.domain.name} {work.name}", work.samples, "score")
        try:
            for moment in work.run():
                rows += moment.rows
                advance(moment.taken, mean_of(moment.rows))
        except TrialError as error:
            raise TrialError(str(error), rows + error.rows) from None
    return Training(work.agents(), tuple(rows))


def mean_of(rows: list[Row]) -> float:
    """The mean score of an evaluation; nan where none was due."""
    return float(np.mean([row.score for row in rows])) if rows else math.nan


def check_numbers(settings: Settings, trials: int) -> None:
    """Complain of numbers that make no run."""
    positive = {
        "steps": settings.steps,
        "trials": trials,
        "evaluate_every": settings.evaluate_every,
        "evaluation_episodes": settings.evaluation_episodes,
        "batch": settings.batch,
        "capacity": settings.capacity,
        "refresh_every": settings.refresh_every,
    }
    for name, number in positive.items():
        if number < 1:
            raise PolicymixError(f"{name} is {number}: it must be at least 1")
    updates = settings.updates
    if updates not in ("step", "episode") and not (
        isinstance(updates, int) and updates > 0
    ):
        raise PolicymixError(
            f'updates is {updates!r}: it must be "step", "episode" or the number of '
            "updates after each episode"
        )


class Pause(NamedTuple):
    """A pause in a training: after an evaluation, or because it was asked for."""

    step: int
    taken: int
    """Samples of all trials since the pause before."""
    rows: list[Row]
    """Of an evaluation; empty where none is due."""


class TrainingRun:
    """A method's trials on a task, ready to run.

    Args:
        task: a target and its sources.
        method: by name, or a recipe.
        settings: numbers of the experiment.
        seeds: one for each trial.
        stops: steps at which `run` pauses besides evaluations. What is learned does not
            depend on them.
    """

    def __init__(
        self,
        task: TransferTask,
        method: str | Recipe,
        settings: Settings,
        seeds: np.ndarray,
        stops: Sequence[int] = (),
    ):
        self.task, self.settings = task, settings
        self.name = method if isinstance(method, str) else method.__name__
        self.seeds, self.stops = seeds, frozenset(stops)
        self.problem = build_problem(task, method, settings)
        chunk = math.gcd(settings.refresh_every, settings.evaluate_every, *stops)
        self.plan = Plan(
            min(chunk, settings.steps),
            *(settings.batch, settings.capacity, settings.updates),
        )
        self.loop = make_loop(task, self.problem, self.plan, settings, seeds)

    @classmethod
    def of(
        cls,
        task: TransferTask,
        method: str | Recipe,
        steps: int | None,
        seed: int,
        trials: int,
        settings: Settings | None,
        stops: Sequence[int] = (),
    ) -> "TrainingRun":
        """Fill in what was not given."""
        settings = settings_of(task) if settings is None else settings
        if steps is not None:
            settings = replace(settings, steps=steps)
        check_numbers(settings, trials)
        return cls(task, method, settings, np.arange(seed, seed + trials), stops)

    @property
    def samples(self) -> int:
        """Of all trials together."""
        return self.settings.steps * len(self.seeds)

    def run(self) -> Iterator[Pause]:
        """Train to the end; the first rows are from before the first step."""
        settings, step, paused = self.settings, 0, 0
        yield Pause(step, 0, self._evaluate(step))
        while step < settings.steps:
            length = min(self.plan.length, settings.steps - step)
            self._advance(length)
            step += length
            if step % settings.refresh_every == 0:
                self.loop.refresh()
            due = step % settings.evaluate_every == 0 or step == settings.steps
            if due or step in self.stops:
                taken = (step - paused) * len(self.seeds)
                yield Pause(step, taken, self._evaluate(step) if due else [])
                paused = step

    def agents(self) -> tuple[TrainedAgent, ...]:
        """What every trial has learned."""
        trials = jax.device_get(self.loop.trials)
        return tuple(
            TrainedAgent(
                *(self.task, self.name, self.settings, self.problem),
                jax.tree.map(lambda x, place=place: jnp.asarray(x[place]), trials),
            )
            for place in range(len(self.seeds))
        )

    def _advance(self, length: int) -> None:
        with _complaints_of_sources():
            self.loop.advance(length)

    def _evaluate(self, step: int) -> list[Row]:
        with _complaints_of_sources():
            scores = self._scores()
        domain = self.task.domain.name
        rows = [
            Row(domain, self.name, place, seed, step, float(score))
            for (place, seed), score in zip(
                enumerate(self.seeds.tolist()), scores, strict=True
            )
        ]
        self._check(rows)
        return rows

    def _scores(self) -> Sequence[float] | np.ndarray:
        """One for each trial: its regret, or the mean over test episodes."""
        score = self.task.domain.score
        if score is None:
            assert isinstance(self.loop, CompiledLoop)
            regret, states = self._regret
            return regret(self.loop.decide(states))
        scores = []
        for lengths, totals in zip(*self.loop.examine(), strict=True):
            episodes = zip(lengths, totals, strict=True)
            found = [score(Result(int(n), float(total))) for n, total in episodes]
            scores.append(float(np.mean(found)))
        return scores

    @cached_property
    def _regret(self) -> tuple[Callable[[np.ndarray], np.ndarray], np.ndarray]:
        """How policies are judged where values are known, and all states."""
        target: Any = self.task.domain.family().target
        return regret_in(target), np.arange(target.num_states)

    def _check(self, rows: list[Row]) -> None:
        """Stop at the first number that is not finite."""
        steps, codes = self.loop.fault
        if not codes.any():
            return
        place = int(np.argmax(codes > 0))
        what = faults(self.task.sources.names)[codes[place]]
        raise TrialError(
            f"{self.name}, trial {place} (seed {self.seeds[place]}), "
            f"step {steps[place]}: {what} is not a finite number. Mend it there, or, "
            "if it is the learner's, lower its learning rate",
            rows,
        )


@contextmanager
def _complaints_of_sources() -> Iterator[None]:
    """What a plain function raises in the middle of compiled code, without the rest."""
    try:
        yield
    except (jax.errors.JaxRuntimeError, ValueError) as error:
        told = told_by_host(error)
        if told is None:
            raise
        raise TrialError(told, []) from error


def make_loop(
    task: TransferTask,
    problem: LearningSetup,
    plan: Plan,
    settings: Settings,
    seeds: np.ndarray,
) -> CompiledLoop | HostLoop:
    """The compiled loop for JAX domains, the host's for Gymnasium environments."""
    target: Any = task.domain.family().target
    exams = [EXAM_SEED + i for i in range(settings.evaluation_episodes)]
    if isinstance(target, AbstractDomain):
        return CompiledLoop(problem, target, plan, seeds, exams)
    return HostLoop(problem, target, plan, seeds, exams)
