"""How long one decision takes: a trained agent, and its policy in plain NumPy.

    python benchmarks/decisions.py [--domains maze cartpole lander pendulum]
                                   [--decisions 2000]

Prints a table in Markdown: microseconds for one state (median), and for each of 1,000
at once (best of 20 calls).
"""

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np

import policymix as pm
from policymix.core.boxes import draw_actions
from policymix.environments.copies import copies_of


def seconds(decide, questions):
    """Of every call but the first, which may compile."""
    decide(questions[0])
    taken = []
    for question in questions:
        start = time.perf_counter()
        decide(question)
        taken.append(time.perf_counter() - start)
    return taken


def visited(task, count):
    """States of the target, by chance."""
    rng, tasks = np.random.default_rng(0), copies_of(task.domain.target, 100)
    seen = [tasks.reset(0)]
    while 100 * len(seen) < count:
        seen.append(tasks.step(draw_actions(tasks.action, rng, 100)).obs)
    rows = np.concatenate(seen)[:count]
    return rows if task.domain.spec().observation.shape else rows.astype(int)


def measure(domain, count):
    task = pm.prepare(pm.load_task(domain))
    trained = pm.train(task, "mars", steps=500, progress=False)
    agent, states = trained.agents[0], visited(task, count)
    with tempfile.TemporaryDirectory() as folder:
        agent.export(Path(folder) / "policy.npz")
        size = (Path(folder) / "policy.npz").stat().st_size
        policy = pm.load_policy(Path(folder) / "policy.npz")
    many = states[:1_000]
    ways = {
        "`predict(obs)`": agent.predict,
        "`predict(obs, advised=False)`": lambda s: agent.predict(s, advised=False),
        "`load_policy(...).predict(obs)`": policy.predict,
    }
    taken, expected = policy.predict(states), agent.predict(states, advised=False)
    alike, apart = np.mean(taken == expected), np.max(np.abs(taken - expected))
    for name, decide in ways.items():
        one = np.median(seconds(decide, states))
        each = min(seconds(decide, [many] * 20)) / len(many)
        print(f"| {domain} | {name} | {1e6 * one:.1f} | {1e6 * each:.2f} |", flush=True)
    print(f"<!-- {domain}: {size:,} bytes, {alike:.2%} of the actions alike,", end=" ")
    print(f"{apart:.1e} the largest difference -->")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    domains = ["maze", "cartpole", "lander", "pendulum"]
    parser.add_argument("--domains", nargs="+", default=domains)
    parser.add_argument("--decisions", type=int, default=2_000)
    options = parser.parse_args()
    print("| domain | | µs for one state | µs for each of 1,000 |\n|---|---|---|---|")
    for domain in options.domains:
        measure(domain, options.decisions)
