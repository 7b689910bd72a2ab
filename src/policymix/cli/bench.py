"""How fast training is: taking turns in one run, so that ratios mean something.

What a part needs is imported when it runs: those without Gymnasium's environments work
where Gymnasium is missing.
"""

import os
import platform
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from rich import box
from rich.table import Table

from policymix import __version__
from policymix.cli.timing import (
    ROUNDS,
    MethodSpeed,
    Rows,
    Versus,
    contest,
    our_chunks,
    rate,
    ratios_to,
    warm_up,
)
from policymix.core.progress import Begin, bars, silent
from policymix.core.settings import Settings
from policymix.core.terminal import Terminal
from policymix.environments.registry import EXAMPLE, GROUPS, find_domain
from policymix.storage.folders import canonical, write_file

TRIALS, HOST_TRIALS = 20, 10
COUNTS = (3, 12, 48, 192)
CAPACITIES = (1_000, 10_000, 100_000)
FILE = "bench.json"


class Workload(NamedTuple):
    """What is measured, and with what."""

    title: str
    domains: Sequence[str]
    methods: Sequence[str]
    trials: Sequence[int]


USUAL = {
    "speed": Workload(
        "Samples a second in training",
        GROUPS["paper"],
        ("scratch", "mars", "mars-lookahead", "mapse", "phi1", "ucb", "caps"),
        (1, TRIALS, 160),
    ),
    "sources": Workload("Cost of sources", (EXAMPLE,), ("mars", "phi1"), (TRIALS,)),
    "capacities": Workload(
        "Cost of a larger replay", (EXAMPLE,), ("scratch",), (TRIALS,)
    ),
    "gpu-scale": Workload("Many trials", (EXAMPLE,), ("scratch", "mars"), (8_192,)),
}
"""The parts, where nothing else is asked for."""
Measure: TypeAlias = Callable[[Begin], dict[str, Rows]]
"""Gives tables by name."""
Variants: TypeAlias = Mapping[str, tuple[Any, Settings | None]]
"""Tasks, or names of domains, and settings: what is compared."""


def speed(
    domains: Sequence[str],
    methods: Sequence[str],
    trials: Sequence[int],
    seconds: float,
    begin: Begin = silent,
) -> list[MethodSpeed]:
    """Samples a second in training, and the time that compilation takes.

    Compilation is what the first chunks take longer than later ones.
    """
    import jax

    from policymix.training.task import load_task

    counts = {name: _counts(name, trials) for name in domains}
    total = len(methods) * sum(map(len, counts.values()))
    advance, rows = begin("speed", total, "samples/s"), []
    for domain in domains:
        task = load_task(domain)
        for method in methods:
            for count in counts[domain]:
                jax.clear_caches()  # methods can share programs
                chunk = our_chunks(task, method, count)
                samples, first = warm_up(chunk)
                found = rate(chunk, seconds)
                compiling = max(0.0, first - samples / found)
                rows.append(MethodSpeed(domain, method, count, found, compiling))
                advance(1, found)
    return rows


def _counts(domain: str, trials: Sequence[int]) -> Sequence[int]:
    """What makes sense: 10 instead of many where the host steps environments."""
    from policymix.environments.base import AbstractDomain

    if isinstance(find_domain(domain).target, AbstractDomain):
        return trials
    return sorted({n if n <= TRIALS else HOST_TRIALS for n in trials})


def against_first(
    work: Workload,
    variants_of: Callable[[str], Variants],
    seconds: float,
    begin: Begin = silent,
) -> list[Versus]:
    """Variants of a domain, against the first of them with the same method."""
    variants = {domain: variants_of(domain) for domain in work.domains}
    runs = [
        (domain, method, count)
        for domain in work.domains
        for method in work.methods
        for count in _counts(domain, work.trials)
    ]
    turns = ROUNDS * sum(len(variants[domain]) for domain, _, _ in runs)
    advance, rows = begin(work.title, turns, "samples/s"), []
    for domain, method, count in runs:
        contestants = {
            f"{method}, {count} trials, {name}": our_chunks(
                task, method, count, settings
            )
            for name, (task, settings) in variants[domain].items()
        }
        speeds = contest(contestants, seconds, advance)
        rows += ratios_to(speeds, next(iter(contestants)))
    return rows


def sources(domain: str, counts: Sequence[int] = COUNTS) -> Variants:
    """More and more of them: what do they cost?"""
    from policymix.training.task import load_task

    task = load_task(domain)
    return {f"{count} sources": (widen(task, count), None) for count in counts}


