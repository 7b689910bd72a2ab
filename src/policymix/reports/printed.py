"""Answers that are printed: sources, the summary of a run, checks."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from rich import box
from rich.table import Table

from policymix.core.executor import Executor
from policymix.core.progress import bars
from policymix.core.terminal import Terminal
from policymix.environments.registry import find_domain
from policymix.reports.results import UTMOST
from policymix.reports.statistics import area
from policymix.reports.verdicts import FINEST
from policymix.sources.fingerprint import fingerprint
from policymix.storage.places import held
from policymix.storage.runs import Row
from policymix.training.source_library import source_facts, train_library
from policymix.training.task import TransferTask, load_task


def train_sources(
    domain: str, out: Path, seed: int, executor: Executor | None = None
) -> None:
    """Train a library with bars, save it and show it."""
    find_domain(domain).spec()
    with held(out, whole=True):
        with bars() as begin:
            library, facts = train_library(domain, seed, begin, executor)
        library.save(out, facts)
    show_sources(str(out))
    Terminal().print(f"library written to {out}", soft_wrap=True, highlight=False)


def show_sources(place: str) -> None:
    """A table of a library's sources, and how it was made."""
    task = load_task(place)
    facts, domain = task.facts, task.domain
    title = f"{domain.name}: {domain.measure} and model errors of {place}"
    table = Table(title=title, box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("source", no_wrap=True)
    for column in (
        *("own\nscore", "target\nscore", "own\nerror", "target\nerror"),
        *("still\nerror", "samples", "sha-256"),
    ):
        table.add_column(column, justify="right", no_wrap=True)
    for source in task.sources.sources:
        row = facts["sources"][source.name]
        if facts["domain"] != domain.name:
            row = source_facts(domain, source, row["samples"])
        table.add_row(
            source.name,
            f"{row['own_score']:.1f}",
            f"{row['zero_shot']:.1f}",
            f"{row['own_error']:.2g}",
            f"{row['target_error']:.2g}",
            f"{row['own_still']:.2g}",
            f"{row['samples']:,}",
            fingerprint(source)[:8],
        )
    console = Terminal()
    console.print(table)
    scores = "exact" if domain.score is None else "means of 100 greedy episodes"
    console.print(
        f"Scores are {scores}. Errors are squared and summed over components (tables: "
        "share of wrong predictions; densities: −log P in nats), on fresh transitions "
        "of the source's policy; the still error is that of predicting no change at "
        "home (densities: of a guess among all states)."
    )
    console.print(f"made by: {facts['command']}", highlight=False)


def summary_table(task: TransferTask, rows: Sequence[Row]) -> Table:
    """Mean and standard error over trials: the whole run, its end and that alone.

    The mean of the run is that of reports and their answers.
    """
    trials = 1 + max(row.trial for row in rows)
    count = f"{trials} trial{'s' if trials > 1 else ''}"
    title = f"{task.domain.name}: {task.domain.measure}, {count}"
    table = Table(title=title, box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("method", no_wrap=True)
    for column in ("mean of the run", "at the end", "alone at the end"):
        table.add_column(f"{column}\n(± standard error)", justify="right")
    for method in dict.fromkeys(row.method for row in rows):
        own = [(r.step, r.score, r.alone) for r in rows if r.method == method]
        steps, scores, alone = np.array(own).T.reshape(3, -1, trials)
        run = area(steps[:, 0], np.clip(scores, -UTMOST, UTMOST))
        told = map(mean_and_error, (run, scores[-1], alone[-1]))
        table.add_row(method, *told)
    table.caption = "alone: tested without its sources"
    return table


def mean_and_error(values: np.ndarray) -> str:
    """A mean over trials with its standard error, and digits enough to tell them."""
    values = np.clip(values, -UTMOST, UTMOST)
    middle, size = values.mean(), np.abs(values).max()
    error = values.std(ddof=1) / len(values) ** 0.5 if len(values) > 1 else 0.0
    if size >= 1e15:
        form = ".3g"
    else:
        smallest = error or size or 1.0
        form = f".{np.clip(-np.floor(np.log10(smallest)), 1, FINEST):.0f}f"
    told = f"{middle:{form}}"
    return told if len(values) < 2 else f"{told} ± {error:{form}}"
