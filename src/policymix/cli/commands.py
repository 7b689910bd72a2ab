"""The commands: what can be typed, and what it means. Docstrings are the help.

What a command needs is imported when it runs, so that help is quick.
"""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

from cyclopts import App, Parameter
from cyclopts.validators import Number

from policymix import __version__
from policymix.cli import rules
from policymix.cli.values import (
    DOMAIN_LIST,
    SEVERAL_DOMAINS,
    AnotherDomain,
    AnyTask,
    Counts,
    Domain,
    Folder,
    Methods,
    NewFolder,
    Parts,
    Place,
    Positive,
    Seed,
    Unsaid,
)
from policymix.cli.where import HERE, Where
from policymix.environments.registry import EVERYTHING, EXAMPLE, GROUPS, domain_names

EXAMPLES: dict[str, tuple[str, ...]] = {}
"""Of every command, to copy; they fit a narrow terminal."""
START = (
    "policymix demo",
    f"policymix sources show {EXAMPLE}",
    f"policymix run {EXAMPLE} --trials 4 --out my-run",
)
MORE = "`policymix COMMAND --help` tells more. Documentation: `docs/`, or `make docs`."


def ending(examples: tuple[str, ...], domains: bool = True) -> str:
    """What ends a page of help, in Markdown."""
    code = "\n".join(f"    {example}" for example in examples)
    return f"Domains\n\n{DOMAIN_LIST}\n\n" * domains + f"Examples\n\n{code}"


app = App(
    name="policymix",
    help="Learn a new task from several simulators or trained policies.",
    version=f"policymix {__version__}",
    version_flags=("--version", "-V"),
    help_epilogue=f"{ending(START)}\n\n{MORE}",
    default_parameter=Parameter(negative=()),
    suppress_keyboard_interrupt=False,
    result_action="return_value",
)
sources = App("sources", help="Train source libraries, or look at them.", sort_key=1)
sources.synonym = ("source", "train", "show")
app.command(sources)


def command(
    *examples: str, of: App = app, domains: bool = True, synonym: tuple[str, ...] = ()
) -> Callable[..., Any]:
    """Add a function do_… to the commands; examples end its help."""

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        name = function.__name__.removeprefix("do_")
        EXAMPLES["sources " * (of is sources) + name] = examples
        return of.command(
            function,
            name=name,
            help_epilogue=ending(examples, domains),
            sort_key=len(EXAMPLES),
            synonym=synonym,
        )

    return add


@command("policymix demo", "policymix demo --trials 20 --out my-demo", domains=False)
def do_demo(*, out: Folder = Path("demo"), trials: Positive = 10, seed: Seed = 0):
    """See what transfer brings, in about a minute.

    On a task that no single source can do: trains mars, each source alone, a vote of
    all and no transfer, prints a table and writes a report with a map of which source
    is trusted where.

    Args:
        out: Where to write rows, figures and report; finished parts in it are kept.
        trials: Repetitions of each method, run side by side.
        seed: Trial t has seed + t.
    """
    from policymix.cli.demo import demo

    demo(out, trials, seed)


@command(f"policymix sources show {EXAMPLE}", of=sources, synonym=domain_names())
def do_show(domain: Place, /):
    """Print a domain's sources: scores, errors, samples, hashes.

    Args:
        domain: Its name, or a folder that `policymix sources train` wrote.
    """
    from policymix.reports.printed import show_sources

    show_sources(domain)


@command(f"policymix sources train {EXAMPLE} --out my-sources", of=sources)
def do_train(domain: Domain, /, *, out: NewFolder, seed: Seed = 0, where: Where = HERE):
    """Train a domain's sources anew and write them to a folder.

    A source is a policy and a model of a task that resembles the target.

    Args:
        domain: Its name.
        out: Where to write, a folder that is not there yet.
        seed: Source i is trained with seed + i.
        where: Who does the work.
    """
    from policymix.reports.printed import train_sources

    with where.open() as executor:
        train_sources(domain, out, seed, executor)


