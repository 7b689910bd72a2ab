"""A bar for each part of a long piece of work."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import TypeAlias

from rich.console import Console, Group
from rich.live import Live
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

from policymix.core.terminal import Terminal, readable

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
        speed = task.finished_speed or task.speed
        return Text("" if speed is None else f"{speed:,.0f}/s")


class Left(ProgressColumn):
    """Time left, if the rest goes on as the whole has gone so far."""

    def render(self, task: Task) -> Text:
        """As hours, minutes and seconds."""
        if not task.completed or task.elapsed is None or task.total is None:
            return Text("time left: –")
        left = task.elapsed * (task.total - task.completed) / task.completed
        return Text(f"time left: {timedelta(seconds=round(left))}")


@contextmanager
def bars(console: Console | None = None, quiet: bool = False) -> Iterator[Begin]:
    """Bars in the terminal: part, share, steps, speed, figure, time taken and left.

    A part that ended early is in the end as long as what was done of it.
    """
    if quiet:
        yield silent
        return
    with Progress(*_columns(), console=console or Terminal()) as progress:
        yield lambda name, steps, figure: _begin(progress, name, steps, figure)
        for task in progress.tasks:
            if not task.finished:
                task.total = task.completed
                progress.update(task.id)


@contextmanager
def plan_bars(console: Console, efforts: dict[str, float]) -> Iterator[Begin]:
    """One bar for a whole plan, with the time left, and one for the part at work.

    Args:
        console: where.
        efforts: the parts, in order, and how long each may take.
    """
    whole = Progress(
        TextColumn("{task.description:<16}", markup=False),
        BarColumn(bar_width=30),
        TextColumn("{task.percentage:>3.0f} %  {task.fields[place]}"),
        TimeElapsedColumn(),
        Left(),
        console=console,
    )
    part = Progress(*_columns(), console=console, transient=True)
    total = whole.add_task("whole plan", total=sum(efforts.values()), place="")
    names = list(efforts)

    def begin(name: str, steps: int, figure: str) -> Advance:
        for task in part.task_ids:
            part.remove_task(task)
        place = f"part {names.index(name) + 1} of {len(names)}"
        whole.update(total, place=place)
        advance = _begin(part, name, steps, figure)

        def both(taken: int, value: float) -> None:
            advance(taken, value)
            whole.update(total, advance=efforts[name] * taken / steps)

        return both

    with Live(Group(whole, part), console=console, refresh_per_second=4):
        yield begin
    if not console.is_terminal:
        console.print()


def _columns() -> tuple[ProgressColumn, ...]:
    return (
        TextColumn("{task.description:<16}", markup=False),
        BarColumn(bar_width=12),
        MofNCompleteColumn(),
        Speed(),
        TextColumn("{task.fields[figure]}", markup=False),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )


def _begin(progress: Progress, name: str, steps: int, figure: str) -> Advance:
    task = progress.add_task(readable(name), total=steps, figure="")

    def advance(taken: int, value: float) -> None:
        if value == value:
            progress.update(task, figure=f"{figure} {value:.4g}")
        progress.update(task, advance=taken)

    return advance
