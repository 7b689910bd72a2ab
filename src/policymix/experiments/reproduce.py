"""Whole experiments from one command; what is finished is kept."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console

from policymix.core.errors import FileFormatError
from policymix.core.progress import plan_bars
from policymix.environments.registry import GROUPS, find_domain
from policymix.experiments.blocks import Blockwise, move_bar, run_on
from policymix.experiments.plans import Experiment, plan
from policymix.experiments.runner import Wanted, missing, run_here
from policymix.storage.folders import NOTE, canonical, json_of, write_file
from policymix.storage.places import check_unused, held
from policymix.storage.runs import FACTS, read_facts
from policymix.training.task import load_task, prepare

FORMAT = "policymix experiment"


def reproduce(
    name: str,
    out: Path,
    seed: int,
    quick: bool,
    console: Console,
    blockwise: Blockwise | None = None,
) -> None:
    """Run a domain's experiment, or several of them; goes on where it stopped.

    Args:
        name: of a domain, or one of `GROUPS` that stands for several.
        out: a new folder, or one that an earlier call with the same numbers left.
        seed: trial t has seed + t.
        quick: few trials.
        console: to report on.
        blockwise: how blocks of trials are run; None runs part after part here.
    """
    names = GROUPS.get(name) or (find_domain(name).name,)
    for domain in names:
        find_domain(domain).spec()
    options = f"{' --seed ' + str(seed) if seed else ''}{' --quick' if quick else ''}"
    command = f"policymix reproduce {name} --out {out.resolve().name}{options}"
    experiments = [plan(prepare(load_task(domain)), seed, quick) for domain in names]
    with held(out):
        keep_note(out, {"seed": seed, "quick": quick, "command": command})
        run_all(experiments, out, console, blockwise)


def run_all(
    experiments: Sequence[Experiment],
    out: Path,
    console: Console,
    blockwise: Blockwise | None = None,
) -> None:
    """Run what is missing, with a bar for the whole."""
    wanted = [
        Wanted(experiment, part, out / experiment.task.domain.name / part.name)
        for experiment in experiments
        for part in missing(experiment, out / experiment.task.domain.name)
    ]
    total = sum(len(experiment.parts) for experiment in experiments)
    there = total - len(wanted)
    if there:
        told = f"{there} of {total} parts are in {out} already and are kept"
        console.print(told)
    if not wanted:
        return
    try:
        with plan_bars(console, {w.title: w.effort for w in wanted}) as begin:
            if blockwise is None:
                run_here(wanted, begin, partial(tell_part, console))
            else:
                run_on(blockwise, wanted, partial(move_bar, begin))
    except KeyboardInterrupt:
        console.print("The same command goes on after the last finished part.")
        raise


def tell_part(console: Console, wanted: Wanted, seconds: float) -> None:
    """A part is finished."""
    console.print(f"{wanted.title:<28} {seconds:6.0f} s", highlight=False)


def keep_note(out: Path, facts: dict[str, Any]) -> None:
    """Write down what the folder is for, or make sure that it is for the same."""
    path = out / NOTE
    if not path.exists():
        write_note(out, facts)
        return
    found = json_of(path)
    for name in ("seed", "quick"):
        if not isinstance(found, dict) or found.get(name) != facts[name]:
            was = found.get(name) if isinstance(found, dict) else None
            raise FileFormatError(
                path,
                name,
                f"{was!r}, but {facts[name]!r} was asked for",
                "Choose another folder for --out",
            )


def write_note(out: Path, facts: dict[str, Any]) -> None:
    """Write down what a folder is for; one that has no note must be empty."""
    path = out / NOTE
    if not path.exists():
        check_unused(out)
    write_file(path, canonical({"format": FORMAT, **facts}))


def command_of(place: Path) -> str:
    """How a folder was made."""
    if (place / NOTE).exists():
        found = json_of(place / NOTE)
        return str(found.get("command")) if isinstance(found, dict) else ""
    if not (place / FACTS).exists():
        return f"policymix report {place.resolve().name}"
    facts = read_facts(place)
    methods = " ".join(map(str, facts["methods"]))
    return (
        f"policymix run {facts['domain']} --methods {methods} "
        f"--trials {facts['trials']} --seed {facts['seed']} "
        f"--steps {facts['settings']['steps']} --out {place.resolve().name}"
    )
