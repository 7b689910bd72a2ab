"""Train many trials of a method on a task: the interface that users meet."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from policymix.beliefs.build import MixtureMaker
from policymix.beliefs.mixture import AbstractMixture
from policymix.core.progress import bars
from policymix.core.settings import Settings
from policymix.methods.method import Recipe
from policymix.storage.runs import Row
from policymix.training.agent import TrainedAgent
from policymix.training.milestone import Callback, inform
from policymix.training.run import Pause, carry_out, new_run
from policymix.training.task import TransferTask, load_task, prepare


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
) -> Training:
    """Learn the target of a task with the help of its sources.

    Args:
        task: from `load_task`, a domain's name, or a `TransferTask` of your own.
        method: "mars", "mapse", "scratch", …, or a recipe of your own.
        steps: samples of the target; by default those of the settings.
        seed: trial t has seed + t.
        trials: independent repetitions, run side by side.
        settings: by default the domain's, for own targets `DEFAULTS`.
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
    """
    callbacks = (callback,) if callable(callback) else tuple(callback)
    task = prepare(load_task(task) if isinstance(task, str) else task)
    settings = task.domain.settings if settings is None else settings
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
    )
    status = "finished"

    def at_pause(pause: Pause) -> bool:
        nonlocal status
        goes_on = inform(callbacks, run, pause)
        status = "finished" if goes_on or pause.step == settings.steps else "stopped"
        return goes_on

    with bars(quiet=not progress) as begin:
        rows = carry_out(run, begin, f"{task.domain.name} {run.name}", at_pause)
    return Training(run.agents(), tuple(rows), status)
