"""Is bad advice overcome? No transfer, MARS, and MARS with a fixed scale.

    python benchmarks/bad_advice.py [--trials 20] [--seed 0] [--domain maze]

Maze (200,000 samples): the sources' policies moved to the next room's dynamics, so that
each is trusted in the wrong room; and policies that are a random action in each cell.
CartPole (30,000 samples): policies that are networks with random weights. The dynamics
are those shipped, so the mixture is sure of itself.
"""

import argparse
from dataclasses import replace

from policymix.devices import use_every_core

use_every_core()

import jax  # noqa: E402
import numpy as np  # noqa: E402

from policymix.catalogue import TransferTask, load_task  # noqa: E402
from policymix.experts import SourceTask  # noqa: E402
from policymix.networks import init_mlp  # noqa: E402
from policymix.policies import GreedyPolicy, table_policy  # noqa: E402
from policymix.problems import settings_of  # noqa: E402
from policymix.sources import SourceLibrary  # noqa: E402
from policymix.training import train  # noqa: E402


def with_policies(task: TransferTask, policies: list) -> TransferTask:
    pairs = zip(task.sources.sources, policies, strict=True)
    sources = [SourceTask(s.name, p, s.dynamics, s.kernel) for s, p in pairs]
    library = SourceLibrary(sources, task.sources.spec, task.sources.encoder)
    return replace(task, sources=library)


def wrong_rooms(task: TransferTask) -> TransferTask:
    policies = [source.policy for source in task.sources.sources]
    return with_policies(task, [*policies[1:], policies[0]])


def random_tables(task: TransferTask) -> TransferTask:
    cells, actions = task.sources.spec.observation.n, task.sources.spec.action.n
    draws = [
        jax.random.randint(jax.random.key(i), (cells,), 0, actions)
        for i in range(len(task.sources))
    ]
    return with_policies(task, [table_policy(draw, actions) for draw in draws])


def random_networks(task: TransferTask) -> TransferTask:
    return with_policies(
        task,
        [
            GreedyPolicy(init_mlp(jax.random.key(i), (4, 40, 40, 4)), s.policy.encoder)
            for i, s in enumerate(task.sources.sources)
        ],
    )


CASES = (
    ("maze", "wrong rooms", wrong_rooms, 200_000, 10_000),
    ("maze", "random tables", random_tables, 200_000, 10_000),
    ("cartpole", "random networks", random_networks, 30_000, 1_000),
)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--domain", choices=("maze", "cartpole"))
    given = parser.parse_args()
    chosen = [case for case in CASES if given.domain in (None, case[0])]
    for domain, label, spoil, steps, every in chosen:
        task = load_task(domain)
        settings = replace(settings_of(task), steps=steps, evaluate_every=every)
        spoilt = spoil(task)
        for method in ("scratch", "mars", "mars-explicit"):
            learned = train(
                *(spoilt, method),
                settings=settings,
                seed=given.seed,
                trials=given.trials,
            )
            _, scores = learned.curve()
            tail = scores[-len(scores) // 3 :].mean(axis=0)
            error = tail.std(ddof=1) / np.sqrt(len(tail))
            print(
                f"{domain}, {label}: {method:14} {task.domain.measure} at the end "
                f"{scores[-1].mean():.1f}; last third {tail.mean():.1f} ± {error:.1f}; "
                f"trials at the end {np.sort(scores[-1]).round().astype(int).tolist()}",
                flush=True,
            )


if __name__ == "__main__":
    main()
