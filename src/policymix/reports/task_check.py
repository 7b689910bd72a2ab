"""Before training: is a task sound, and will its sources help? Words and a table."""

from collections.abc import Iterator
from dataclasses import dataclass
from io import StringIO
from itertools import combinations
from pathlib import Path

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from policymix.core.errors import PolicymixError
from policymix.core.pictures import Picture, image_tag
from policymix.core.terminal import Terminal, readable
from policymix.reports.fit_picture import fits_picture, write_picture
from policymix.training.arguments import check_positive
from policymix.training.check import Finding, check_task
from policymix.training.fits import FORGIVEN, Fits, SourceFit, measure_fits
from policymix.training.task import TransferTask, load_task, prepare

PICTURE = "check.png"
ALIKE = 0.01
"""Of what changes: predictions that differ by less are taken for the same."""
TOO_SMALL, TOO_LARGE = 0.1, 3.0
"""Times the true change: what is predicted beyond may have another unit."""
NARROW, WIDE = 0.05, 10.0
"""Spreads of the target's observations, in their units, that are hard to learn from."""


@dataclass(frozen=True)
class TaskCheck:
    """What was found out about a task before training.

    Args:
        findings: each question that was asked of it, and whether the answer is sound.
        fits: how well its sources explain some steps of the target; None for a task
            that is not sound.
    """

    findings: tuple[Finding, ...]
    fits: Fits | None

    @property
    def sound(self) -> bool:
        """Whether nothing is broken; a sound task may still have useless sources."""
        return all(finding.sound for finding in self.findings)

    def sentences(self) -> list[str]:
        """What the figures mean, the most important first."""
        if self.fits is None:
            return ["How well the sources fit is measured once the task is sound."]
        return [*_explanations(self.fits), *_units(self.fits), *_alike(self.fits)]

    def plot(self, path: str | Path | None = None) -> Picture:
        """Draw errors, components and disagreement.

        Args:
            path: where to write the picture, if anywhere: a .png, .pdf or .svg.
        """
        if self.fits is None:
            raise PolicymixError("the task is not sound: there is nothing to draw yet")
        picture = fits_picture(self.fits)
        if path is not None:
            write_picture(picture, Path(path))
        return picture

    def _repr_html_(self) -> str:
        page = Terminal(record=True, file=StringIO(), width=100, highlight=False)
        self.print(page)
        told = page.export_html(inline_styles=True, code_format="<pre>{code}</pre>")
        return told if self.fits is None else told + image_tag(self.plot())

    def print(self, console: Console | None = None) -> None:
        """Every question with its answer, then a table and what it means."""
        console = Terminal(highlight=False) if console is None else console
        for finding in self.findings:
            mark = Text("ok  ", "green") if finding.sound else Text("BAD ", "red")
            console.print(mark, finding.question)
            if not finding.sound:
                console.print("    ", finding.detail)
                console.print("     remedy:", finding.remedy)
        if self.fits is not None:
            console.print(fits_table(self.fits))
        for sentence in self.sentences():
            console.print(f"* {sentence}")
        unsound = sum(not finding.sound for finding in self.findings)
        console.print(f"{len(self.findings)} checks, {unsound} unsound")


def check(task: TransferTask | str | Path, samples: int = 1_000) -> TaskCheck:
    """Tell before training whether a task is sound and whether its sources fit it.

    Args:
        task: your own, from `load_task`, or whatever that takes.
        samples: of the target to play for it, led by the sources and often at random.
    """
    check_positive("samples", samples)
    task = prepare(task)
    findings = tuple(check_task(task))
    sound = all(finding.sound for finding in findings)
    return TaskCheck(findings, measure_fits(task, samples) if sound else None)


def check_and_print(place: str, out: Path | None) -> int:
    """Print what is found about a task, draw it if asked; 1 when it is unsound.

    Args:
        place: whatever `load_task` takes.
        out: a folder for the picture.
    """
    console = Terminal(highlight=False)
    with console.status(Text(readable(f"checking {place} …"))):
        found = check(load_task(place))
    found.print(console)
    if out is not None and found.fits is not None:
        found.plot(out / PICTURE)
        console.print(f"picture: {out / PICTURE}", soft_wrap=True)
    return 0 if found.sound else 1


