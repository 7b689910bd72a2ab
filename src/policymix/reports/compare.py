"""`compare`: methods on one's own task, from the first sample to an open report."""

import webbrowser
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path

from matplotlib import rc_context
from rich.console import Console

from policymix.beliefs.telling import Over, chosen
from policymix.core.errors import PolicymixError
from policymix.core.executor import Executor
from policymix.core.pictures import Picture, image_tag
from policymix.core.progress import Begin, plan_bars, silent
from policymix.core.seeds import seeds_from
from policymix.core.settings import Settings
from policymix.core.terminal import Terminal
from policymix.experiments.blocks import Blockwise
from policymix.experiments.comparison import (
    clear_aside,
    extend,
    extend_on,
    methods_there,
    trials_there,
    unfinished,
)
from policymix.experiments.executors import open_executor
from policymix.experiments.plans import Experiment, Part
from policymix.experiments.reproduce import write_note
from policymix.experiments.watched import rows_of
from policymix.methods.recipes import find_recipe
from policymix.reports.claims import claims
from policymix.reports.figures import PRINT, curves
from policymix.reports.printed import summary_table
from policymix.reports.report import make_report
from policymix.reports.results import Results, read_results
from policymix.reports.verdicts import Verdict
from policymix.storage.places import a_path, held
from policymix.storage.runs import Row
from policymix.training.arguments import check_settings
from policymix.training.task import TransferTask, prepare


@dataclass(frozen=True)
class Comparison:
    """Methods that were compared on a task: their rows, and a page about them."""

    results: Results
    page: Path
    """The report, one HTML file."""

    @property
    def rows(self) -> list[Row]:
        """Every test of every trial, as in the folders."""
        curves = self.results.curves.values()
        return [row for c in curves for row in rows_of(self.results.domain, c)]

    @property
    def answers(self) -> list[Verdict]:
        """Questions about the task, with their answers and the figures behind."""
        return claims(self.results, [self.results])

    def open(self) -> None:
        """Show the report in a browser."""
        webbrowser.open(self.page.as_uri())

    def plot(self) -> Picture:
        """The learning curves of all methods."""
        with rc_context(PRINT):
            return curves(self.results)

    def _repr_html_(self) -> str:
        told = "".join(
            f"<li><b>{escape(v.claim)} {v.answer}.</b> {escape(v.sentence)}</li>"
            for v in self.answers
        )
        link = f'<a href="{escape(self.page.as_uri())}">{escape(self.page.name)}</a>'
        return f"<ul>{told}</ul>{image_tag(self.plot())}<p>{link}</p>"

    def __str__(self) -> str:
        told = [f"{v.claim} {v.answer}. {v.sentence}" for v in self.answers]
        return "\n".join([*told, f"report: {self.page}"])


def compare(
    task: TransferTask | str,
    methods: Sequence[str] | str = ("mars", "scratch"),
    trials: int = 10,
    out: str | Path = "my-run",
    *,
    steps: int | None = None,
    seed: int = 0,
    settings: Settings | None = None,
    over: Over = None,
    progress: bool = True,
    executor: Executor | str | None = None,
) -> Comparison:
    """Train methods on a task, keep every test, and write a report on them.

    The same call again keeps what is there. With more methods or more trials it adds
    what is missing; all methods of a folder have the same trials.

    Args:
        task: from `load_task`, a domain's name, or a `TransferTask` of your own.
        methods: "mars", "scratch" (no transfer), "phi1" (the first source alone), …
        trials: independent repetitions of each.
        out: a new folder, or one that an earlier call left. Each method has a folder in
            it, in the format of `policymix run`; `report.html` is the report.
        steps: samples of the target in each trial; by default those of the settings.
        seed: trial t has seed + t.
        settings: by default the domain's; for own targets `DEFAULTS`, or
            `TABLE_DEFAULTS` if observations and actions are numbers.
        over: which two numbers of an observation the belief is drawn over at first, as
            (0, 2) or {"x": 0, "angle": 2}; by default those that tell most.
        progress: show bars, a table and the answers.
        executor: runs blocks of five trials elsewhere: "processes", "ray", or anything
            with `submit` as `concurrent.futures` has it. Workers load the task
            themselves, so it must be given as a domain's name, a folder of sources or
            as "my_task.py".
    """
    methods = [methods] if isinstance(methods, str) else methods
    if settings is not None:
        check_settings(settings)
    out = a_path("out", out)
    with open_executor(executor) as found, held(out):
        blockwise = None if found is None else Blockwise(found, place=sent_as(task))
        ready = prepare(task)
        settings = ready.domain.settings if settings is None else settings
        if steps is not None:
            settings = replace(settings, steps=steps)
        console = Terminal(quiet=not progress)
        numbers = (settings, seed, trials, out)
        run_comparison(ready, methods, *numbers, console, over, blockwise=blockwise)
        page = make_report(out, console).resolve()
    comparison = Comparison(read_results(out)[0], page)
    console.print(summary_table(ready, comparison.rows))
    console.print(str(comparison), soft_wrap=True, highlight=False)
    return comparison


def sent_as(task: TransferTask | str) -> str:
    """Where workers find a task."""
    if isinstance(task, str):
        return task
    raise PolicymixError(
        "workers cannot be sent a task that is here in memory. With an executor give "
        'its place: a domain, a folder of sources, or "my_task.py", which defines task'
    )


def run_comparison(
    task: TransferTask,
    methods: Sequence[str],
    settings: Settings,
    seed: int,
    trials: int,
    out: Path,
    console: Console,
    over: Over = None,
    command: str = "",
    blockwise: Blockwise | None = None,
) -> None:
    """Run what a folder lacks of a comparison; see `compare`."""
    if not methods:
        raise PolicymixError("there is nothing to compare: give a method")
    seeds_from(seed, trials)
    names = list(dict.fromkeys([*methods_there(out), *methods]))
    for name in names:
        find_recipe(name, len(task.sources))
    size = task.domain.spec().observation.shape
    chosen(over, size[0] if size else 1)
    trials = max(trials, *(trials_there(out / name) for name in names), 1)
    experiment = Experiment(task, settings, trials, seed, tuple(map(Part, names)))
    parts = unfinished(experiment, out)
    for part in set(experiment.parts) - set(parts):
        clear_aside(out, part)  # whoever finished it may have been killed before
    call = command or call_of(names, settings.steps, seed, trials, out)
    write_note(out, {"seed": seed, "quick": False, "command": call})
    kept = len(names) - len(parts)
    if kept:
        console.print(f"{kept} of {len(names)} methods are in {out} already")
    with bars_of(experiment, parts, console) as begin:
        if blockwise is not None:
            extend_on(blockwise, experiment, parts, out, begin, over)
            return
        for part in parts:
            extend(experiment, part, out, begin, over)


def call_of(names: Sequence[str], steps: int, seed: int, trials: int, out: Path) -> str:
    """How the folder is made again."""
    listed = ", ".join(f'"{name}"' for name in names)
    numbers = f"trials={trials}, steps={steps}, seed={seed}"
    return f'policymix.compare(task, [{listed}], {numbers}, out="{out.name}")'


@contextmanager
def bars_of(
    experiment: Experiment, parts: Sequence[Part], console: Console
) -> Iterator[Begin]:
    """A bar for all methods and one for that at work; none for nobody."""
    if console.quiet or not parts:
        yield silent
        return
    efforts = {experiment.title(part): experiment.effort(part) for part in parts}
    with plan_bars(console, efforts) as begin:
        yield begin
