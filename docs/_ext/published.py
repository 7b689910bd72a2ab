"""The directives `published`, `claims` and `settings`: figures that nobody types.

`published mars scratch` prints what methods reached in the runs of the repository, as
`policymix report` measures it; without a name, all of them. `claims MAPSE` prints the
claims with that word, their answers and figures. `settings scale` prints numbers of
`Settings` with their origins. What is not there stops the build.
"""

import ast
import inspect
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective

from policymix.core import settings
from policymix.core.errors import PolicymixError, did_you_mean
from policymix.core.settings import DEFAULTS, Settings
from policymix.environments.registry import find_domain
from policymix.experiments import origins
from policymix.experiments.reproduce import NOTE, command_of
from policymix.reports.analysis import Measures, measure
from policymix.reports.claims import claims, unasked
from policymix.reports.report import TABLE
from policymix.reports.results import Results, read_results
from policymix.reports.tables import claim_cells, grid, share
from policymix.reports.verdicts import show
from policymix.storage.runs import FACTS, PACKED, ROWS, find_runs

FOLDERS = ("results/paper",)
"""Folders of runs beside the pages' folder."""
FURTHER = ("results/inventory",)
"""The same, where they are there."""
COLUMNS = (
    *("", "area", "end", "alone", "to 90 %"),
    *("P(better than `scratch`)", "P(negative transfer)"),
)
DOMAINS = {"maze": "maze", "cartpole": "CartPole", "lander": "lander"}
"""The paper's, as they are called in prose."""


class Published(NamedTuple):
    """One domain of a folder of runs."""

    command: str
    """How the folder was made."""
    results: Results
    table: list[Measures]
    """The best method first."""


@cache
def read_published(root: Path) -> tuple[Published, ...]:
    """Every domain in the folders of runs, read once in a build."""
    there = [root / name for name in FURTHER if (root / name).exists()]
    return tuple(
        Published(command_of(place), results, measure(results))
        for place in [*(root / name for name in FOLDERS), *there]
        for results in read_results(place)
    )


def files_of(root: Path) -> list[Path]:
    """What the figures depend on: notes, tables and runs.

    A note that is missing counts, so that its folder is seen as soon as it is there.
    """
    places = [root / name for name in FOLDERS + FURTHER]
    runs = [folder for place in places for folder in find_runs(place)]
    return [
        *(place / NOTE for place in places),
        *(place / TABLE for place in places if (place / TABLE).exists()),
        *(
            folder / name
            for folder in runs
            for name in (FACTS, ROWS, PACKED)
            if (folder / name).exists()
        ),
    ]


def check_names(names: Sequence[str], known: Sequence[str], what: str) -> None:
    """Complain of the first name that is not known."""
    for name in names:
        if name not in known:
            raise PolicymixError(
                f"there is no {what} {name!r}: choose {', '.join(known)}."
                f"{did_you_mean(name, known)}"
            )


def published_table(
    everything: Sequence[Published], names: Sequence[str], explained: str
) -> str:
    """Markdown: a row for each domain and method, then how the figures were made.

    Args:
        everything: that was published.
        names: of methods; none stands for all.
        explained: where the columns are.
    """
    known = dict.fromkeys(row.method for domain in everything for row in domain.table)
    check_names(names, list(known), "published run of")
    wanted = names or known
    shown = [
        (domain, [row for row in domain.table if row.method in wanted])
        for domain in everything
        if any(row.method in wanted for row in domain.table)
    ]
    rows = [cells_of(domain.results, row) for domain, rows in shown for row in rows]
    units = [f"- {describe(domain.results)}" for domain, _ in shown]
    commands = dict.fromkeys(f"`{domain.command}`" for domain, _ in shown)
    made = f"{', '.join(commands)} · [how to read the figures]({explained})"
    return "\n".join([*grid(COLUMNS, rows), "", *units, "", made])


def cells_of(results: Results, row: Measures) -> list[str]:
    """One method on one domain; an interval stands below its estimate."""
    time, arrived = row.arrivals[-1]
    cells = [
        *(show(row.area), show(row.end)),
        "–" if row.alone is None else show(row.alone),
        f"{time:,.0f} ({arrived} of {results.facts['trials']})",
        *(share(row.beats_scratch), share(row.harms)),
    ]
    first = f"{results.domain} <br>`{row.method}`"
    return [first, *map(in_two_lines, cells)]


def in_two_lines(cell: str) -> str:
    """What is in brackets stands by itself and is not broken."""
    estimate, bracket, rest = cell.partition(" [" if "[" in cell else " (")
    kept = f"{bracket.strip()}{rest}".replace(" ", "\N{NO-BREAK SPACE}")
    return f"{estimate} <br>{kept}" if bracket else estimate


def claims_table(everything: Sequence[Published], words: Sequence[str]) -> str:
    """Markdown: the claims that contain one of these words, of every domain.

    Args:
        everything: that was published.
        words: of claims; none stands for all of them.
    """
    results = [domain.results for domain in everything]
    rows = [
        [each.domain, *claim_cells(verdict)]
        for each in results
        for verdict in claims(each, results)
        if not words or any(word.lower() in verdict.claim.lower() for word in words)
    ]
    header = ["", "claim", "answer", "figures", "without sources"]
    missing = [f"{each.domain}: {unasked(each, results)}" for each in results]
    notes = [f"- {note}" for note in missing if not note.endswith(": ")]
    if not rows:
        return "*Nothing was run that answers this.*"
    return "\n".join([*grid(header, rows), "", *([] if words else notes)])


