"""kill -9 at random moments: nothing is lost, done twice or half there."""

import json
import shutil
import time
from collections import Counter
from functools import partial

from children import end_within, status_of, tracebacks
from disks import tidy
from made import reproduce, run, train_kept
from tally import Tally

from policymix.storage.places import LOCK

TRAINED = ("scratch", "mars", "mapse", "ucb")


def kept(folder):
    """All that a folder says, but for how long it took."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.name != LOCK:
            content = path.read_bytes()
            if path.name == "run.json":
                facts = json.loads(content) | {"wall_seconds": None}
                content = json.dumps(facts).encode()
            found[path.relative_to(folder).as_posix()] = content
    return found


def again_and_again(place, count, rng, act, check, tally):
    """Kill the same work until it was quicker; it ends as one go does.

    Three kills of four are aimed at the work itself, the others at any moment.

    Args:
        place: a folder.
        count: of kills.
        rng: draws moments.
        act: does the work in a folder and writes to a log what it has reached.
        check: looks at a folder after every kill, with the log.
        tally: to count in.
    """
    longest, work = in_one_go(place, act, tally)
    rounds = kills = 0
    while kills < count:
        out, log = place / f"out-{rounds}", place / f"out-{rounds}.log"
        rounds, killed = rounds + 1, True
        while killed and kills < count:
            aimed = rng.uniform() < 0.75
            seconds, after = (work, log) if aimed else (longest, None)
            moment = rng.uniform(0, seconds)
            status = end_within(partial(act, out, log), moment, place, after)
            tally.ended(status, "a killed one", (0, -9))
            killed = status != 0
            kills += killed
            check(out, log)
        if killed:
            tally.ended(status_of(partial(act, out, log), place), "the last one")
            check(out, log)
        tally.wrong("other", "another result", kept(out) != kept(place / "whole"))
        tally.wrong("other", "leftovers", not tidy(out))
        shutil.rmtree(out)
    tally.wrong("tracebacks", place.name, tracebacks(place))
    tally.times += kills
    return tally


def in_one_go(place, act, tally):
    """Do it without a kill, for comparison; seconds of all, and of the work alone."""
    for name in ("compiled", "whole"):
        log, started = place / f"{name}.log", time.time()
        status = status_of(partial(act, place / name, log), place)
        tally.ended(status, "an undisturbed one")
        ended, began = time.time(), float(log.read_text().split()[1])
    return ended - started, ended - began


def lost_in(log, margin):
    """Evaluations that processes made although earlier ones had gone further.

    Args:
        log: "start TIME" for every process, then "METHOD number" for every evaluation.
        margin: 1 if it was written down once it was kept, 0 if before.
    """
    lost, last, first = 0, {}, set()
    for line in log.read_text().splitlines() if log.exists() else ():
        if line.startswith("start"):
            first = set(last)
            continue
        method, number = line.split()
        if method in first:
            lost += max(0, last[method] + margin - int(number))
            first.discard(method)
        last[method] = int(number)
    return lost


def of_run(place, count, rng):
    """Rows are kept at every evaluation, and the same call goes on after the last."""
    tally, lost = Tally(), Counter()

    def check(out, log):
        count_lost(tally, lost, log, margin=1)
        if (out / "evaluations.csv").exists():
            lines = (out / "evaluations.csv").read_text().splitlines()[1:]
            rows = [tuple(line.split(",")[1:5]) for line in lines]
            tally.wrong("repeated", "a row", len(rows) - len(set(rows)))

    return again_and_again(place, count, rng, run, check, tally)


def of_train(place, count, rng):
    """A checkpoint is kept at every evaluation; the end is that of one go."""
    tally, lost = Tally(), Counter()
    for method in TRAINED:
        folder = place / method
        folder.mkdir()
        again_and_again(
            folder,
            -(-count // len(TRAINED)),
            rng,
            partial(train_kept, method=method),
            lambda out, log: count_lost(tally, lost, log, margin=0),
            tally,
        )
    return tally


def count_lost(tally, before, log, margin):
    """Count what was lost since the log was looked at before."""
    found = lost_in(log, margin)
    tally.wrong("lost", log.name, found - before[log])
    before[log] = found


def of_reproduce(place, count, rng):
    """A part that is finished is kept, as it was written; the others are run again."""
    tally, seen = Tally(), {}

    def check(out, log):
        for path in sorted(out.glob("*/*/run.json")):
            if path.parent.name.startswith("."):
                continue  # not yet in its place
            number = path.stat().st_ino
            again = seen.setdefault(path, number) != number
            tally.wrong("repeated", f"part {path.parent.name}", again)
            whole = place / "whole" / path.parent.relative_to(out)
            same = kept(path.parent) == kept(whole)
            tally.wrong("other", f"part {path.parent.name} is another", not same)
        for path in seen:
            if path.is_relative_to(out):
                tally.wrong("lost", f"part {path.parent.name}", not path.exists())

    return again_and_again(place, count, rng, reproduce, check, tally)
