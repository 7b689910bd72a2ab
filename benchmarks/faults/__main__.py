"""Break things on purpose and count what is lost.

    python benchmarks/faults                       # all of it, about half an hour
    python benchmarks/faults saving files --share 0.01
    python benchmarks/faults --out results/own/faults.json
    python benchmarks/faults run train --jobs 16   # so many processes at a time

Everything that is counted must be 0, or else the exit status is 1.
"""

import argparse
import json
import os
import platform
import sys
import tempfile
import time
from functools import partial
from importlib import import_module
from pathlib import Path

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")


PARTS = {
    "saving": ("kill -9 while saving", "disks.of_saving", 200),
    "run": ("kill -9 of `policymix run`", "kills.of_run", 50),
    "reproduce": ("kill -9 of `policymix reproduce`", "kills.of_reproduce", 30),
    "train": ("kill -9 of `train(checkpoint=)`", "kills.of_train", 120),
    "terminate": ("SIGTERM to `policymix run`", "streams.of_terminating", 20),
    "files": ("damaged and crafted files", "files.of_files", 10_000),
    "limits": ("files may not grow", "disks.of_limits", 200),
    "disk": ("disk full", "disks.of_full_disk", 200),
    "writers": ("two writers of a folder", "disks.of_two_writers", 200),
    "one-file": ("four writers of a file", "disks.of_one_file", 2_000),
    "streams": ("streams closed, full, ASCII; odd names", "streams.of_streams", 12),
}
"""Name → what is done, by which function, how often."""
WHOLE = ("one-file", "streams")
"""Parts that are not shared out among processes."""


def main():
    options = argparse.ArgumentParser("python benchmarks/faults", description=__doc__)
    options.add_argument("parts", nargs="*", help=f"all by default: {', '.join(PARTS)}")
    options.add_argument("--share", type=float, default=1.0, help="of the usual counts")
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--jobs", type=int, default=1, help="processes at a time")
    options.add_argument("--out", type=Path, help="a file that is added to")
    asked = options.parse_args()
    sys.path.insert(0, str(Path(__file__).parent))
    with tempfile.TemporaryDirectory(prefix="policymix-faults-") as place:
        os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", f"{place}/programs")
        return break_all(Path(place), asked)


def break_all(place, asked):
    """Every part that was asked for, with a line for each."""
    from tally import WRONGS

    bad = 0
    for name in asked.parts or PARTS:
        what, function, count = PARTS[name]
        module, function = function.split(".")
        module, began = import_module(module), time.monotonic()
        count = max(1, round(asked.share * count))
        jobs = 1 if name in WHOLE else min(asked.jobs, count)
        tally = shared_out(getattr(module, function), place / name, count, jobs, asked)
        if tally.figures:
            tally.note = module.summary(tally.figures)
        seconds = time.monotonic() - began
        wrongs = {kind: tally[kind] for kind in WRONGS}
        told = ", ".join(f"{count} {kind}" for kind, count in wrongs.items())
        print(f"{what}: {tally.times:,} times, {told}; {seconds:.0f} s. {tally.note}")
        print(*(f"  {where}" for where in tally.where[:20]), sep="\n", flush=True)
        found = {"what": what, "times": tally.times, **wrongs, "note": tally.note}
        if asked.out:
            keep(asked.out, name, found)
        bad += tally.bad
    return 1 if bad else 0


def shared_out(act, place, count, jobs, asked):
    """Do it so often, in so many processes at a time, each in a folder of its own."""
    import numpy as np
    from children import fork, tracebacks
    from tally import Tally

    place.mkdir()
    if jobs == 1:
        return act(place, count, np.random.default_rng(asked.seed))
    tally, pids = Tally(), []
    folders = [place / str(job) for job in range(jobs)]
    shares = np.diff(np.linspace(0, count, jobs + 1).astype(int)).tolist()

    def work(job):
        rng = np.random.default_rng([asked.seed, job])
        act(folders[job], shares[job], rng).keep(place / f"{job}.json")

    for job, folder in enumerate(folders):
        folder.mkdir()
        pids.append(fork(partial(work, job), place))
    for job, pid in enumerate(pids):
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        tally.ended(status, f"process {job}")
        if status == 0:
            tally.add(place / f"{job}.json")
    tally.wrong("tracebacks", "of the suite itself", tracebacks(place))
    return tally


def keep(path, name, found):
    """Put a part's line into the file of all."""
    from policymix import __version__

    facts = json.loads(path.read_text()) if path.exists() else {"parts": {}}
    facts["made with"] = f"policymix {__version__}, Python {platform.python_version()}"
    facts["parts"][name] = found
    path.write_text(json.dumps(facts, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