def describe(results: Results) -> str:
    """Units and size of a domain's runs."""
    facts = results.facts
    first, trials = facts["seed"], facts["trials"]
    return (
        f"{results.domain}: {facts['measure']}, {facts['better']} is better; {trials} "
        f"trials (seeds {first}–{first + trials - 1}) of "
        f"{facts['settings']['steps']:,} samples"
    )


def settings_table(names: Sequence[str], decisions: str) -> str:
    """Markdown: settings, their values and where these come from.

    Args:
        names: of fields of `Settings`.
        decisions: where the numbered decisions are explained.
    """
    check_names(names, list(origins.ORIGINS), "setting")
    meanings = docstrings()
    rows = []
    for name in names:
        told = meanings.get(name, "")
        values = [value_of(name, domain) for domain in DOMAINS]
        origin = re.sub(r", (\d+): ", rf", [\1]({decisions}): ", origin_of(name))
        first = f"`{name}`" + (f" <br>{told}" if told else "")
        rows.append([first, written(getattr(DEFAULTS, name)), *values, origin])
    header = ["setting", "own tasks", *DOMAINS.values(), "from"]
    return "\n".join(grid(header, rows))


def value_of(name: str, domain: str) -> str:
    """A setting of one of the paper's domains; – where a table has no use for it."""
    known = find_domain(domain)
    value = getattr(known.settings, name)
    if known.study.paper.get(name) == "table":
        return "table" if value is None else "–"
    return written(value)


def written(value: Any) -> str:
    """A value as a reader wants it."""
    if isinstance(value, bool) or value is None:
        return str(value)
    if isinstance(value, tuple):
        return ",\N{NO-BREAK SPACE}".join(map(written, value))
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:g}" if isinstance(value, float) else str(value)


def origin_of(name: str) -> str:
    """Where the values come from; domain by domain where they differ in that."""
    found: dict[str, list[str]] = {}
    for domain, title in DOMAINS.items():
        every = origins.explain(domain, find_domain(domain).settings)
        explained = next(row for row in every if row.name == name)
        text = explained.origin
        if text.startswith("deviation"):
            text += f"; the paper has {written(explained.paper)}"
        found.setdefault(text, []).append(title)
    if len(found) == 1:
        return next(iter(found))
    return " <br>".join(f"{text} ({', '.join(who)})" for text, who in found.items())


def docstrings() -> dict[str, str]:
    """What is written below the fields of `Settings`."""
    lines = ast.parse(inspect.getsource(Settings)).body[0]
    assert isinstance(lines, ast.ClassDef)
    return {
        ast.unparse(field.target): " ".join(str(text.value.value).split())
        for field, text in zip(lines.body, lines.body[1:], strict=False)
        if isinstance(field, ast.AnnAssign)
        and isinstance(text, ast.Expr)
        and isinstance(text.value, ast.Constant)
    }


class Table(SphinxDirective):
    """A table in Markdown, made while the page is read."""

    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        """Make it, or stop the build."""
        names = self.arguments[0].split() if self.arguments else []
        try:
            text = self.make(names)
        except PolicymixError as error:
            raise ExtensionError(f"{self.get_location()}: {error}") from error
        return self.parse_text_to_nodes(text)

    def make(self, names: Sequence[str]) -> str:
        """The Markdown; what it depends on is noted."""
        raise NotImplementedError

    @property
    def up(self) -> str:
        """From the page to the pages' folder."""
        return "../" * self.env.docname.count("/")

    def watched(self, folder: str) -> Path:
        """A folder of runs beside the pages' folder; what is in it is noted."""
        place = Path(self.env.srcdir).parent / folder
        runs = [found / FACTS for found in find_runs(place)]
        self.note([place / NOTE, place / TABLE, *runs])
        return place

    def note(self, paths: Sequence[Path | str]) -> None:
        """Read the page again when one of these files has changed."""
        for path in paths:
            self.env.note_dependency(str(path))


class PublishedTable(Table):
    """What methods reached; all of them if none is named."""

    optional_arguments = 1

    def make(self, names: Sequence[str]) -> str:
        """From the folders of runs."""
        root = Path(self.env.srcdir).parent
        self.note(files_of(root))
        explained = f"{self.up}methods/index.md#how-to-read-the-figures"
        return published_table(read_published(root), names, explained)


class ClaimsTable(Table):
    """Answers to claims; those that contain one of the words, or all."""

    optional_arguments = 1

    def make(self, names: Sequence[str]) -> str:
        """From the folders of runs."""
        root = Path(self.env.srcdir).parent
        self.note(files_of(root))
        return claims_table(read_published(root), names)


class SettingsTable(Table):
    """Numbers of the methods."""

    required_arguments = 1

    def make(self, names: Sequence[str]) -> str:
        """From the package."""
        self.note([inspect.getfile(settings), inspect.getfile(origins)])
        return settings_table(names, f"{self.up}paper.md#decisions")


def setup(app: Sphinx) -> dict[str, Any]:
    """Tell Sphinx."""
    app.add_directive("published", PublishedTable)
    app.add_directive("claims", ClaimsTable)
    app.add_directive("settings", SettingsTable)
    app.connect("builder-inited", lambda _: read_published.cache_clear())
    return {"parallel_read_safe": True, "parallel_write_safe": True}
