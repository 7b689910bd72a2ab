"""The table of transfer measures: for the page, and for other programs."""

import csv
import io
from collections.abc import Sequence
from typing import Any

import numpy as np

from policymix.reports.analysis import SHARES, Measures, scale_of
from policymix.reports.results import Results
from policymix.reports.statistics import Interval
from policymix.reports.verdicts import number, show


def share(bounds: Interval | None) -> str:
    """A probability with its interval."""
    if bounds is None:
        return "–"
    if np.isnan(bounds.low):
        return f"{bounds.estimate:.2f}"
    return f"{bounds.estimate:.2f} [{bounds.low:.2f}, {bounds.high:.2f}]"


def with_error(middle: float, error: float) -> str:
    """A mean with its standard error, which one trial does not have."""
    return number(middle) + ("" if np.isnan(error) else f" ± {number(error)}")


def summary_of(results: Results, table: Sequence[Measures]) -> dict[str, Any]:
    """The table of transfer measures."""
    goal, trials = scale_of(results).at(SHARES[-1]), results.facts["trials"]
    better = results.facts["better"]
    columns = [
        ("method", ""),
        (
            "area: IQM [95 %]",
            "Mean score of the whole run: interquartile mean over trials with its "
            f"stratified bootstrap interval; {better} is better.",
        ),
        ("area: mean ± s.e.", "The same as the paper gives it."),
        ("end: IQM [95 %]", "Mean over the last tenth of the tests."),
        (
            "jumpstart [95 %]",
            "First test against no transfer's, in the domain's units; positive is "
            "better.",
        ),
        (
            f"samples to {number(goal)}",
            "Samples until 90 % of the way from no transfer's start to the best end, "
            "for two tests in a row. Trials that never arrive count with the budget; "
            "in brackets how many arrived.",
        ),
        (
            "P(better than no transfer)",
            "Chance that a trial has a better area than a trial without transfer.",
        ),
        (
            "P(negative transfer)",
            "Chance that a trial ends worse than a trial without transfer.",
        ),
    ]
    rows = []
    for row in table:
        time, arrived = row.arrivals[-1]
        start = row.jumpstart
        cells = [
            show(row.area),
            with_error(row.area_mean, row.area_error),
            show(row.end),
            "–" if start is None else show(start),
            f"{time:,.0f} ({arrived} of {trials})",
            share(row.beats_scratch),
            share(row.harms),
        ]
        order = [
            float(row.area.estimate),
            row.area_mean,
            float(row.end.estimate),
            None if start is None else float(start.estimate),
            time,
            None if row.beats_scratch is None else float(row.beats_scratch.estimate),
            None if row.harms is None else float(row.harms.estimate),
        ]
        rows.append({"method": row.method, "cells": cells, "order": order})
    titles = [{"title": title, "help": text} for title, text in columns]
    return {"columns": titles, "rows": rows}


def digits(value: Any) -> str:
    """Six digits; nothing for what is not a number."""
    return "" if np.isnan(value) else f"{value:.6g}"


def table_of(everything: Sequence[Results], tables: dict[str, list[Measures]]) -> bytes:
    """All measures of all methods, for other programs."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    header = ["domain", "method", "trials"]
    for name in ("area_iqm", "end_iqm", "jumpstart", "beats_scratch", "ends_worse"):
        header += [name, f"{name}_low", f"{name}_high"]
    header += ["area_mean", "area_standard_error"]
    for part in SHARES:
        header += [f"samples_to_{part:g}", f"arrived_at_{part:g}"]
    writer.writerow(header)
    for results in everything:
        for row in tables[results.domain]:
            values: list[Any] = [results.domain, row.method, results.facts["trials"]]
            for bounds in (
                *(row.area, row.end, row.jumpstart, row.beats_scratch, row.harms),
            ):
                values += ["", "", ""] if bounds is None else map(digits, bounds)
            values += [digits(row.area_mean), digits(row.area_error)]
            for time, arrived in row.arrivals:
                values += [f"{time:.6g}", arrived]
            writer.writerow(values)
    return text.getvalue().encode()
