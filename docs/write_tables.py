"""Write the tables of pages that are read as they are, and figures in sentences.

    python docs/write_tables.py

What stands between `<!-- rows: NAME DOMAIN -->` and `<!-- end -->` is made from runs
in `results`, as `policymix report` measures them, and so is a figure before a comment
that asks for it (`figures.py`); the rest of a page is left alone.
"""

import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from figures import everything, with_figures

from policymix.reports.analysis import across, measure
from policymix.reports.claims import claims, questions, unasked
from policymix.reports.results import Results, read_results
from policymix.reports.statistics import area
from policymix.reports.tables import claim_cells, grid, share, with_error
from policymix.reports.verdicts import number, show

ROOT = Path(__file__).parents[1]
PAGES = {"docs/results.md": "results/paper", "docs/inventory.md": "results/inventory"}
"""Page → folder of runs."""
BLOCK = re.compile(r"(<!-- rows: (.+?) -->\n).*?(<!-- end -->)", re.DOTALL)


def methods(results: Results) -> list[str]:
    """What every method reached."""
    header = (
        *("method", "area: IQM [95 %]", "area: mean ± s.e.", "end: IQM [95 %]"),
        *("alone: IQM [95 %]", "samples to 90 % (arrived)"),
        *("P(better than `scratch`)", "P(negative transfer)"),
    )
    rows = []
    for row in measure(results):
        time, arrived = row.arrivals[-1]
        rows.append(
            [
                *(f"`{row.method}`", show(row.area), with_error(row)[0], show(row.end)),
                "–" if row.alone is None else show(row.alone),
                f"{time:,.0f} ({arrived} of {results.facts['trials']})",
                *(share(row.beats_scratch), share(row.harms)),
            ]
        )
    return grid(header, rows)


def regret(results: Results) -> list[str]:
    """The same, as short as it can be."""
    header = ("method", "regret per month over the run", "at the end")
    rows = [
        [f"`{row.method}`", show(row.area), show(row.end)] for row in measure(results)
    ]
    return grid(header, rows)


def answers(results: Results) -> list[str]:
    """Every claim."""
    header = ("claim", "answer", "figures", "without sources")
    rows = map(claim_cells, claims(results))
    missing = unasked(results)
    return [*grid(header, [*rows]), *(["", missing] if missing else [])]


def sweeps(results: Results) -> list[str]:
    """The mean area for each value of each sweep."""
    lines = []
    for (method, setting), values in results.sweeps.items():
        own = results.facts["settings"][setting]
        told = [
            f"{value:g} → {number(area(curve.steps, curve.scores).mean())}"
            f"{' (the domain’s own)' if value == own else ''}"
            for value, curve in values.items()
        ]
        lines.append(f"* `{setting}` of `{method}`: {', '.join(told)}")
    return lines


def asked(everything: Sequence[Results]) -> list[str]:
    """The paper's questions, over all domains."""
    return [
        f"* **{verdict.claim} {verdict.answer}.** {verdict.sentence}"
        for verdict in questions(everything)
    ]


def together(everything: Sequence[Results]) -> list[str]:
    """All domains, each counting the same."""
    found = [f"`{name}` {show(bounds)}" for name, bounds in across(everything).items()]
    return [f"{', '.join(found)}."]


BY_DOMAIN: dict[str, Callable[[Results], list[str]]] = {
    "methods": methods,
    "regret": regret,
    "claims": answers,
    "sweeps": sweeps,
}
OVER_ALL: dict[str, Callable[[Sequence[Results]], list[str]]] = {
    "questions": asked,
    "together": together,
}


def written(text: str, everything: Sequence[Results]) -> str:
    """A page with the tables of these runs."""
    return BLOCK.sub(partial(block, everything), text)


def block(everything: Sequence[Results], found: re.Match[str]) -> str:
    """One table, between its marks."""
    name, *domain = found[2].split()
    if name in OVER_ALL:
        lines = OVER_ALL[name](everything)
    else:
        (results,) = [each for each in everything if [each.domain] == domain]
        lines = BY_DOMAIN[name](results)
    return "\n".join([f"{found[1]}", *lines, "", found[3]])


def pages() -> list[Path]:
    """All that may have figures in its sentences."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


if __name__ == "__main__":
    for page, folder in PAGES.items():
        path = ROOT / page
        path.write_text(written(path.read_text("utf-8"), read_results(ROOT / folder)))
    for path in pages():
        path.write_text(with_figures(path.read_text("utf-8"), everything()))
