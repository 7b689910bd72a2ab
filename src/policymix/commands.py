"""What the commands do and print."""

import hashlib
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table

from policymix.catalogue import find_domain, load_task
from policymix.checks import check_task
from policymix.errors import PolicymixError
from policymix.libraries.training import train_library
from policymix.progress import bars
from policymix.records import to_record


def train_sources(domain: str, out: Path, seed: int) -> None:
    """Train a library with bars, save it and show it."""
    find_domain(domain).spec()
    if out.exists():
        raise PolicymixError(f"{out} exists already. Choose another folder for --out")
    with bars() as begin:
        library, facts = train_library(domain, seed, begin)
    library.save(out, facts)
    show_sources(str(out))
    Console().print(f"library written to {out}")


def show_sources(place: str) -> None:
    """Print a table of a library's sources."""
    task = load_task(place)
    facts = task.facts
    title = f"{facts['domain']}: {facts['measure']} and model errors of {place}"
    table = Table(title=title, box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("source", no_wrap=True)
    for column in (
        *("own\nscore", "target\nscore", "own\nerror", "target\nerror"),
        *("still\nerror", "samples", "sha-256"),
    ):
        table.add_column(column, justify="right", no_wrap=True)
    for source in task.sources.sources:
        row = facts["sources"][source.name]
        table.add_row(
            source.name,
            f"{row['own_score']:.1f}",
            f"{row['zero_shot']:.1f}",
            f"{row['own_error']:.2g}",
            f"{row['target_error']:.2g}",
            f"{row['own_still']:.2g}",
            f"{row['samples']:,}",
            digest(source),
        )
    console = Console()
    console.print(table)
    console.print(
        "Scores are means of 100 greedy episodes. Errors are squared and summed over "
        "components (tables: share of wrong predictions), on fresh transitions of the "
        "source's policy; the still error is that of predicting no change at home."
    )
    console.print(f"made by: {facts['command']}", highlight=False)


def digest(source: object) -> str:
    """The first digits of a source's fingerprint."""
    arrays: dict = {}
    record = to_record(source, "source", arrays)
    content = repr(record).encode() + b"".join(
        arrays[name].tobytes() for name in sorted(arrays)
    )
    return hashlib.sha256(content).hexdigest()[:8]


def check(place: str) -> int:
    """Print every finding; 1 when something is unsound."""
    console = Console()
    with console.status(f"checking {place} …"):
        findings = check_task(load_task(place))
    for finding in findings:
        mark = "[green]ok  [/]" if finding.sound else "[red]BAD [/]"
        console.print(mark, finding.question, highlight=False)
        if not finding.sound:
            console.print("    ", finding.detail, highlight=False)
            console.print("     remedy:", finding.remedy, highlight=False)
    unsound = sum(not finding.sound for finding in findings)
    console.print(f"{len(findings)} checks, {unsound} unsound")
    return 1 if unsound else 0
