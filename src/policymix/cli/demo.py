"""The demonstration: what transfer brings on a small task, in a minute or two."""

from pathlib import Path

import numpy as np
from rich import box
from rich.table import Table

from policymix.core.seeds import check_seed
from policymix.core.terminal import Terminal
from policymix.environments.registry import DEMO
from policymix.experiments.plans import Experiment, Part
from policymix.experiments.reproduce import keep_note, run_all
from policymix.reports.analysis import areas, ends
from policymix.reports.claims import trusts_the_right_source
from policymix.reports.report import make_report
from policymix.reports.results import Results, read_results
from policymix.reports.statistics import standard_error
from policymix.reports.verdicts import number
from policymix.storage.places import held
from policymix.training.task import TransferTask, load_task, prepare

EARLY = 2_000
"""Samples after which the table looks."""
WORDS = {
    "mars": "advice of the mixture",
    "mapse": "the mixture leads exploration",
    "scratch": "no transfer",
}


def demo(out: Path, trials: int, seed: int) -> None:
    """Compare MARS with no transfer, MAPSE and the best single source."""
    task = prepare(load_task(DEMO))
    best = best_source(task)
    methods = ("mars", f"phi{best + 1}", "scratch", "mapse")
    experiment = Experiment(
        task=task,
        settings=task.domain.settings,
        trials=trials,
        seed=check_seed(seed, trials),
        parts=tuple(map(Part, methods)),
    )
    command = f"policymix demo --trials {trials} --seed {seed}"
    console = Terminal()
    with held(out):
        keep_note(out, {"seed": seed, "quick": False, "command": command})
        run_all([experiment], out, console)
    (results,) = read_results(out)
    words = WORDS | {methods[1]: f"one source alone: {task.sources.names[best]}"}
    console.print(demo_table(task.domain.title, results, words))
    console.print(trusts_the_right_source(results).sentence)
    make_report(out, console)


def best_source(task: TransferTask) -> int:
    """The source that does best on the target without learning."""
    facts = task.facts["sources"]
    scores = [facts[name]["zero_shot"] for name in task.sources.names]
    return scores.index(max(scores))


def demo_table(name: str, results: Results, words: dict[str, str]) -> Table:
    """Scores early, over the run, at its end and there without the sources."""
    facts = results.facts
    title = (
        f"{name}: {facts['measure']}, mean ± standard error of {facts['trials']} trials"
    )
    table = Table(title=title, box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("method", no_wrap=True)
    table.add_column("which is")
    samples = f"{facts['settings']['steps']:,}"
    over, last, alone = areas(results), ends(results), ends(results, alone=True)
    columns = [f"after {EARLY:,}\nsamples", "mean of\nthe run", "at the\nend"]
    for column in columns + ["without\nsources"] * bool(alone):
        table.add_column(column, justify="right", no_wrap=True)
    table.caption = f"{samples} samples of the target in each trial"
    for name, curve in results.curves.items():
        early = curve.scores[curve.steps.tolist().index(EARLY)]
        shown = [
            early,
            over[name],
            last[name],
            *([alone[name]] if name in alone else []),
        ]
        table.add_row(name, words.get(name, ""), *map(mean_of_trials, shown))
    return table


def mean_of_trials(values: np.ndarray) -> str:
    """With its standard error."""
    return f"{number(float(values.mean()))} ± {number(float(standard_error(values)))}"
