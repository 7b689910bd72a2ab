"""The directive `kinds`: what methods reached with each kind of advice, and the bars.

`kinds mars follow` prints a row for each domain of the folder of runs, then every claim
with its answer. Where nothing was run yet, it says so.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from published import Table, check_names, in_two_lines
from sphinx.application import Sphinx

from policymix.environments.registry import GROUPS
from policymix.experiments.reproduce import NOTE, command_of
from policymix.reports.analysis import Measures, measure
from policymix.reports.claims import claims
from policymix.reports.results import Results, read_results
from policymix.reports.tables import claim_cells, grid
from policymix.reports.verdicts import show

GROUP = "advice"
FOLDER = f"results/{GROUP}"
"""Beside the pages' folder."""


def kinds_tables(place: Path, names: Sequence[str]) -> str:
    """Markdown: areas and ends by domain and method, then the claims."""
    if not (place / NOTE).exists():
        return f"*Not run yet:* `policymix reproduce {GROUP} --out {FOLDER}`"
    found = {results.domain: results for results in read_results(place)}
    everything = [found[name] for name in GROUPS[GROUP] if name in found]
    known = {row.method: None for results in everything for row in measure(results)}
    check_names(names, list(known), "run of")
    rows = [[first_cell(results), *cells_of(results, names)] for results in everything]
    header = ["area <br>end <br>alone", *(f"`{name}`" for name in names)]
    answers = [
        [results.title, *claim_cells(verdict)]
        for results in everything
        for verdict in claims(results, everything)
    ]
    return "\n".join(
        [
            *grid(header, rows),
            "",
            f"`{command_of(place)}`",
            "",
            *grid(["", "claim", "answer", "figures", "without sources"], answers),
        ]
    )


def first_cell(results: Results) -> str:
    """Which kind it is, and what scores count."""
    facts = results.facts
    return (
        f"{results.title} <br>({facts['measure']}, {facts['better']} is better, "
        f"{facts['trials']} trials of {facts['settings']['steps']:,} samples)"
    )


def cells_of(results: Results, names: Sequence[str]) -> list[str]:
    """Area and end of each method, and the end alone."""
    table = {row.method: row for row in measure(results)}
    return [cell_of(table[name]) if name in table else "–" for name in names]


def cell_of(row: Measures) -> str:
    """Three lines."""
    return " <br>".join(
        "–" if bounds is None else in_two_lines(show(bounds))
        for bounds in (row.area, row.end, row.alone)
    )


class KindsTables(Table):
    """What methods reached with imperfect advice."""

    required_arguments = 1

    def make(self, names: Sequence[str]) -> str:
        """From the folder of runs."""
        return kinds_tables(self.watched(FOLDER), names)


def setup(app: Sphinx) -> dict[str, Any]:
    """Tell Sphinx."""
    app.add_directive("kinds", KindsTables)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
