"""What trials and sources cost, in processor-seconds: it holds on busy machines too.

    python benchmarks/scale.py trials --out results/own/scale.json
    python benchmarks/scale.py sources --counts 3 12 48 192 1000

Chunks of training (Transfer-CartPole) are taken in turns after a warm-up; the least of
three rounds counts, since other programs can only add to it.
"""

import argparse
import json
import time
from pathlib import Path

from policymix.cli.bench import widen
from policymix.cli.timing import our_chunks, warm_up
from policymix.training.task import load_task

DOMAIN, TRIALS, ROUNDS = "cartpole", 5, 3
COUNTS = {"trials": (1, 5, 20, 80), "sources": (3, 12, 48, 192, 1000)}
METHODS = {"trials": ("scratch", "mars"), "sources": ("mars", "mars-explicit", "phi1")}


def chunk_of(part, method, count):
    """A chunk of training, ready to be timed."""
    task = load_task(DOMAIN)
    if part == "trials":
        return our_chunks(task, method, count)
    return our_chunks(widen(task, count), method, TRIALS)


def microseconds(chunks):
    """Of the processor, a sample: every chunk in turn, the least of all rounds."""
    least = dict.fromkeys(chunks, float("inf"))
    for chunk in chunks.values():
        warm_up(chunk)
    for _ in range(ROUNDS):
        for name, chunk in chunks.items():
            started = time.process_time()
            samples = chunk()
            spent = 1e6 * (time.process_time() - started) / samples
            least[name] = min(least[name], spent)
    return least


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("part", choices=tuple(COUNTS))
    options.add_argument("--counts", type=int, nargs="+")
    options.add_argument("--methods", nargs="+")
    options.add_argument("--out", type=Path, help="a file that is added to")
    asked = options.parse_args()
    counts = asked.counts or COUNTS[asked.part]
    for method in asked.methods or METHODS[asked.part]:
        found = microseconds({n: chunk_of(asked.part, method, n) for n in counts})
        first = found[counts[0]]
        for count, spent in found.items():
            told = f"{spent:9.1f} µs a sample, {spent / first:5.2f} times the first"
            print(f"{method:>14} {count:5} {asked.part} {told}", flush=True)
        if asked.out:
            facts = json.loads(asked.out.read_text()) if asked.out.exists() else {}
            facts.setdefault(asked.part, {})[method] = found
            asked.out.write_text(json.dumps(facts, indent=1) + "\n")


if __name__ == "__main__":
    main()
