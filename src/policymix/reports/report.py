"""A folder of runs → figures, a table and one page that shows them all."""

import csv
import io
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from policymix.domains.maze_files import load_mazes
from policymix.experiments.origins import explain
from policymix.experiments.plans import FORMS, YARDSTICKS
from policymix.experiments.snapshots import ANGLES, POSITIONS
from policymix.experiments.store import Curve
from policymix.files import write_file
from policymix.records import read_settings
from policymix.reports import figures, maps
from policymix.reports.analysis import (
    SHARES,
    Measures,
    across,
    measure,
    profiles,
    scale_of,
)
from policymix.reports.claims import Verdict, claims, number, questions, show
from policymix.reports.page import render
from policymix.reports.palette import SOURCES, SWEEP, style
from policymix.reports.results import Results, Seen, read_results
from policymix.reports.statistics import (
    Interval,
    interquartile_mean,
    interval,
    mean,
    standard_error,
)

PAGE, TABLE, FIGURES = "report.html", "summary.csv", "figures"
POINTS = 101
"""Of a profile."""


def report(place: Path, command: str, told: Callable[[str], None]) -> Path:
    """Read every run at or below a place and write the report beside them.

    Args:
        place: a folder of `policymix run` or `policymix reproduce`.
        command: how the runs were made, for the reader of the page.
        told: is told what is being made.
    """
    everything = read_results(place)
    pictures: dict[str, list[tuple[str, str]]] = {}
    for results in everything:
        told(f"figures of {results.domain}")
        pictures[results.domain] = draw_all(results, place / FIGURES)
    told("statistics")
    tables = {results.domain: measure(results) for results in everything}
    write_file(place / TABLE, table_of(everything, tables))
    data = {
        "title": "policymix: " + ", ".join(map(figures.title_of, tables)),
        "made": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "command": command,
        "notes": [note for results in everything for note in notes_of(results)],
        "across": across_of(everything),
        "questions": [asked(verdict) for verdict in questions(everything)],
        "domains": [
            domain_of(results, tables[results.domain], pictures[results.domain])
            for results in everything
        ],
    }
    told("page")
    write_file(place / PAGE, render(data).encode())
    return place / PAGE


def draw_all(results: Results, folder: Path) -> list[tuple[str, str]]:
    """Every figure a domain has rows for: titles and files."""
    name = results.domain
    wanted: list[tuple[str, str, Callable[[], Figure]]] = [
        ("Learning curves (figure 2)", "curves", lambda: figures.curves(results)),
        ("Areas and profiles", "summary", lambda: figures.summary(results)),
    ]
    if "mars" in results.seen and name in maps.VIEWS:
        wanted.append(
            ("The mixture (figure 3)", "mixture", lambda: maps.mixture(results))
        )
    if any("right" in seen.arrays for seen in results.seen.values()):
        wanted.append(("Is it right?", "rightness", lambda: figures.rightness(results)))
    if results.sweeps:
        wanted.append(
            ("Sweeps (figures 5 to 7)", "sweeps", lambda: figures.sweeps(results))
        )
    if name == "maze":
        wanted.append(("The mazes (figure 4)", "drawings", maps.drawings))
    return [
        (title, f"{FIGURES}/{figures.draw(folder, f'{name}-{part}', make).name}")
        for title, part, make in wanted
    ]


def notes_of(results: Results) -> list[str]:
    """What a reader must know before the figures."""
    notes, trials = [], results.facts["trials"]
    if trials < 10:
        notes.append(
            f"{results.domain}: only {trials} trials of "
            f"{results.facts['settings']['steps']:,} samples. Intervals are wide; "
            "take it as a preview."
        )
    notes += [f"{folder} is not finished." for folder in results.unfinished]
    return notes


def across_of(everything: Sequence[Results]) -> list[dict[str, str]]:
    """Methods over all domains; nothing without several domains and both yardsticks."""
    whole = all({"scratch", "oracle"} <= set(results.curves) for results in everything)
    if len(everything) < 2 or not whole:
        return []
    found = across(everything).items()
    return [{"method": name, "cell": show(bounds)} for name, bounds in found]


def asked(verdict: Verdict) -> dict[str, str]:
    """A question for the page."""
    return {
        "question": verdict.claim,
        "answer": verdict.answer,
        "sentence": verdict.sentence,
    }


def domain_of(
    results: Results, table: Sequence[Measures], pictures: Sequence[tuple[str, str]]
) -> dict[str, Any]:
    """One domain for the page."""
    facts = results.facts
    first, last = facts["seed"], facts["seed"] + facts["trials"] - 1
    return {
        "name": results.domain,
        "title": figures.title_of(results.domain),
        "measure": facts["measure"],
        "better": facts["better"],
        "trials": facts["trials"],
        "seeds": f"{first}–{last}",
        "steps": facts["settings"]["steps"],
        "limits": None,
        "claims": [verdict._asdict() for verdict in claims(results)],
        "methods": [line_of(results, curve) for curve in results.curves.values()],
        "summary": summary_of(results, table),
        "profile": profile_of(results),
        "sweeps": [
            sweep_of(results, setting, values)
            for (_, setting), values in results.sweeps.items()
        ],
        "belief": belief_of(results),
        "settings": settings_of(results),
        "facts": facts_of(results),
        "figures": [list(picture) for picture in pictures],
    }


