"""The paper's experiments from one command, and the report on any folder of runs."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from policymix.core.errors import FileFormatError
from policymix.core.progress import plan_bars
from policymix.experiments.plans import SEVERAL, Experiment, Part, plan
from policymix.experiments.runner import missing, run_pieces
from policymix.experiments.runs import FACTS
from policymix.reports.report import report
from policymix.storage.folders import canonical, check_new, write_file
from policymix.storage.runs import json_of, read_facts
from policymix.training.task import find_domain, load_task

NOTE, FORMAT = "experiment.json", "policymix experiment"


def reproduce(name: str, out: Path, seed: int, quick: bool) -> None:
    """Run a domain's experiment, or all of them, and report; goes on where it stopped.

    Args:
        name: of a domain, or one that stands for several: "all" for the paper's,
            "inventory" for both inventories.
        out: a new folder, or one that an earlier call with the same numbers left.
        seed: trial t has seed + t.
        quick: few trials.
    """
    names = SEVERAL.get(name) or (find_domain(name).name,)
    for domain in names:
        find_domain(domain).spec()
    options = f"{' --seed ' + str(seed) if seed else ''}{' --quick' if quick else ''}"
    command = f"policymix reproduce {name} --out {out.resolve().name}{options}"
    experiments = [plan(load_task(domain), seed, quick) for domain in names]
    keep_note(out, {"seed": seed, "quick": quick, "command": command})
    console = Console()
    run_all(experiments, out, console)
    make_report(out, console)


def run_all(experiments: Sequence[Experiment], out: Path, console: Console) -> None:
    """Run what is missing, with a bar for the whole."""
    folders = [out / experiment.task.domain.name for experiment in experiments]
    wanted = [missing(*pair) for pair in zip(experiments, folders, strict=True)]
    efforts = {
        experiment.title(piece): experiment.effort(piece)
        for experiment, pieces in zip(experiments, wanted, strict=True)
        for piece in pieces
    }
    total = sum(len(experiment.pieces) for experiment in experiments)
    there = total - len(efforts)
    if there:
        told = f"{there} of {total} parts are in {out} already and are kept"
        console.print(told, markup=False)
    if not efforts:
        return
    try:
        with plan_bars(console, efforts) as begin:
            for experiment, pieces, folder in zip(
                experiments, wanted, folders, strict=True
            ):

                def finished(
                    piece: Part, seconds: float, experiment: Experiment = experiment
                ) -> None:
                    title = experiment.title(piece)
                    console.print(f"{title:<28} {seconds:6.0f} s", highlight=False)

                run_pieces(experiment, pieces, folder, begin, finished)
    except KeyboardInterrupt:
        console.print("The same command goes on after the last finished part.")
        raise


def make_report(place: Path, console: Console) -> Path:
    """Figures, table and page of a folder."""
    with console.status("report …") as status:
        page = report(place, command_of(place), lambda what: status.update(f"{what} …"))
    console.print(f"report: {page.resolve()}", soft_wrap=True, markup=False)
    return page


def keep_note(out: Path, facts: dict[str, Any]) -> None:
    """Write down what the folder is for, or make sure that it is for the same."""
    path = out / NOTE
    if not path.exists():
        path.with_name(f".{NOTE}.new").unlink(missing_ok=True)
        check_new(out)
        write_file(path, canonical({"format": FORMAT, **facts}))
        return
    found = json_of(path)
    for name in ("seed", "quick"):
        if not isinstance(found, dict) or found.get(name) != facts[name]:
            was = found.get(name) if isinstance(found, dict) else None
            raise FileFormatError(
                *(path, name, f"{was!r}, but {facts[name]!r} was asked for"),
                "Choose another folder for --out",
            )


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
