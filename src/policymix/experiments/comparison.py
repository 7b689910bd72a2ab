"""Methods on a task, a folder for each: what is there is kept and extended.

All methods of a folder have the same trials, so that they can be compared. A method
that was stopped goes on after its last evaluation.
"""

import time
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from policymix.beliefs.telling import Over
from policymix.core.errors import FileFormatError
from policymix.core.progress import Begin
from policymix.experiments.blocks import Blockwise, move_bar, run_on
from policymix.experiments.plans import Experiment, Part
from policymix.experiments.runner import Wanted, check_part, facts_of
from policymix.experiments.snapshots import reference
from policymix.experiments.visited import view_facts, watch_visited
from policymix.experiments.watched import Piece, joined, watch_part, watched_before
from policymix.storage.folders import remove_folder, replace_folder, write_folder
from policymix.storage.places import GOING_ON
from policymix.storage.runs import FACTS, files_of, read_facts, write_run
from policymix.training.loop import lanes_of
from policymix.training.run import TrialError

STOPPED = ".stopped"
"""Within the folder of a comparison: rows of methods that failed in the middle."""


def trials_there(folder: Path) -> int:
    """Of one method; none where its folder is not there."""
    return read_facts(folder)["trials"] if folder.exists() else 0


def methods_there(out: Path) -> list[str]:
    """Methods that have a folder at a place."""
    found = sorted(out.glob(f"*/{FACTS}")) if out.is_dir() else []
    return [p.parent.name for p in found if not p.parent.name.startswith(".")]


def unfinished(experiment: Experiment, out: Path) -> list[Part]:
    """Parts that lack trials; what is there must be a beginning of the plan."""
    lacking = []
    for part in experiment.parts:
        folder, found = out / part.name, trials_there(out / part.name)
        check_part(experiment._replace(trials=found or 1), part, folder)
        if found > experiment.trials:
            problem = f"{found} already, more than {experiment.trials}"
            remedy = "Ask for as many, or choose another folder"
            raise FileFormatError(folder / FACTS, "trials", problem, remedy)
        if found < experiment.trials:
            lacking.append(part)
    return lacking


def extend(
    experiment: Experiment, part: Part, out: Path, begin: Begin, over: Over = None
) -> None:
    """Run the trials that a method lacks, and write its folder, whole or not at all.

    Until then its state is kept aside at every evaluation, and whatever ends it, the
    same call goes on from there. Where the user's own code fails in the middle, the
    rows until then are kept aside, too.

    Args:
        experiment: with all trials that the method shall have.
        part: the method.
        out: a folder in which it has its own, perhaps with some trials already.
        begin: reports on the progress.
        over: by which numbers of an observation an own task's mixture is drawn.
    """
    started, wanted = time.perf_counter(), lacking(experiment, part, out)
    rest, stopped = wanted.experiment, out / STOPPED / part.name
    first = experiment.trials - rest.trials
    kept = {"lanes": wanted.lanes, "home": out / GOING_ON / part.name / str(first)}
    try:
        if wanted.look == "study":
            known = reference(rest.task)
            new = watch_part(rest, part, known, begin, recorded=True, **kept)
        else:
            new = watch_visited(rest, part, begin, wanted.visited, **kept)
    except TrialError as error:
        facts = facts_of(rest, part) | {"status": f"stopped: {error}"}
        write_run(stopped, facts, error.rows)
        raise TrialError(
            f"{error}. Its rows until then are in {stopped}; the same call goes on "
            f"with {part.name} from there and keeps the others",
            error.rows,
        ) from error.__cause__
    keep(experiment, over, wanted, new, time.perf_counter() - started)


def extend_on(
    blockwise: Blockwise,
    experiment: Experiment,
    parts: Sequence[Part],
    out: Path,
    begin: Begin,
    over: Over = None,
) -> None:
    """The same for several methods, in blocks."""
    wanted = [lacking(experiment, part, out) for part in parts]
    finish = partial(keep, experiment, over)
    run_on(blockwise, wanted, partial(move_bar, begin), finish)


def lacking(experiment: Experiment, part: Part, out: Path) -> Wanted:
    """The trials that a method's folder lacks of an experiment."""
    folder = out / part.name
    found = trials_there(folder)
    old = watched_before(folder, part.method) if found else None
    return Wanted(
        experiment._replace(
            seed=experiment.seed + found, trials=experiment.trials - found
        ),
        part,
        folder,
        lanes=lanes_of(experiment.trials),
        look="visited" if experiment.study.view is None else "study",
        visited=None if old is None else old.arrays.get("visited"),
        recorded=True,
    )


def keep(
    experiment: Experiment, over: Over, wanted: Wanted, new: Piece, seconds: float
) -> None:
    """Write a method's folder: what was there, and the trials that it lacked.

    What was kept aside on the way is removed.
    """
    part, folder = wanted.part, wanted.out
    if "visited" in new.arrays:
        space = experiment.task.domain.spec().observation
        view = view_facts(space, new.arrays, over)
        new = new._replace(facts=new.facts | {"view": view})
    found = trials_there(folder)
    if found:
        seconds += sum(read_facts(folder)["wall_seconds"].values())
        new = joined([watched_before(folder, part.method), new])
    facts = facts_of(experiment, part) | {"status": "finished"}
    facts |= {"wall_seconds": {part.method: seconds}, "own": experiment.task.is_own}
    files = files_of(facts, new.rows) | new.files()
    (replace_folder if found else write_folder)(folder, files)
    clear_aside(folder.parent, part)


def clear_aside(out: Path, part: Part) -> None:
    """Remove what was kept aside of a method's trials that its folder has now."""
    there = trials_there(out / part.name)
    going_on, stopped = out / GOING_ON / part.name, out / STOPPED / part.name
    for first in range(there):
        remove_folder(going_on / str(first))
    remove_folder(stopped)
    for folder in (going_on, going_on.parent, stopped.parent):
        with suppress(OSError):  # others may have stopped, too, or none
            folder.rmdir()
