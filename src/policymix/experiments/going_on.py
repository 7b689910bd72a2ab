"""Trials that are looked at on their way and, after a stop, go on where they were.

What was seen of mixtures until then is part of what is kept: pictures of the end show
the beginning as well.
"""

import warnings
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from policymix.core.errors import DomainError, FileFormatError, PolicymixError
from policymix.core.progress import Begin
from policymix.experiments.snapshots import Arrays, Look, stacked
from policymix.storage.folders import RESTORE, remove_folder
from policymix.storage.runs import Row
from policymix.training.checkpoint import Checkpoint, kept_at, too_large
from policymix.training.run import Pause, TrainingRun, carry_out

TIMES = "times"
"""Among the arrays that are kept: the steps of the looks."""


class Watch(NamedTuple):
    """When the trials of a run are looked at, and what is seen."""

    times: Collection[int]
    see: Callable[[TrainingRun], Look]
    """Arrays have the same names, shapes and types whenever it is asked."""


class Taken(NamedTuple):
    """A run where it is now, and what it has had until then."""

    run: TrainingRun
    kept: Checkpoint | None
    rows: list[Row]
    looks: list[Look]


def watch_run(
    make: Callable[[], TrainingRun],
    watch: Watch,
    begin: Begin,
    title: str,
    home: Path | None = None,
) -> Taken:
    """Run to the end, and look on the way.

    Args:
        make: makes the run, with `recorded=True` if it is to be kept.
        watch: who looks.
        begin: reports on the progress …
        title: … under this name.
        home: a folder to keep the state in, from evaluation to evaluation. If this run
            was stopped, it goes on from there.
    """
    taken = _take_up(make, watch, home)
    run, kept, rows, looks = taken
    earlier = tuple(rows)

    def at_pause(pause: Pause) -> None:
        rows.extend(pause.rows)
        if pause.step in watch.times:
            looks.append(watch.see(run))
        if kept is not None and pause.rows:
            kept.save(rows, _seen_in(looks))

    carry_out(run, begin, title, at_pause, earlier)
    return taken


def _take_up(make: Callable[[], TrainingRun], watch: Watch, home: Path | None) -> Taken:
    """The run where it was, or a new one and a sentence why."""
    run = make()
    if home is None:
        return Taken(run, None, [], [])
    if told := too_large(run, len(watch.times)):
        warnings.warn(f"{told}: stopped, {run.name} begins anew", stacklevel=4)
        return Taken(run, None, [], [])
    kept = Checkpoint(kept_at(home, run), run)
    if home.is_dir() and not kept.folder.exists() and any(home.iterdir()):
        warnings.warn(
            f"{run.name} was stopped when it had other settings, seeds or sources, and "
            f"begins anew; what it had is in {home} until it has finished",
            stacklevel=4,
        )
    try:
        rows, seen = kept.resume()
        looks = _looks_in(seen, watch, run, kept.folder) if rows else []
        return Taken(run, kept, rows, looks)
    except DomainError as error:
        raise PolicymixError(
            f"{run.name} was not brought back to where it was: {error}. Mend that and "
            f"try again, or delete {kept.folder} to begin {run.name} anew"
        ) from error
    except PolicymixError as error:
        why, _, remedy = str(error).rpartition(". ")  # which is for whoever is asked
        warnings.warn(f"{run.name} begins anew: {why or remedy}", stacklevel=4)
    remove_folder(kept.folder)
    run = make()  # the other may be halfway back
    return Taken(run, Checkpoint(kept.folder, run), [], [])


def _seen_in(looks: Sequence[Look]) -> Arrays:
    """Looks as arrays whose first axis is time; nothing of none."""
    if not looks:
        return {}
    return stacked(looks) | {TIMES: np.array([look.step for look in looks], np.int64)}


def _looks_in(seen: Arrays, watch: Watch, run: TrainingRun, folder: Path) -> list[Look]:
    """The looks that `_seen_in` wrote down, if they are those of this run."""
    times = sorted(time for time in watch.times if time <= run.loop.steps)
    now = [watch.see(run)] if times else []
    same = _kinds(seen) == _kinds(_seen_in(now * len(times)))
    if not same or (times and seen[TIMES].tolist() != times):
        problem = "what was seen is not what this run would have seen"
        raise FileFormatError(folder, "seen", problem, RESTORE)
    names = seen.keys() - {TIMES}
    return [
        Look(time, {name: seen[name][at] for name in names})
        for at, time in enumerate(times)
    ]


def _kinds(arrays: Arrays) -> dict[str, Any]:
    return {name: (array.shape, array.dtype) for name, array in arrays.items()}
