"""A folder of runs → figures, a table and one page that shows them all."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from rich.console import Console
from rich.text import Text

from policymix.core.terminal import readable
from policymix.experiments.origins import explain
from policymix.experiments.reproduce import command_of
from policymix.methods.names import meaning_of
from policymix.reports import figures, maps
from policymix.reports.analysis import Measures, across, measure
from policymix.reports.beliefs import belief_of
from policymix.reports.claims import claims, questions, unasked
from policymix.reports.lines import line_of, profile_of, sweep_of
from policymix.reports.page import render
from policymix.reports.results import UTMOST, Results, read_results
from policymix.reports.tables import summary_of, table_of
from policymix.reports.verdicts import Verdict, show
from policymix.storage.folders import write_file
from policymix.storage.records import read_settings

PAGE, TABLE, FIGURES = "report.html", "summary.csv", "figures"
NAMED = 5
"""Domains, at most, that the title of a page names."""


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
        "title": title_of(everything),
        "made": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "command": command,
        "notes": [note for results in everything for note in notes_of(results)],
        "across": across_of(everything),
        "questions": [asked(verdict) for verdict in questions(everything)],
        "domains": [
            section_of(
                results,
                tables[results.domain],
                pictures[results.domain],
                claims(results, everything),
                unasked(results, everything),
            )
            for results in everything
        ],
    }
    told("page")
    write_file(place / PAGE, render(data).encode())
    return place / PAGE


def title_of(everything: Sequence[Results]) -> str:
    """The domains by name, as long as they fit."""
    if len(everything) > NAMED:
        return f"policymix: {len(everything)} domains"
    return "policymix: " + ", ".join(results.title for results in everything)


def draw_all(results: Results, folder: Path) -> list[tuple[str, str]]:
    """Every figure a domain has rows for: titles and files."""
    name = results.domain
    wanted: list[tuple[str, str, Callable[[], Figure]]] = [
        ("Learning curves (figure 2)", "curves", lambda: figures.curves(results)),
        ("Areas and profiles", "summary", lambda: figures.summary(results)),
    ]
    if results.view is not None and results.believer is not None:
        wanted.append(
            ("The mixture (figure 3)", "mixture", lambda: maps.mixture(results))
        )
    if any("right" in seen.arrays for seen in results.seen.values()):
        wanted.append(("Is it right?", "rightness", lambda: figures.rightness(results)))
    if results.sweeps:
        wanted.append(
            ("Sweeps (figures 5 to 7)", "sweeps", lambda: figures.sweeps(results))
        )
    if results.study.drawings is not None:
        wanted.append(
            ("The tasks (figure 4)", "drawings", lambda: maps.drawings(results))
        )
    return [
        (
            title.partition(" (figure")[0] if results.own else title,
            f"{FIGURES}/{figures.write_figure(folder, f'{name}-{part}', make).name}",
        )
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
    if any(np.abs(c.scores).max() >= UTMOST for c in results.curves.values()):
        notes.append(f"{results.domain}: scores beyond ±{UTMOST:g} count as that.")
    notes += [f"{folder} is not finished." for folder in results.unfinished]
    return notes


def across_of(everything: Sequence[Results]) -> list[dict[str, str]]:
    """Methods over all domains; nothing without several domains and both yardsticks."""
    whole = all({"scratch", "oracle"} <= set(results.curves) for results in everything)
    if len(everything) < 2 or not whole:
        return []
    found = across(everything).items()
    return [{"method": name, "cell": show(bounds)} for name, bounds in found]


def asked(verdict: Verdict) -> dict[str, str | None]:
    """A question for the page."""
    return {
        "question": verdict.claim,
        "answer": verdict.answer,
        "sentence": verdict.sentence,
        "doubt": verdict.doubt,
        "alone": verdict.alone,
    }


def section_of(
    results: Results,
    table: Sequence[Measures],
    pictures: Sequence[tuple[str, str]],
    verdicts: Sequence[Verdict],
    missing: str = "",
) -> dict[str, Any]:
    """One domain for the page."""
    facts = results.facts
    first, last = facts["seed"], facts["seed"] + facts["trials"] - 1
    return {
        "name": results.domain,
        "title": results.title,
        "about": results.study.about,
        "measure": facts["measure"],
        "better": facts["better"],
        "trials": facts["trials"],
        "seeds": f"{first}–{last}",
        "steps": facts["settings"]["steps"],
        "limits": None,
        "claims": [verdict._asdict() for verdict in verdicts],
        "unasked": missing,
        "methods": [
            line_of(curve) | {"means": meaning_of(curve.method, results.source_names)}
            for curve in results.curves.values()
        ],
        "summary": summary_of(results, table),
        "profile": profile_of(results),
        "sweeps": [
            sweep_of(results, setting, values)
            for (_, setting), values in results.sweeps.items()
        ],
        "belief": belief_of(results),
        "settings": settings_table(results),
        "facts": circumstances_of(results),
        "figures": [list(picture) for picture in pictures],
    }


def settings_table(results: Results) -> list[dict[str, str]]:
    """Every setting with the paper's value and its origin."""
    settings = read_settings(results.facts["settings"])
    return [
        {
            "name": row.name,
            "value": str(row.value),
            "paper": "–" if row.paper is None else str(row.paper),
            "origin": row.origin,
        }
        for row in explain("" if results.own else results.domain, settings)
    ]


def circumstances_of(results: Results) -> list[list[str]]:
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


def make_report(place: Path, console: Console) -> Path:
    """The report on a folder, with word of what is being made."""
    with console.status("report …") as status:

        def told(what: str) -> None:
            status.update(Text(readable(f"{what} …")))

        page = report(place, command_of(place), told)
    console.print(f"report: {page.resolve()}", soft_wrap=True)
    return page