def plain(values: Any) -> list:
    """Numbers for JSON: four digits are enough for a screen; no number is None."""
    numbers = np.asarray(values, float)
    if numbers.ndim > 1:
        return [plain(row) for row in numbers]
    return [float(f"{x:.5g}") if np.isfinite(x) else None for x in numbers]


def kind_of(method: str) -> str:
    """How the page groups methods."""
    if method in YARDSTICKS:
        return "yardstick"
    return "ours" if method.startswith("mars") or method == "mapse" else "baseline"


def line_of(results: Results, curve: Curve) -> dict[str, Any]:
    """A method's curve, with both kinds of middle and band."""
    colour, dash = style(curve.method)
    middle = interval(curve.scores, interquartile_mean, resamples=500)
    return {
        "name": curve.method,
        "kind": kind_of(curve.method),
        "colour": colour,
        "dash": dash,
        "hidden": curve.method in FORMS or curve.method in YARDSTICKS,
        **mean_of(curve),
        "iqm": plain(middle.estimate),
        "iqm_low": plain(middle.low),
        "iqm_high": plain(middle.high),
    }


def mean_of(curve: Curve) -> dict[str, list]:
    """Mean and standard error, as in the paper."""
    middle, error = mean(curve.scores), np.nan_to_num(standard_error(curve.scores))
    return {
        "steps": curve.steps.tolist(),
        "mean": plain(middle),
        "mean_low": plain(middle - error),
        "mean_high": plain(middle + error),
    }


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


def profile_of(results: Results) -> dict[str, Any]:
    """The performance profile."""
    thresholds = np.linspace(0, 1, POINTS)
    return {
        "label": "mean of the run, 0 = start of no transfer, 1 = best end",
        "thresholds": plain(thresholds),
        "methods": [
            {
                "name": name,
                "share": plain(bounds.estimate),
                "low": plain(bounds.low),
                "high": plain(bounds.high),
            }
            for name, bounds in profiles(results, thresholds).items()
        ],
    }


def sweep_of(
    results: Results, setting: str, values: dict[float, Curve]
) -> dict[str, Any]:
    """The values of one setting."""
    own = results.facts["settings"][setting]
    return {
        "title": figures.SETTINGS.get(setting, setting),
        "series": [
            {
                "name": f"{value:g}" + (" (used above)" if value == own else ""),
                "colour": SWEEP[place % len(SWEEP)],
                **mean_of(curve),
            }
            for place, (value, curve) in enumerate(values.items())
        ],
    }


def belief_of(results: Results) -> dict[str, Any] | None:
    """What the scrubber shows."""
    seen = results.seen.get("mars")
    if seen is None or "weights" not in seen.arrays:
        return None
    views = {"maze": cells, "cartpole": plane, "lander": paths}
    if results.domain not in views:
        return None
    sources = [
        {"name": name, "colour": SOURCES[place % len(SOURCES)]}
        for place, name in enumerate(seen.sources)
    ]
    common = {"method": "mars", "trial": 0, "sources": sources, "steps": seen.steps}
    return common | views[results.domain](seen)


def cells(seen: Seen) -> dict[str, Any]:
    """The maze."""
    maze = load_mazes().target
    rows, columns = maze.walls.shape
    return {
        "kind": "cells",
        "rows": rows,
        "columns": columns,
        "walls": np.asarray(maze.walls).astype(int).ravel().tolist(),
        "start": int(maze.start),
        "goal": int(maze.goal),
        "weights": seen.arrays["weights"].tolist(),
    }


def plane(seen: Seen) -> dict[str, Any]:
    """CartPole's position and angle."""
    return {
        "kind": "plane",
        "x": {"label": "cart position x (m)", "values": plain(POSITIONS)},
        "y": {"label": "pole angle (rad)", "values": plain(ANGLES)},
        "weights": seen.arrays["weights"].tolist(),
    }


def paths(seen: Seen) -> dict[str, Any]:
    """The lander's ways through the air."""
    moments = zip(seen.arrays["places"], seen.arrays["weights"], strict=True)
    return {
        "kind": "paths",
        "x": {"label": "horizontal position", "low": -1.0, "high": 1.0},
        "y": {"label": "altitude", "low": -0.15, "high": 1.6},
        "paths": [
            [
                {
                    "x": plain(track[:, 0]),
                    "y": plain(track[:, 1]),
                    "weights": weights.tolist(),
                }
                for track, weights in zip(*moment, strict=True)
            ]
            for moment in moments
        ],
        "scores": plain(seen.arrays["scores"]),
    }


def settings_of(results: Results) -> list[dict[str, str]]:
    """Every setting with the paper's value and its origin."""
    settings = read_settings(results.facts["settings"])
    return [
        {
            "name": row.name,
            "value": str(row.value),
            "paper": "–" if row.paper is None else str(row.paper),
            "origin": row.origin,
        }
        for row in explain(results.domain, settings)
    ]


def facts_of(results: Results) -> list[list[str]]:
    """With what, where and for how long."""
    facts = results.facts
    spent = facts["source_samples"]
    return [
        ["versions", ", ".join(f"{n} {v}" for n, v in facts["versions"].items())],
        ["machine", facts["devices"]],
        ["wall time of all runs", f"{results.wall_seconds / 60:.1f} minutes"],
        [
            "samples of the sources",
            ", ".join(f"{name} {count:,}" for name, count in spent.items())
            + ": spent once, before; no axis of the figures counts them",
        ],
        [
            "sources (sha-256)",
            ", ".join(
                f"{name} {digest[:12]}" for name, digest in facts["sources"].items()
            ),
        ],
    ]


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
