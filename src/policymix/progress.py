"""A bar for each part of a long piece of work."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

Advance: TypeAlias = Callable[[int, float], None]
"""Steps just taken, and how well it goes."""
Begin: TypeAlias = Callable[[str, int, str], Advance]
"""A part's name, its steps and what its figure means → how to report on it."""


def silent(name: str, steps: int, figure: str) -> Advance:
    """Report to nobody."""
    del name, steps, figure
    return lambda steps, value: None


class Speed(ProgressColumn):
    """Steps a second."""

    def render(self, task: Task) -> Text:
        """As a whole number."""
        speed = task.finished_speed or task.speed
        return Text("" if speed is None else f"{speed:,.0f}/s")


@contextmanager
def bars(console: Console | None = None, quiet: bool = False) -> Iterator[Begin]:
    """Bars in the terminal: part, share, steps, speed, figure, time taken and left."""
    if quiet:
        yield silent
        return
    columns = (
        TextColumn("{task.description:<16}"),
        BarColumn(bar_width=12),
        MofNCompleteColumn(),
        Speed(),
        TextColumn("{task.fields[figure]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console) as progress:

        def begin(name: str, steps: int, figure: str) -> Advance:
            task = progress.add_task(name, total=steps, figure="")

            def advance(taken: int, value: float) -> None:
                text = "" if value != value else f"{figure} {value:.4g}"
                progress.update(task, advance=taken, figure=text)

            return advance

        yield begin
