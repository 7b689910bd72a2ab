"""How fast it is, side by side with others in one run, so that ratios mean something.

What a part needs is imported when it runs: those without Gymnasium's environments work
where Gymnasium is missing.
"""

import math
import os
import platform
import sys
from collections.abc import Sequence
from dataclasses import replace
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from policymix import __version__
from policymix.cli.bench_contestants import (
    baseline_chunks,
    host_chunks,
    our_chunks,
    rejax_chunks,
)
from policymix.cli.bench_contests import (
    ROUNDS,
    Absent,
    Chunk,
    Rows,
    Speed,
    Versus,
    compare,
    contest,
    fastest,
    rate,
    share_of,
    warm_up,
)
from policymix.core.devices import use_every_core
from policymix.core.errors import MissingExtraError, PolicymixError, did_you_mean
from policymix.core.progress import Begin, bars, silent
from policymix.core.settings import Settings
from policymix.environments.registry import GROUPS, find_domain
from policymix.storage.folders import canonical, write_file

METHODS = ("scratch", "mars", "mars-lookahead", "mapse", "phi1", "ucb", "caps")
TRIALS, LANDER_TRIALS, DEVICE_TRIALS = 20, 10, 8_192
COUNTS = (3, 12, 48, 192)
CAPACITIES = (1_000, 10_000, 100_000)
FILE = "bench.json"
OUR_CARTPOLE = "policymix/TransferCartPole-v0"


def speed(
    domains: Sequence[str],
    methods: Sequence[str],
    trials: Sequence[int],
    seconds: float,
    begin: Begin = silent,
) -> list[Speed]:
    """Samples a second in training, and the time that compilation takes.

    Compilation is what the first chunks take longer than later ones.
    """
    import jax

    from policymix.training.task import load_task

    counts = {name: trials if name != "lander" else _few(trials) for name in domains}
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
                rows.append(Speed(domain, method, count, found, compiling))
                advance(1, found)
    return rows


def _few(trials: Sequence[int]) -> list[int]:
    """What makes sense where the host steps environments: 10 instead of many."""
    return sorted({n if n <= TRIALS else LANDER_TRIALS for n in trials})


def device_speed(
    trials: int, methods: Sequence[str], seconds: float, begin: Begin = silent
) -> list[Speed]:
    """Speeds on CartPole with the many trials that fill an accelerator."""
    return speed(["cartpole"], methods, [trials], seconds, begin)


def against_sb3(seconds: float, begin: Begin = silent) -> dict[str, Rows]:
    """CartPole with `TRIALS` trials against the fastest way to run Stable-Baselines3.

    Its DQN may run on our environment or on Gymnasium's CartPole-v1, which is cheaper
    (fewer actions, no JAX), and with one thread or two; others compete as well where
    they are installed.
    """
    import gymnasium

    settings = find_domain("cartpole").settings
    contestants: dict[str, Chunk] = {}
    for method, trials in (("scratch", TRIALS), ("mars", TRIALS), ("scratch", 1)):
        name = f"policymix {method}, {_plural(trials, 'trial')}"
        contestants[name] = our_chunks("cartpole", method, trials)
    ways: dict[str, Chunk] = {}
    for world, threads in product((OUR_CARTPOLE, "CartPole-v1"), (1, 2)):
        name = f"SB3, {world.split('/')[-1]}, {_plural(threads, 'thread')}"
        environment = gymnasium.make(world, disable_env_checker=True)
        ways[name] = baseline_chunks(
            "stable_baselines3", environment, settings, threads
        )
    best, looks = fastest(ways)
    others, absent = _others(settings)
    contestants |= {best: ways[best], **others}
    advance = begin("sb3", ROUNDS * len(contestants), "samples/s")
    speeds = contest(contestants, seconds, advance)
    found: dict[str, Rows] = {"sb3-ways": looks, "sb3": compare(speeds, best)}
    return {**found, "sb3-absent": absent} if absent else found


def _others(settings: Settings) -> tuple[dict[str, Chunk], list[Absent]]:
    """Further libraries, and those that are not installed or do not run."""
    import gymnasium

    def sbx() -> Chunk:
        environment = gymnasium.make("CartPole-v1", disable_env_checker=True)
        return baseline_chunks("sbx", environment, settings, 1)

    makers = {
        "sbx": ("SBX, CartPole-v1", sbx),
        "rejax": (
            f"Rejax, CartPole-v1, {_plural(TRIALS, 'trial')}",
            lambda: rejax_chunks(settings, TRIALS),
        ),
    }
    contestants: dict[str, Chunk] = {}
    absent: list[Absent] = []
    for library, (name, make) in makers.items():
        if not find_spec(library):
            absent.append(Absent(library, "not installed"))
            continue
        try:
            chunk = make()
            chunk()
        except Exception as error:  # whatever it is, the others can still compete
            absent.append(Absent(library, f"{type(error).__name__}: {error}"))
        else:
            contestants[name] = chunk
    return contestants, absent


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def against_sb3_lander(seconds: float, begin: Begin = silent) -> dict[str, Rows]:
    """The lander against Stable-Baselines3, and how much of it is the host's work."""
    import jax

    from policymix.domains.lander.picture import make_lander

    ours = f"policymix scratch, {_plural(LANDER_TRIALS, 'trial')}"
    host = f"{_plural(LANDER_TRIALS, 'environment')} alone, 1 thread"
    ways = {
        f"SB3, {_plural(threads, 'thread')}": baseline_chunks(
            "stable_baselines3", make_lander(), find_domain("lander").settings, threads
        )
        for threads in (1, 2)
    }
    best, looks = fastest(ways)
    contestants = {
        ours: our_chunks("lander", "scratch", LANDER_TRIALS),
        best: ways[best],
        host: host_chunks(make_lander, LANDER_TRIALS),
    }
    advance = begin("lander", ROUNDS * len(contestants), "samples/s")
    speeds = contest(contestants, seconds, advance)
    threads = min(jax.device_count(), LANDER_TRIALS)
    share = share_of(speeds[ours], speeds[host], LANDER_TRIALS, threads)
    return {
        "lander-ways": looks,
        "lander": compare(speeds, best),
        "lander-host": [share],
    }