def fits_table(fits: Fits) -> Table:
    """Errors against "nothing changes", and how far each source is from the others."""
    title = f"How the sources explain {fits.samples:,} steps of the target"
    table = Table(title=title, box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("source", no_wrap=True)
    for column in (
        *("error", "nothing\nchanges", "share of\nchange", "ex-\nplained"),
        *("most\nlikely", "other\nadvice", "state\nset"),
    ):
        table.add_column(column, justify="right", no_wrap=True)
    others = max(len(fits.sources) - 1, 1)
    for source, advice in zip(fits.sources, fits.advice, strict=True):
        table.add_row(
            source.name,
            *(_number(value) for value in (source.error, source.still, source.ratio)),
            _share(source.explained),
            _share(source.likeliest),
            _share(advice.sum() / others),
            "yes" if source.simulated else "–",
        )
    table.caption = (
        f"explained: steps in which it is wrong by less than {FORGIVEN:.0%} of what "
        "changes (squared, in like units); beyond that the target's own model is "
        f"preferred. other advice: {_apart_in(fits)}, against the other sources. state "
        "set: of a simulator, put where the target was"
    )
    return table


def _apart_in(fits: Fits) -> str:
    return "distance within the bounds" if fits.continuous else "states"


def _number(value: float) -> str:
    return "–" if np.isnan(value) else f"{value:.2g}"


def _share(value: float) -> str:
    return "–" if np.isnan(value) else f"{value:.0%}"


def _explanations(fits: Fits) -> Iterator[str]:
    """Does any source explain the target, and which does not?"""
    known = [source for source in fits.sources if not np.isnan(source.ratio)]
    better = [source for source in known if source.ratio < 1]
    if known:
        best = min(known, key=lambda source: source.ratio)
        count = f"{len(better)} of {len(known)} sources"
        yield (
            f"{count} explain the target better than 'nothing changes'; the best is "
            f"{best.name}, wrong by {best.ratio:.2g} of what changes."
            if better
            else f"No source explains the target better than 'nothing changes' (the "
            f"best is {best.name}): expect no transfer. Look at units and maps first."
        )
    for source in known:
        if source.ratio >= 1:
            yield (
                f"{source.name} is no better than 'nothing changes' "
                f"({source.ratio:.2g} times as wrong)."
            )
        elif source.explained < FORGIVEN:
            yield (
                f"{source.name} explains only {source.explained:.0%} of the steps: "
                "elsewhere the target's own model is preferred, where it has one."
            )
    for source in fits.sources:
        if np.isnan(source.ratio):
            yield (
                f"{source.name} has a density of its own and predicts nothing; to it "
                f"{source.explained:.0%} of the steps are likelier than that nothing "
                "changes."
            )
    unset = [source.name for source in fits.sources if not source.simulated]
    if len(unset) < len(fits.sources):
        yield "States of the simulators can be set, and they repeat themselves."


def _units(fits: Fits) -> Iterator[str]:
    """Components that are predicted in another unit, or measured in a bad one."""
    for source in fits.sources:
        yield from _suspects(source)
    spreads = np.zeros(0) if fits.spreads is None else fits.spreads
    for place, spread in enumerate(spreads):
        if spread > WIDE or 0 < spread < NARROW:
            yield (
                f"Component {place} of the target's observations spreads over "
                f"{spread:.2g} of its units, which the sources gave: give "
                "SourceLibrary(..., encoder=...), or look for a source of other units."
            )


def _suspects(source: SourceFit) -> Iterator[str]:
    whose = "of what it sees" if source.foreign else "of the observation"
    for place, slope in enumerate(source.slopes):
        if np.isnan(slope) or TOO_SMALL < slope < TOO_LARGE:
            continue
        guess = "another sign" if slope < 0 else "another unit, or another strength"
        yield (
            f"{source.name} expects {slope:.2g} times the change in component {place} "
            f"{whose}: {guess}?"
        )


def _alike(fits: Fits) -> Iterator[str]:
    """Pairs that nothing tells apart, and how far the others differ."""
    names = [source.name for source in fits.sources]
    if len(names) < 2:
        return
    pairs = list(combinations(range(len(names)), 2))
    apart = np.array([fits.advice[pair] for pair in pairs])
    shares = f"{apart.min():.0%} to {apart.max():.0%}"
    shares = shares if len(pairs) > 1 else f"{apart[0]:.0%}"
    yield (
        f"The advice of two sources differs by {shares} of the distance between the "
        "bounds."
        if fits.continuous
        else f"Two sources advise different actions in {shares} of the states."
    )
    for (i, j), advice in zip(pairs, apart, strict=True):
        if fits.predictions[i, j] < ALIKE:
            harm = "" if advice > ALIKE else ", and advise the same: one is enough"
            yield (
                f"{names[i]} and {names[j]} predict almost the same (they differ by "
                f"{fits.predictions[i, j]:.1g} of what changes){harm}."
            )