def widen(task: Any, count: int) -> Any:
    """The task with its sources repeated under new names."""
    from policymix.sources.experts import SourceTask
    from policymix.sources.library import SourceLibrary

    library = task.sources
    repeated = [library.sources[i % len(library)] for i in range(count)]
    named = [
        SourceTask(f"{old.name}-{i}", old.policy, old.dynamics, old.kernel)
        for i, old in enumerate(repeated)
    ]
    return replace(task, sources=SourceLibrary(named, library.spec, library.encoder))


def capacities(domain: str, sizes: Sequence[int] = CAPACITIES) -> Variants:
    """A larger replay, as fast as a small one as long as writes happen in place."""
    settings = find_domain(domain).settings
    return {
        f"{size:,} rows": (domain, replace(settings, capacity=size)) for size in sizes
    }


def measure_part(
    name: str, work: Workload, seconds: float, begin: Begin
) -> dict[str, Rows]:
    """The table of a part."""
    if name in ("speed", "gpu-scale"):
        return {name: speed(*work[1:], seconds, begin)}
    variants = sources if name == "sources" else capacities
    return {name: against_first(work, variants, seconds, begin)}


def bench(
    parts: Sequence[str],
    seconds: float = 3.0,
    trials: Sequence[int] = (),
    out: Path | None = None,
    domain: str | None = None,
    methods: Sequence[str] = (),
) -> None:
    """Measure some parts, print a table for each, and write all figures to a file.

    Args:
        parts: some of `USUAL`.
        seconds: of a single measurement, at least.
        trials: side by side, by default the part's; 10 instead of more than 20 for
            domains that the host steps.
        out: a folder for `bench.json`.
        domain: instead of the part's.
        methods: the same.
    """
    given = {"domains": domain and (domain,), "methods": methods, "trials": trials}
    asked = {key: value for key, value in given.items() if value}
    chosen = {name: USUAL[name]._replace(**asked) for name in parts}
    for work in chosen.values():
        for each in work.domains:
            find_domain(each).spec()  # complains of a missing extra before all else
    measures = [partial(measure_part, *pair, seconds) for pair in chosen.items()]
    titles = {
        name: f"{work.title}: {', '.join(work.domains)}"
        for name, work in chosen.items()
    }
    tell(measures, titles, seconds, out)


def tell(
    measures: Iterable[Measure],
    titles: Mapping[str, str],
    seconds: float,
    out: Path | None,
) -> None:
    """Measure and print; the file is written when everything is measured."""
    console, figures = Terminal(), {}
    with bars(console) as begin:
        for measured in measures:
            for name, rows in measured(begin).items():
                figures[name] = [row._asdict() for row in rows]
                console.print(table(titles[name], rows))
    if out is not None:
        facts = {**circumstances(), "seconds": seconds, "figures": figures}
        write_file(out / FILE, canonical(facts))
        print(f"figures written to {out / FILE}")


def circumstances() -> dict[str, Any]:
    """What the figures depend on: versions and the kind of machine."""
    import jax

    device = jax.devices()[0]
    libraries = ("jax", "numpy", "gymnasium", "torch", "stable_baselines3")
    versions = {
        name: str(sys.modules[name].__version__)
        for name in (*libraries, "sbx", "rejax")
        if hasattr(sys.modules.get(name), "__version__")
    }
    return {
        "versions": {
            **versions,
            "python": platform.python_version(),
            "policymix": __version__,
        },
        "device": {"kind": device.device_kind, "count": jax.device_count()},
        "cores": len(os.sched_getaffinity(0)),
    }


def table(title: str, rows: Rows) -> Table:
    """Lines under the names of their fields; what ratios refer to stands below."""
    shown = Table(title=title, box=box.SIMPLE_HEAD, pad_edge=False)
    lines = [row._asdict() for row in rows]
    baselines = dict.fromkeys(line.pop("times_that_of", None) for line in lines)
    if None not in baselines:
        shown.caption = f"ratios to {' and '.join(map(str, baselines))}"
    for field, value in lines[0].items():
        side = "left" if isinstance(value, str) else "right"
        shown.add_column(field.replace("_", "\n", 1).replace("_", " "), justify=side)
    for line in lines:
        shown.add_row(*map(_cell, line.values()))
    return shown


def _cell(value: str | int | float) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int) or abs(value) >= 1_000:
        return f"{value:,.0f}"
    return f"{value:.3g}"
