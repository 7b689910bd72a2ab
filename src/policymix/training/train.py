"""Train many trials of a method on a task: the interface that users meet."""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from policymix.beliefs.build import MixtureMaker
from policymix.beliefs.mixture import AbstractMixture
from policymix.core.progress import bars
from policymix.core.settings import Settings
from policymix.methods.method import Recipe
from policymix.storage.places import held
from policymix.storage.runs import Row
from policymix.training.agent import TrainedAgent
from policymix.training.arguments import callbacks_of, check_settings
from policymix.training.checkpoint import Checkpoint
from policymix.training.milestone import Callback, inform
from policymix.training.run import Pause, TrainingRun, carry_out, new_run
from policymix.training.task import TransferTask, prepare

if TYPE_CHECKING:
    from policymix.core.pictures import Picture


@dataclass(frozen=True)
class Training:
    """What training gives: an agent for each trial, and their learning curves."""

    agents: tuple[TrainedAgent, ...]
    rows: tuple[Row, ...]
    status: str = "finished"
    """Or "stopped", by a callback: rows and agents are those of that moment."""

    def curve(self) -> tuple[np.ndarray, np.ndarray]:
        """Steps of the evaluations, and scores [evaluations, trials]."""
        steps = sorted({row.step for row in self.rows})
        scores = np.array([row.score for row in self.rows])
        return np.array(steps), scores.reshape(len(steps), len(self.agents))

    def plot(self) -> "Picture":
        """The learning curve: mean, a band of one standard error, every trial."""
        from policymix.core.pictures import curve_picture

        agent = self.agents[0]
        title = f"{agent.task.domain.name}, {agent.method}"
        return curve_picture(*self.curve(), title, agent.task.domain.measure)

    def _repr_html_(self) -> str:
        from policymix.core.pictures import image_tag

        agent, last = self.agents[0], self.curve()[1][-1]
        told = (
            f"{agent.method} on {agent.task.domain.name}: {agent.task.domain.measure} "
            f"{last.mean():.4g} at the end, {len(last)} trials, {self.status}"
        )
        return f"<p>{escape(told)}</p>{image_tag(self.plot())}"


def train(
    task: TransferTask | str,
    method: str | Recipe = "mars",
    *,
    steps: int | None = None,
    seed: int = 0,
    trials: int = 1,
    settings: Settings | None = None,
    mixture: AbstractMixture | MixtureMaker | None = None,
    cores: int | None = None,
    progress: bool = True,
    callback: Callback | Sequence[Callback] = (),
    evaluate_on: Any = None,
    checkpoint: str | Path | None = None,
) -> Training:
    """Learn the target of a task with the help of its sources.

    Args:
        task: from `load_task`, a domain's name, or a `TransferTask` of your own.
        method: "mars", "mapse", "scratch", …, or a recipe of your own.
        steps: samples of the target; by default those of the settings.
        seed: trial t has seed + t.
        trials: independent repetitions, run side by side.
        settings: by default the domain's; for own targets `DEFAULTS`, or
            `TABLE_DEFAULTS` if observations and actions are numbers.
        mixture: one of your own, or a function (sources, settings) that makes it; by
            default what the settings ask for.
        cores: of the processor to use, a shard of the trials on each; None uses all,
            1 leaves the others alone.
        progress: show a bar with samples, speed, score and time left.
        callback: is called with a `Milestone` at every evaluation, the one before the
            first sample included, and stops the training by returning False; or
            several of them.
        evaluate_on: where to test: an environment, its id, a function that makes one
            or a domain, with the target's spaces. By default the target.
        checkpoint: a folder to keep the whole state in, from evaluation to evaluation.
            If it holds this very training already, that goes on where it was, and ends
            as if it had never been interrupted.
    """
    callbacks = callbacks_of(callback)
    task = prepare(task)
    settings = task.domain.settings if settings is None else settings
    check_settings(settings)
    if steps is not None:
        settings = replace(settings, steps=steps)
    run = new_run(
        task,
        method,
        settings,
        seed,
        trials,
        mixture=mixture,
        cores=cores,
        evaluate_on=evaluate_on,
        recorded=checkpoint is not None,
    )
    return _carried_out(run, callbacks, progress, checkpoint)


def _carried_out(
    run: TrainingRun,
    callbacks: Sequence[Callback],
    progress: bool,
    checkpoint: str | Path | None,
) -> Training:
    """Run, from a checkpoint on if there is one, and tell callbacks on the way."""
    title, status = f"{run.task.domain.name} {run.name}", "finished"
    kept = None if checkpoint is None else Checkpoint(checkpoint, run)
    with (
        nullcontext() if kept is None else held(kept.folder),
        bars(quiet=not progress) as begin,
    ):
        reached = [] if kept is None else kept.resume().rows

        def at_pause(pause: Pause) -> bool:
            nonlocal status
            reached.extend(pause.rows)
            goes_on = inform(callbacks, run, pause)
            if kept is not None and pause.rows:
                kept.save(reached)
            ended = pause.step == run.settings.steps
            status = "finished" if goes_on or ended else "stopped"
            return goes_on

        rows = carry_out(run, begin, title, at_pause, tuple(reached))
    return Training(run.agents(), tuple(rows), status)
