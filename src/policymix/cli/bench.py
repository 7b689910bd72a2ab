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
from typing import Any, TypeAlias

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
from policymix.core.terminal import Terminal
from policymix.environments.registry import EXAMPLE, GROUPS, find_domain
from policymix.storage.folders import canonical, write_file

MEASURED = ("scratch", "mars", "mars-lookahead", "mapse", "phi1", "ucb", "caps")
TRIALS, HOST_TRIALS, DEVICE_TRIALS = 20, 10, 8_192
COUNTS = (3, 12, 48, 192)
CAPACITIES = (1_000, 10_000, 100_000)
FILE = "bench.json"
TITLES = {
    "speed": "Samples a second in training",
    "sources": f"Cost of sources: {EXAMPLE}, {TRIALS} trials",
    "capacities": f"Cost of a larger replay: {EXAMPLE}, {TRIALS} trials",
    "gpu-scale": f"{EXAMPLE} with many trials",
}
"""Of the tables."""
Measure: TypeAlias = Callable[[Begin], dict[str, Rows]]
"""Gives tables by name."""


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


def device_speed(
    trials: int, methods: Sequence[str], seconds: float, begin: Begin = silent
) -> list[MethodSpeed]:
    """Speeds with the many trials that fill an accelerator."""
    return speed([EXAMPLE], methods, [trials], seconds, begin)


def sources(
    seconds: float, begin: Begin = silent, counts: Sequence[int] = COUNTS
) -> list[Versus]:
    """What more sources cost, against the smallest number of them."""
    from policymix.training.task import load_task

    tasks = [widen(load_task(EXAMPLE), count) for count in counts]
    methods, rows = ("mars", "phi1"), []
    advance = begin("sources", ROUNDS * len(methods) * len(counts), "samples/s")
    for method in methods:
        contestants = {
            f"{method}, {len(task.sources)} sources": our_chunks(task, method, TRIALS)
            for task in tasks
        }
        speeds = contest(contestants, seconds, advance)
        rows += ratios_to(speeds, next(iter(contestants)))
    return rows


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


def capacities(
    seconds: float, begin: Begin = silent, sizes: Sequence[int] = CAPACITIES
) -> list[Versus]:
    """Speed against the replay's size: near 1 as long as writes happen in place."""
    settings = find_domain(EXAMPLE).settings
    contestants = {
        f"scratch, {size:,} rows": our_chunks(
            EXAMPLE, "scratch", TRIALS, replace(settings, capacity=size)
        )
        for size in sizes
    }
    advance = begin("capacities", ROUNDS * len(sizes), "samples/s")
    return ratios_to(contest(contestants, seconds, advance), next(iter(contestants)))


def measure_part(
    part: str, seconds: float, trials: Sequence[int], begin: Begin
) -> dict[str, Rows]:
    """The table of a part."""
    if part == "speed":
        return {part: speed(GROUPS["paper"], MEASURED, trials, seconds, begin)}
    if part == "gpu-scale":
        methods = ("scratch", "mars")
        return {part: device_speed(DEVICE_TRIALS, methods, seconds, begin)}
    call = sources if part == "sources" else capacities
    return {part: call(seconds, begin)}


def bench(
    parts: Sequence[str],
    seconds: float = 3.0,
    trials: Sequence[int] = (1, 20, 160),
    out: Path | None = None,
) -> None:
    """Measure some parts, print a table for each, and write all figures to a file.

    Args:
        parts: some of `TITLES`.
        seconds: of a single measurement, at least.
        trials: for the part "speed"; 10 instead of more than 20 for domains that the
            host steps.
        out: a folder for `bench.json`.
    """
    for domain in GROUPS["paper"] if "speed" in parts else ():
        find_domain(domain).spec()  # complains of a missing extra before all else
    measures = [partial(measure_part, part, seconds, trials) for part in parts]
    tell(measures, TITLES, seconds, out)


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
