"""Break things on purpose and count what is lost.

    python benchmarks/faults                       # all of it, about half an hour
    python benchmarks/faults saving files --share 0.01
    python benchmarks/faults --out results/own/faults.json

Everything that is counted must be 0, or else the exit status is 1.
"""

import argparse
import json
import os
import platform
import sys
import tempfile
import time
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


def main():
    options = argparse.ArgumentParser("python benchmarks/faults", description=__doc__)
    options.add_argument("parts", nargs="*", help=f"all by default: {', '.join(PARTS)}")
    options.add_argument("--share", type=float, default=1.0, help="of the usual counts")
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--out", type=Path, help="a file that is added to")
    asked = options.parse_args()
    sys.path.insert(0, str(Path(__file__).parent))
    with tempfile.TemporaryDirectory(prefix="policymix-faults-") as place:
        os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", f"{place}/programs")
        return break_all(Path(place), asked)


def break_all(place, asked):
    """Every part that was asked for, with a line for each."""
    import numpy as np
    from tally import WRONGS

    bad = 0
    for name in asked.parts or PARTS:
        what, function, count = PARTS[name]
        module, function = function.split(".")
        act = getattr(import_module(module), function)
        folder = place / name
        folder.mkdir()
        began, rng = time.monotonic(), np.random.default_rng(asked.seed)
        tally = act(folder, max(1, round(asked.share * count)), rng)
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


def keep(path, name, found):
    """Put a part's line into the file of all."""
    from policymix import __version__

    facts = json.loads(path.read_text()) if path.exists() else {"parts": {}}
    facts["made with"] = f"policymix {__version__}, Python {platform.python_version()}"
    facts["parts"][name] = found
    path.write_text(json.dumps(facts, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
