"""`policymix run`: methods on a domain, or on the task of a user's own code."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from policymix.core.progress import bars
from policymix.core.settings import Settings
from policymix.core.terminal import Terminal
from policymix.experiments.blocks import Blockwise
from policymix.experiments.run_blocks import run_methods_on
from policymix.experiments.runner import run_methods
from policymix.experiments.watched import rows_of
from policymix.reports.claims import claims
from policymix.reports.compare import run_comparison
from policymix.reports.printed import summary_table
from policymix.reports.results import read_results
from policymix.storage.places import held
from policymix.storage.runs import FACTS, ROWS
from policymix.training.task import TransferTask, load_task, prepare


def run_and_print(
    place: str,
    methods: Sequence[str],
    trials: int,
    seed: int,
    steps: int | None,
    out: Path,
    blockwise: Blockwise | None = None,
) -> None:
    """Train methods with bars, write the run's folder and print a summary."""
    task = prepare(load_task(place))
    settings = task.domain.settings
    if steps is not None:
        settings = replace(settings, steps=steps)
    if task.is_own:
        run_own(place, task, methods, settings, seed, trials, out, blockwise)
        return
    numbers = (settings, seed, trials, out)
    with held(out), bars() as begin:
        if blockwise is None:
            rows = run_methods(task, methods, *numbers, begin)
        else:
            rows = run_methods_on(blockwise, task, methods, *numbers, begin)
    Terminal().print(summary_table(task, rows))
    print(f"rows: {out / ROWS}   facts: {out / FACTS}")


def run_own(
    place: str,
    task: TransferTask,
    methods: Sequence[str],
    settings: Settings,
    seed: int,
    trials: int,
    out: Path,
    blockwise: Blockwise | None = None,
) -> None:
    """The same on a task of one's own: what is there is kept, and answers are given."""
    command = (
        f"policymix run {place} --methods {' '.join(methods)} --trials {trials} "
        f"--seed {seed} --steps {settings.steps} --out {out.name}"
    )
    console = Terminal()
    where = (settings, seed, trials, out, console)
    with held(out):
        run_comparison(task, methods, *where, command=command, blockwise=blockwise)
    (results,) = read_results(out)
    curves = results.curves.values()
    rows = [row for curve in curves for row in rows_of(results.domain, curve)]
    console.print(summary_table(task, rows))
    for verdict in claims(results):
        told = f"{verdict.claim} {verdict.answer}. {verdict.sentence}"
        console.print(told, soft_wrap=True, markup=False, highlight=False)
    print(f"rows: {out / '*' / ROWS}   a page: policymix report {out}")
