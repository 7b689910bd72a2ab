"""The directive `external`: another paper's table, and our methods in it.

`external mars scratch` prints the published rows, then ours: the mean return of all
training episodes within a quarter, a half, three quarters and all of the samples. Where
nothing was run yet, it says so.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from published import Table, check_names, in_two_lines
from sphinx.application import Sphinx

from policymix.environments.registry import GROUPS
from policymix.experiments.reproduce import NOTE, command_of
from policymix.reports.results import Results, read_results
from policymix.reports.statistics import mean, stratified_interval
from policymix.reports.tables import grid
from policymix.reports.verdicts import show
from policymix.storage.runs import Curve

GROUP = "acrobot"
FOLDER = f"results/{GROUP}"
"""Beside the pages' folder."""
SHARES = (0.25, 0.5, 0.75, 1.0)
PUBLISHED = {
    "PPO alone": (
        *("-307 [-341, -276]", "-154 [-172, -136]"),
        *("-120 [-134, -106]", "-106 [-118, -93]"),
    ),
    "one source and a residual": (
        *("-156 [-169, -143]", "-115 [-124, -106]"),
        *("-100 [-107, -92]", "-93 [-100, -86]"),
    ),
    "MULTIPOLAR, four sources": (
        *("-147 [-158, -136]", "-111 [-119, -103]"),
        *("-98 [-105, -91]", "-92 [-99, -86]"),
    ),
}
"""As its repository's notebook `Sampling_efficiency` prints them: means over 30 runs
(PPO) or 90, with bootstrapped 95 % intervals."""


def external_table(place: Path, names: Sequence[str]) -> str:
    """Markdown: the published rows, then ours where they have been run."""
    header = ["", "who", *(f"{share:.0%}".replace("%", " %") for share in SHARES)]
    rows = [["published", who, *cells] for who, cells in PUBLISHED.items()]
    if not (place / NOTE).exists():
        missing = f"*Not run yet:* `policymix reproduce {GROUP} --out {FOLDER}`"
        return "\n".join([*grid(header, map_cells(rows)), "", missing])
    found = {results.domain: results for results in read_results(place)}
    everything = [found[name] for name in GROUPS[GROUP] if name in found]
    for results in everything:
        check_names(names, list(results.curves), "run of")
    rows += [["ours", f"`{name}`", *our_cells(everything, name)] for name in names]
    runs = sum(results.facts["trials"] for results in everything)
    steps = everything[0].facts["settings"]["steps"]
    size = f"Ours: {len(everything)} machines, {runs} runs of {steps:,} samples"
    told = [*grid(header, map_cells(rows)), "", f"{size}; `{command_of(place)}`"]
    return "\n".join(told)


def map_cells(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    """Intervals stand below their estimates; a minus is a minus."""
    return [
        [*first, *(in_two_lines(cell).replace("-", "\N{MINUS SIGN}") for cell in cells)]
        for (*first,), cells in ((row[:2], row[2:]) for row in rows)
    ]


def our_cells(everything: Sequence[Results], name: str) -> list[str]:
    """One method: means over all runs, resampled machine by machine."""
    curves = [results.curves[name] for results in everything]
    return [
        show(stratified_interval([at_share(curve, share) for curve in curves], mean))
        for share in SHARES
    ]


def at_share(curve: Curve, share: float) -> np.ndarray:
    """Every run's mean return of training episodes within a share of the samples."""
    (row,) = np.flatnonzero(curve.steps == round(share * curve.steps[-1]))
    return curve.training[row]


class ExternalTable(Table):
    """Another paper's table."""

    required_arguments = 1

    def make(self, names: Sequence[str]) -> str:
        """From the folder of runs."""
        return external_table(self.watched(FOLDER), names)


def setup(app: Sphinx) -> dict[str, Any]:
    """Tell Sphinx."""
    app.add_directive("external", ExternalTable)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
