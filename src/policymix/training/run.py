"""A method's trials on a task, from the first sample to the last.

One loop, `carry_out`, serves `train`, `policymix run` and `policymix reproduce`.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from policymix.beliefs.build import MixtureMaker
from policymix.beliefs.mixture import AbstractMixture
from policymix.core.progress import Begin
from policymix.core.seeds import seeds_from
from policymix.core.settings import Settings
from policymix.methods.method import Recipe
from policymix.storage.runs import Row
from policymix.training.agent import TrainedAgent
from policymix.training.arguments import check_cores, check_recipe, check_settings
from policymix.training.elsewhere import Elsewhere, examined
from policymix.training.greedy import asks_sources
from policymix.training.lockstep import Plan
from policymix.training.scores import Examination
from policymix.training.setup import as_printed, build_setup
from policymix.training.shards import make_loop
from policymix.training.stops import TrialError, faults, telling, trial_of
from policymix.training.task import TransferTask
from policymix.training.trial import LearningSetup, Trial


class Pause(NamedTuple):
    """A stop on the way: after an evaluation, or because it was asked for."""

    step: int
    taken: int
    """Samples of all trials since the pause before."""
    rows: list[Row]
    """Of an evaluation; empty where none is due."""

    @property
    def score(self) -> float:
        """The mean of the evaluation; nan where none was due."""
        with np.errstate(over="ignore"):
            scores = [row.score for row in self.rows]
            return float(np.mean(scores)) if scores else math.nan


class TrainingRun:
    """A method's trials on a task, ready to run.

    Args:
        task: prepared.
        name: of the method.
        setup: who learns what, from `build_setup`.
        settings: numbers of the experiment.
        seeds: one for each trial.
        stops: steps at which `pauses` pauses besides evaluations. What is learned does
            not depend on them.
        cores: of the processor to use; None uses all.
        lanes: trials of a shard on a processor, for rows that are the same wherever
            they are made; None fills all cores.
        evaluate_on: where to test, if not in the target; see `examined`.
        recorded: whether it shall be possible to go on from a `Checkpoint`.
    """

    def __init__(
        self,
        task: TransferTask,
        name: str,
        setup: LearningSetup,
        settings: Settings,
        seeds: np.ndarray,
        stops: Sequence[int] = (),
        cores: int | None = None,
        lanes: int | None = None,
        evaluate_on: Any = None,
        recorded: bool = False,
    ):
        check_settings(settings)
        check_cores(cores)
        self.task, self.name, self.setup, self.settings = task, name, setup, settings
        self.seeds, self.stops = seeds, frozenset(stops)
        if setup.method.printed:
            settings = as_printed(settings, task.domain.study.paper)
        self._refresh_every = settings.refresh_every
        chunk = math.gcd(settings.refresh_every, settings.evaluate_every, *stops)
        self.plan = Plan(
            length=min(chunk, settings.steps),
            batch=settings.batch,
            capacity=settings.capacity,
            updates=settings.updates,
            learn_every=settings.learn_every,
        )
        where = (settings, seeds, cores, lanes, recorded)
        with telling(name, seeds, step=0):
            self.loop = make_loop(task, setup, self.plan, *where)
        self._examination = self._examine(evaluate_on)
        self._asks = asks_sources(setup)
        self._restored = False

    @property
    def samples(self) -> int:
        """Of all trials together."""
        return self.settings.steps * len(self.seeds)

    def pauses(self) -> Iterator[Pause]:
        """Train to the end; the first rows are from before the first step.

        A run that was restored goes on after the step of its checkpoint.
        """
        settings, step = self.settings, self.loop.steps
        paused = step
        if not self._restored:
            yield Pause(step, 0, self._evaluate(step))
        while step < settings.steps:
            length = min(self.plan.length, settings.steps - step)
            with telling(self.name, self.seeds, step, length):
                self.loop.advance(length)
            step += length
            if step % self._refresh_every == 0:
                self.loop.refresh()
            due = step % settings.evaluate_every == 0 or step == settings.steps
            if due or step in self.stops:
                taken = (step - paused) * len(self.seeds)
                yield Pause(step, taken, self._evaluate(step) if due else [])
                paused = step

    def restore(
        self,
        trials: Trial,
        replays: np.ndarray,
        step: int,
        histories: Sequence[Sequence[float]],
    ) -> None:
        """Go on from what the loop once was, after an evaluation."""
        self.loop.restore(trials, replays, step, histories)
        self._restored = True

    def agents(self) -> tuple[TrainedAgent, ...]:
        """What every trial has learned."""
        trials = self.loop.trials
        return tuple(
            TrainedAgent(
                task=self.task,
                method=self.name,
                settings=self.settings,
                setup=self.setup,
                trial=jax.device_put(jax.tree.map(lambda x, at=place: x[at], trials)),
            )
            for place in range(len(self.seeds))
        )

    def _examine(self, place: Any) -> Examination:
        if place is None:
            return Examination(self.task.domain, self.loop)
        domain, tests = examined(self.task, place), self.settings.evaluation_episodes
        elsewhere = Elsewhere(domain, self.loop, self.seeds, tests)
        return Examination(domain, self.loop, elsewhere)

    def _evaluate(self, step: int) -> list[Row]:
        settings = self.settings
        final = step == settings.steps
        episodes = settings.final_episodes if final else settings.evaluation_episodes
        with telling(self.name, self.seeds, step):
            scores = alone = self._examination.scores(episodes)
            if self._asks:
                alone = self._examination.scores(episodes, alone=True)
        tested = (scores.tolist(), alone.tolist())
        columns = (self.seeds.tolist(), *tested, self.loop.training)
        domain = self.task.domain.name
        rows = [
            Row(domain, self.name, place, seed, step, *told)
            for place, (seed, *told) in enumerate(zip(*columns, strict=True))
        ]
        self._check(rows)
        return rows

    def _check(self, rows: list[Row]) -> None:
        """Stop at the first number that is not finite."""
        steps, codes = self.loop.fault
        if not codes.any():
            return
        place = int(np.argmax(codes > 0))
        what = faults(self.task.sources.names)[codes[place]]
        raise TrialError(
            f"{self.name}, {trial_of(self.seeds, place)}, step {steps[place]}: {what}. "
            "Mend it there, or, if it is the learner's, lower its learning rate",
            rows,
        )


def new_run(
    task: TransferTask,
    method: str | Recipe,
    settings: Settings,
    seed: int = 0,
    trials: int = 1,
    stops: Sequence[int] = (),
    mixture: AbstractMixture | MixtureMaker | None = None,
    cores: int | None = None,
    lanes: int | None = None,
    evaluate_on: Any = None,
    recorded: bool = False,
) -> TrainingRun:
    """A method's trials, those with seeds from `seed` on; nothing is run yet."""
    check_recipe(method)
    return TrainingRun(
        task=task,
        name=method if isinstance(method, str) else method.__name__,
        setup=build_setup(task, method, settings, mixture),
        settings=settings,
        seeds=seeds_from(seed, trials),
        stops=stops,
        cores=cores,
        lanes=lanes,
        evaluate_on=evaluate_on,
        recorded=recorded,
    )


def carry_out(
    run: TrainingRun,
    begin: Begin,
    title: str,
    at_pause: Callable[[Pause], bool | None] = lambda pause: None,
    earlier: Sequence[Row] = (),
) -> list[Row]:
    """Run to the end and report on the progress; what is at a pause may be looked at.

    Args:
        run: ready.
        begin: reports on the progress …
        title: … under this name.
        at_pause: looks; it stops the run by returning False.
        earlier: rows from before the run was restored.

    Raises:
        TrialError: with all rows until then.
    """
    rows = list(earlier)
    advance = begin(title, run.samples, "score")
    if earlier:
        advance(run.loop.steps * len(run.seeds), math.nan)
    try:
        for pause in run.pauses():
            rows += pause.rows
            goes_on = at_pause(pause) is not False
            advance(pause.taken, pause.score)
            if not goes_on:
                break
    except TrialError as error:
        raise TrialError(str(error), rows + error.rows) from error.__cause__
    return rows