@command(
    f"policymix run {EXAMPLE} --methods mars scratch --out my-run",
    f"policymix run {EXAMPLE} --methods mapse phi1 --out alone",
    "policymix run my-sources --steps 2000 --out quick-look",
    "policymix run my_task.py --trials 4 --out my-run",
    f"policymix run {EXAMPLE} --load my.py --methods my --out new",
    synonym=domain_names(),
)
def do_run(
    domain: AnyTask,
    /,
    *,
    out: Annotated[Path, Parameter(metavar="FOLDER", validator=rules.new_or_begun)],
    methods: Methods = ("mars", "scratch"),
    trials: Positive = 10,
    seed: Seed = 0,
    steps: Annotated[
        Positive | None, Parameter(metavar="INT", show_default=False)
    ] = None,
    where: Where = HERE,
    block: Positive = 5,
):
    """Compare methods on a domain and write every evaluation down.

    Stop it at any moment; the same command goes on after the last evaluation.

    Args:
        domain: Its name, a folder of sources, or your own: my_task.py or module:name.
        out: Where to write, a folder that is not there yet, or to go on with; that of
            a task of your own also with more methods or trials.
        methods: Which methods to compare.
        trials: Repetitions of each, run side by side.
        seed: Trial t has seed + t.
        steps: Samples of the target in each trial; by default the domain's.
        where: Who does the work.
        block: Trials that a worker does at a time, at most.
    """
    with where.open() as found:
        from policymix.experiments.blocks import Blockwise
        from policymix.reports.running import run_and_print

        blockwise = None if found is None else Blockwise(found, block, domain)
        run_and_print(domain, methods, trials, seed, steps, out, blockwise)


@command(
    f"policymix reproduce {EXAMPLE} --quick --out preview",
    *(f"policymix reproduce {group} --out my-{group}" for group in GROUPS),
    f"policymix reproduce {EVERYTHING} --out my-results",
)
def do_reproduce(
    domain: Annotated[
        str, Parameter(help=SEVERAL_DOMAINS, validator=rules.domain_or_group)
    ],
    /,
    *,
    out: Folder,
    quick: Annotated[bool, Unsaid] = False,
    seed: Seed = 0,
    where: Where = HERE,
    block: Positive = 5,
):
    """Run whole experiments and report on every claim.

    Stop it at any moment; the same command goes on after the last finished part.

    Args:
        domain: Its name, or one that stands for several.
        out: Where to write, a new folder or one to go on with.
        quick: Few trials, about two minutes for each domain.
        seed: Trial t has seed + t.
        where: Who does the work.
        block: Trials that a worker does at a time, at most.
    """
    from policymix.core.terminal import Terminal
    from policymix.experiments.blocks import Blockwise
    from policymix.experiments.reproduce import reproduce
    from policymix.reports.report import make_report

    console, whole = Terminal(), domain == EVERYTHING
    with where.open() as found:
        blockwise = None if found is None else Blockwise(found, block)
        for group in GROUPS if whole else (domain,):
            place = out / group if whole else out
            reproduce(group, place, seed, quick, console, blockwise)
            make_report(place, console)


@command("policymix new my-project", domains=False)
def do_new(folder: NewFolder, /):
    """Write a starting point for a task of your own.

    It is one commented file with a target and two sources, and it runs as it is.

    Args:
        folder: Where to write, a folder that is not there yet.
    """
    from policymix.cli.new import new

    new(folder)


@command("policymix report my-run", domains=False)
def do_report(folder: Annotated[Path, Parameter(validator=rules.folder_of_runs)], /):
    """Draw figures, a table and a page for a folder of runs.

    Args:
        folder: What run, reproduce or demo wrote, or a folder of several of these.
    """
    from policymix.core.terminal import Terminal
    from policymix.reports.report import make_report

    make_report(folder, Terminal())


@command(
    f"policymix check {EXAMPLE}",
    "policymix check my-sources",
    "policymix check my_task.py --out my-check",
)
def do_check(
    domain: AnyTask,
    /,
    *,
    out: Annotated[Folder | None, Unsaid] = None,
):
    """Check before training that a task is sound: exit 1 if not.

    Do the sources fit the target, are their models better than predicting that nothing
    changes, do units fit, how far do the sources disagree, can states be set?

    Args:
        domain: Its name, a folder of sources, or your own: my_task.py or module:name.
        out: Where to write check.png; by default nothing is drawn.
    """
    from policymix.reports.task_check import check_and_print

    return check_and_print(domain, out)


@command(
    "policymix bench --parts sources capacities",
    "policymix bench --parts speed --trials 1 20 --out my-bench",
    "policymix bench --parts gpu-scale --methods mars phi1",
    domains=False,
)
def do_bench(
    *,
    parts: Parts = ("speed", "sources", "capacities"),
    seconds: Annotated[float, Parameter(validator=Number(gt=0, lt=math.inf))] = 3.0,
    domain: AnotherDomain = None,
    methods: Annotated[Methods, Unsaid] = (),
    trials: Annotated[Counts, Unsaid] = (),
    out: Annotated[Folder | None, Unsaid] = None,
):
    """Measure how fast training is.

    Args:
        parts: What to measure.
        seconds: Time of a single measurement, at least.
        domain: Its name, instead of those that a part usually measures.
        methods: Which methods, instead of the usual.
        trials: Side by side; by default 1 20 160 (speed), 8192 (gpu-scale), else 20.
        out: Where to write bench.json; by default it is only printed.
    """
    from policymix.cli.bench import bench

    bench(parts, seconds, trials, out, domain, methods)
