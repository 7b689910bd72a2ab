"""What is made to be killed or damaged: small, and of every format that is read."""

import math
import time
from dataclasses import replace
from functools import cache
from pathlib import Path

from policymix.core.progress import silent
from policymix.core.terminal import Terminal
from policymix.experiments.plans import Experiment, Part
from policymix.experiments.reproduce import keep_note, run_all
from policymix.experiments.runner import run_methods
from policymix.reports.results import read_results
from policymix.sources.library import SourceLibrary
from policymix.storage import runs
from policymix.storage.folders import NOTE as NOTE_FILE
from policymix.storage.places import held
from policymix.training.agent import TrainedAgent
from policymix.training.task import load_task, prepare
from policymix.training.train import train

NOTE = {"seed": 5, "quick": True, "command": "policymix reproduce maze --out it"}
TRIALS, SEED = 2, 5
EVERY = 20
METHODS = ("scratch", "phi1")
EVALUATIONS = 31
"""Of every method, the one before the first sample included."""


@cache
def small():
    """A task and settings; once in a process, since it begins JAX."""
    task = prepare(load_task("maze"))
    sizes = {"steps": EVERY * (EVALUATIONS - 1), "evaluate_every": EVERY}
    tests = {"evaluation_episodes": 1, "final_episodes": 1, "refresh_every": EVERY}
    return task, replace(task.domain.settings, **sizes, **tests)


def told_to(log, *words):
    """A line of a file."""
    with Path(log).open("a") as file:
        file.write(" ".join(map(str, words)) + "\n")


def telling(log):
    """Progress that writes down which evaluations are kept, by method."""

    def begin(title, total, measure):
        done = 0

        def advance(taken, score):
            nonlocal done
            done += taken
            if not math.isnan(score):  # or else it is where an earlier one was
                told_to(log, title, done // TRIALS // EVERY)

        return advance

    return begin


def run(out, log=None):
    """`policymix run`, which writes as it goes."""
    task, settings = small()
    begin = silent if log is None else telling(log)
    if log is not None:
        told_to(log, "start", time.time())
    with held(out):
        run_methods(task, METHODS, settings, SEED, TRIALS, out, begin)


def reproduce(out, log=None):
    """`policymix reproduce`, which goes on where it stopped."""
    task, settings = small()
    if log is not None:
        told_to(log, "start", time.time())
    with held(out):
        keep_note(out, NOTE)
        parts = tuple(Part(name) for name in METHODS)
        experiment = Experiment(task, settings, TRIALS, SEED, parts)
        run_all([experiment], out, Terminal(quiet=True))


def train_kept(out, log, method):
    """`pm.train(..., checkpoint=)`, which tells of an evaluation before it is kept."""
    task, settings = small()
    told_to(log, "start", time.time())
    train(
        task,
        method,
        settings=settings,
        seed=SEED,
        trials=TRIALS,
        progress=False,
        callback=lambda now: told_to(log, method, now.step // EVERY),
        checkpoint=out,
    )


def save(out):
    """Train, and keep the agent."""
    task, settings = small()
    train(task, "scratch", settings=settings, progress=False).agents[0].save(out)


def keep_sources(out):
    """A library in a folder."""
    small()[0].sources.save(out, {"domain": "maze", "sources": {}})


def begin_training(out):
    """A checkpoint."""
    task, settings = small()
    options = {"settings": settings, "progress": False, "checkpoint": out}
    train(task, "scratch", callback=lambda now: now.step < 2 * EVERY, **options)


def go_on(folder):
    """What a training does that finds a checkpoint; nothing more is run."""
    task, settings = small()
    options = {"settings": settings, "progress": False, "checkpoint": folder}
    train(task, "scratch", callback=lambda now: False, **options)


def read_experiment(folder):
    """What a report reads."""
    if (folder / NOTE_FILE).exists():
        keep_note(folder, NOTE)
    read_results(folder)


FORMATS = {
    "library": (keep_sources, SourceLibrary.load),
    "task": (keep_sources, load_task),
    "agent": (save, TrainedAgent.load),
    "checkpoint": (begin_training, go_on),
    "run": (run, runs.read_run),
    "experiment": (reproduce, read_experiment),
}
"""What writes a folder of a format, and what reads it."""