def sources(
    seconds: float, begin: Begin = silent, counts: Sequence[int] = COUNTS
) -> list[Versus]:
    """What more sources cost, against the smallest number of them."""
    from policymix.training.task import load_task

    tasks = [_widen(load_task("cartpole"), count) for count in counts]
    methods, rows = ("mars", "phi1"), []
    advance = begin("sources", ROUNDS * len(methods) * len(counts), "samples/s")
    for method in methods:
        contestants = {
            f"{method}, {len(task.sources)} sources": our_chunks(task, method, TRIALS)
            for task in tasks
        }
        speeds = contest(contestants, seconds, advance)
        rows += compare(speeds, next(iter(contestants)))
    return rows


def _widen(task: Any, count: int) -> Any:
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
    settings = find_domain("cartpole").settings
    contestants = {
        f"scratch, {size:,} rows": our_chunks(
            "cartpole", "scratch", TRIALS, replace(settings, capacity=size)
        )
        for size in sizes
    }
    advance = begin("capacities", ROUNDS * len(sizes), "samples/s")
    return compare(contest(contestants, seconds, advance), next(iter(contestants)))


TITLES = {
    "speed": "Samples a second in training",
    "sb3-ways": "Ways to run Stable-Baselines3: a short look, the fastest competes",
    "sb3": "CartPole against other libraries (CartPole-v1 is Gymnasium's own, a "
    "cheaper environment)",
    "sb3-absent": "Could have competed",
    "lander-ways": "Ways to run Stable-Baselines3: a short look, the fastest competes",
    "lander": "Lander against Stable-Baselines3, on the same environment",
    "lander-host": "Environments and host work in the lander's loop, for each step",
    "sources": f"Cost of sources: CartPole, {TRIALS} trials",
    "capacities": f"Cost of a larger replay: CartPole, {TRIALS} trials",
    "gpu-scale": "CartPole with many trials",
}
"""Of the tables."""
PARTS = ("speed", "sb3", "lander", "sources", "capacities", "gpu-scale")


def measure(
    part: str, seconds: float, trials: Sequence[int], begin: Begin
) -> dict[str, Rows]:
    """The tables of a part."""
    if part == "sb3":
        return against_sb3(seconds, begin)
    if part == "lander":
        return against_sb3_lander(seconds, begin)
    if part == "speed":
        return {part: speed(GROUPS["all"], METHODS, trials, seconds, begin)}
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
    """Measure, print a table for each part, and write all figures to a file.

    Args:
        parts: some of `PARTS`.
        seconds: of a single measurement, at least.
        trials: for the part "speed"; for the lander, 10 instead of more than 20.
        out: a folder for `bench.json`.
    """
    check(parts, seconds, trials, out)
    use_every_core()
    console, figures = Console(), {}
    with bars(console) as begin:
        for part in parts:
            for name, rows in measure(part, seconds, trials, begin).items():
                figures[name] = [row._asdict() for row in rows]
                console.print(table(TITLES[name], rows))
    if out is not None:
        write_file(
            out / FILE,
            canonical({**circumstances(), "seconds": seconds, "figures": figures}),
        )
        console.print(f"figures written to {out / FILE}")


def check(
    parts: Sequence[str], seconds: float, trials: Sequence[int], out: Path | None
) -> None:
    """Complain before anything is measured."""
    for part in parts:
        if part not in PARTS:
            raise PolicymixError(
                f"there is no part {part!r} of the benchmark: choose "
                f"{', '.join(PARTS)}.{did_you_mean(part, PARTS)}"
            )
    if not 0.0 < seconds < math.inf:
        raise PolicymixError(f"seconds is {seconds}: it must be positive")
    if not trials or min(trials) < 1:
        raise PolicymixError(f"trials is {list(trials)}: each must be at least 1")
    if out is not None and out.exists() and not out.is_dir():
        raise PolicymixError(f"{out} is a file. Choose a folder for --out")
    if {"sb3", "lander"} & set(parts) and not find_spec("stable_baselines3"):
        raise MissingExtraError("policymix bench --parts sb3 lander", "sb3")
    if {"speed", "lander"} & set(parts):
        use_every_core()
        from policymix.domains.lander.picture import make_lander

        make_lander().close()


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
