"""The demonstration: what transfer brings on a small task, in a minute or two."""

from pathlib import Path

import numpy as np
from rich import box
from rich.table import Table

from policymix.core.seeds import check_seed
from policymix.core.terminal import Terminal
from policymix.environments.registry import DEMO
from policymix.experiments.plans import plan
from policymix.experiments.reproduce import keep_note, run_all
from policymix.methods.names import meaning_of
from policymix.reports.analysis import ends
from policymix.reports.claims import trusts_the_right_source
from policymix.reports.report import make_report
from policymix.reports.results import Results, read_results
from policymix.reports.statistics import standard_error
from policymix.reports.verdicts import number
from policymix.storage.places import held
from policymix.training.task import load_task, prepare

EARLY = 5_000
"""Samples after which the table looks."""


def demo(out: Path, trials: int, seed: int) -> None:
    """Compare MARS with every single source, a vote of all and no transfer."""
    task = prepare(load_task(DEMO))
    first = check_seed(seed, trials)
    experiment = plan(task, first, quick=False)._replace(trials=trials)
    command = f"policymix demo --trials {trials} --seed {seed}"
    console = Terminal()
    console.print(task.domain.study.about)
    with held(out):
        keep_note(out, {"seed": seed, "quick": False, "command": command})
        run_all([experiment], out, console)
    (results,) = read_results(out)
    console.print(demo_table(task.domain.title, results))
    console.print(trusts_the_right_source(results).sentence)
    make_report(out, console)


def demo_table(name: str, results: Results) -> Table:
    """Scores early, at the end and there without the sources."""
    facts = results.facts
    title = (
        f"{name}: {facts['measure']}, mean ± standard error of {facts['trials']} trials"
    )
    table = Table(title=title, box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("method", no_wrap=True)
    table.add_column("which is", overflow="fold")
    for column in (f"after {EARLY:,}\nsamples", "at the\nend", "without\nsources"):
        table.add_column(column, justify="right", no_wrap=True)
    table.caption = f"{facts['settings']['steps']:,} samples of the target a trial"
    last, alone = ends(results), ends(results, alone=True)
    for method, curve in results.curves.items():
        early = curve.scores[np.flatnonzero(curve.steps <= EARLY)[-1]]
        shown = (early, last[method], alone[method])
        words = meaning_of(method, results.source_names)
        table.add_row(method, words, *map(mean_of_trials, shown))
    return table


def mean_of_trials(values: np.ndarray) -> str:
    """With its standard error."""
    return f"{number(float(values.mean()))} ± {number(float(standard_error(values)))}"
