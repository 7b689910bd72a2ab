"""Terminals and names of all kinds, and SIGTERM: the command does its work."""

import io
import os
import shutil
import signal
import sys
from functools import partial

from children import end_within, size_of, status_of, tracebacks
from tally import Tally

from policymix.cli.main import main
from policymix.storage.runs import read_run

NAMES = ("a[/x]", "[red]", "e\x1b[2J\x07", "=1+1", "ü…日本", "\udcff", "-x" * 99)
ENDED = 128 + signal.SIGTERM


def command(*arguments):
    """Run the command line in this process; its exit status."""
    sys.argv = ["policymix", *map(str, arguments)]
    try:
        main()
    except SystemExit as ended:
        return ended.code
    return 0


def ascii_only(place):
    sys.stdout = io.TextIOWrapper((place / "told").open("wb"), "ascii", "strict")


def none_at_all(place):
    sys.stdout = sys.stderr = None  # as after >&- 2>&-
    os.close(1)
    os.close(2)


def closed(place):
    os.close(1)


def full(place):
    os.dup2(os.open("/dev/full", os.O_WRONLY), 1)


def left(place):
    read, write = os.pipe()
    os.close(read)
    os.dup2(write, 1)


def usual(place):
    """To the file that all processes have."""


STREAMS = (ascii_only, none_at_all, closed, full, left)
CASES = [(stream, "out") for stream in STREAMS] + [(usual, name) for name in NAMES]


def small_run(place, out, stream=usual, steps=60):
    """The command, as if typed; its exit status."""
    os.chdir(place)
    stream(place)
    options = ["--methods", "scratch", "--trials", 2, "--steps", steps]
    return command("run", "maze", *options, f"--out={out}")


def of_streams(place, count, rng):
    """A short run with every stream, then with every name."""
    tally = Tally()
    for stream, name in CASES[:count]:
        out = place / "streams" / name
        what = f"{stream.__name__} {name!a}"
        status = status_of(partial(small_run, place, out, stream), place)
        tally.ended(status, what)
        read = status_of(partial(read_run, out), place)
        tally.wrong("lost", what, read not in (0, None))
        shutil.rmtree(place / "streams", ignore_errors=True)
        tally.times += 1
    tally.wrong("tracebacks", "of the command", tracebacks(place))
    return tally


def of_terminating(place, count, rng):
    """Asked to end, it says so, keeps its rows, and the same command goes on."""
    tally, out, whole = Tally(), place / "out", place / "whole"
    act = partial(small_run, place, out, steps=20_000)
    status = status_of(partial(small_run, place, whole, steps=20_000), place)
    tally.ended(status, "an undisturbed one")
    rows, log = (folder / "evaluations.csv" for folder in (whole, out))
    for tally.times in range(1, count + 1):
        before, moment = size_of(log), rng.uniform(0, 0.3)
        after = log if rng.uniform() < 0.75 else None  # or at any moment from its start
        moment = moment if after else 20 * moment
        status = end_within(act, moment, place, after, signal.SIGTERM)
        # It may come before the command has said what to do with it.
        tally.ended(status, "a terminated one", (ENDED, 0, -signal.SIGTERM))
        tally.wrong("lost", "rows that were there", size_of(log) < before)
        now = log.read_bytes() if log.exists() else b""
        tally.wrong("other", "another row", not rows.read_bytes().startswith(now))
        shutil.rmtree(out) if status == 0 else None
    tally.wrong("tracebacks", "of the command", tracebacks(place))
    return tally
