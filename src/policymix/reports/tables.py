"""The table of transfer measures: for the page, and for other programs."""

import csv
import io
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from policymix.reports.analysis import SHARES, Measures, scale_of
from policymix.reports.results import Results
from policymix.reports.statistics import Interval
from policymix.reports.verdicts import EVERY_TRIAL, Verdict, number, show


class Column(NamedTuple):
    """A measure: its title, what it means, and how a row shows and sorts it."""

    title: str
    help: str
    cell: Callable[[Measures], tuple[str, float | None]]


def middle(bounds: Interval | None) -> float | None:
    """The estimate, if there is one."""
    return None if bounds is None else float(bounds.estimate)


def shown(bounds: Interval | None) -> tuple[str, float | None]:
    """An estimate with its interval."""
    return "–" if bounds is None else show(bounds), middle(bounds)


def share(bounds: Interval | None) -> str:
    """A probability with its interval."""
    if bounds is None:
        return "–"
    if np.isnan(bounds.low):
        return f"{bounds.estimate:.2f}"
    return f"{bounds.estimate:.2f} [{bounds.low:.2f}, {bounds.high:.2f}]"


def with_error(row: Measures) -> tuple[str, float | None]:
    """A mean with its standard error, which one trial and equal trials do not have."""
    middle, error = number(row.area_mean), row.area_error
    if error == 0:
        return f"{middle} {EVERY_TRIAL}", row.area_mean
    return middle + ("" if np.isnan(error) else f" ± {error:.2g}"), row.area_mean


def has_alone(table: Sequence[Measures]) -> bool:
    """Whether any row says what is reached without the sources."""
    return any(row.alone is not None for row in table)


def columns_of(results: Results, table: Sequence[Measures]) -> list[Column]:
    """The measures of the summary; the one without sources where it is known."""
    goal, trials = scale_of(results).at(SHARES[-1]), results.facts["trials"]

    def arrival(row: Measures) -> tuple[str, float | None]:
        time, arrived = row.arrivals[-1]
        return f"{time:,.0f} ({arrived} of {trials})", time

    alone = Column(
        "alone: IQM [95 %]",
        "The end without the sources: what the learner itself has learned.",
        lambda row: shown(row.alone),
    )
    return [
        Column(
            "area: IQM [95 %]",
            "Mean score of the whole run: interquartile mean over trials with its "
            f"stratified bootstrap interval; {results.facts['better']} is better.",
            lambda row: shown(row.area),
        ),
        Column("area: mean ± s.e.", "The same as the paper gives it.", with_error),
        Column(
            "end: IQM [95 %]",
            "Mean over the last tenth of the tests.",
            lambda row: shown(row.end),
        ),
        *([alone] if has_alone(table) else []),
        Column(
            "jumpstart [95 %]",
            "First test against no transfer's, in the domain's units; positive is "
            "better.",
            lambda row: shown(row.jumpstart),
        ),
        Column(
            f"samples to {number(goal)}",
            "Samples until 90 % of the way from no transfer's start to the best end, "
            "for two tests in a row. Trials that never arrive count with the budget; "
            "in brackets how many arrived.",
            arrival,
        ),
        Column(
            "P(better than no transfer)",
            "Chance that a trial has a better area than a trial without transfer.",
            lambda row: (share(row.beats_scratch), middle(row.beats_scratch)),
        ),
        Column(
            "P(negative transfer)",
            "Chance that a trial ends worse than a trial without transfer.",
            lambda row: (share(row.harms), middle(row.harms)),
        ),
    ]


def summary_of(results: Results, table: Sequence[Measures]) -> dict[str, Any]:
    """The table of transfer measures."""
    columns = columns_of(results, table)
    rows = []
    for row in table:
        cells, order = zip(*(column.cell(row) for column in columns), strict=True)
        rows.append({"method": row.method, "cells": list(cells), "order": list(order)})
    titles = [{"title": column.title, "help": column.help} for column in columns]
    return {"columns": [{"title": "method", "help": ""}, *titles], "rows": rows}


def digits(value: Any) -> str:
    """Six digits; nothing for what is not a number."""
    return "" if np.isnan(value) else f"{value:.6g}"


def no_formula(name: str) -> str:
    """A name that no spreadsheet takes for a formula."""
    return f"'{name}" if name[:1] in tuple("=+-@\t\r") else name


def table_of(everything: Sequence[Results], tables: dict[str, list[Measures]]) -> bytes:
    """All measures of all methods, for other programs."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    alone = any(map(has_alone, tables.values()))
    header = ["domain", "method", "trials"]
    names = ["area_iqm", "end_iqm", "jumpstart", "beats_scratch", "ends_worse"]
    for name in names + ["alone_iqm"] * alone:
        header += [name, f"{name}_low", f"{name}_high"]
    header += ["area_mean", "area_standard_error"]
    for part in SHARES:
        header += [f"samples_to_{part:g}", f"arrived_at_{part:g}"]
    writer.writerow(header)
    for results in everything:
        for row in tables[results.domain]:
            names = map(no_formula, (results.domain, row.method))
            values: list[Any] = [*names, results.facts["trials"]]
            told = [row.area, row.end, row.jumpstart, row.beats_scratch, row.harms]
            for bounds in told + [row.alone] * alone:
                values += ["", "", ""] if bounds is None else map(digits, bounds)
            values += [digits(row.area_mean), digits(row.area_error)]
            for time, arrived in row.arrivals:
                values += [f"{time:.6g}", arrived]
            writer.writerow(values)
    return text.getvalue().encode()


def claim_cells(verdict: Verdict) -> list[str]:
    """A claim, its answer and its figures, then both as a sceptic asks."""
    doubt = f"**{verdict.doubt}** {verdict.alone}" if verdict.doubt else "–"
    return [verdict.claim, f"**{verdict.answer}**", verdict.sentence, doubt]


def grid(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a table in Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return [f"| {' | '.join(line)} |" for line in lines]
