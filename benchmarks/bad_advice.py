"""Is bad advice overcome? No transfer, MARS, and MARS with a fixed scale.

    python benchmarks/bad_advice.py [--trials 20] [--seed 0] [--domain maze]

Maze (200,000 samples): the sources' policies moved to the next room's dynamics, so that
each is trusted in the wrong room; and policies that are a random action in each cell.
CartPole (30,000 samples): policies that are networks with random weights. The dynamics
are those shipped, so the mixture is sure of itself. In the last case the dynamics are
wrong as well, and the mixture has a component for the target's own model.
"""

import argparse
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np

from policymix.core.networks import init_mlp
from policymix.sources.experts import SourceTask
from policymix.sources.library import SourceLibrary
from policymix.sources.policies import GreedyPolicy, table_policy
from policymix.training.task import TransferTask, load_task
from policymix.training.train import train


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


def useless(task: TransferTask) -> TransferTask:
    spoilt = random_networks(task)
    shifts = np.random.default_rng(0).normal(size=(len(task.sources), 4))
    sources = [
        SourceTask(s.name, s.policy, lambda o, a, d=d: o + jnp.asarray(d) * (1 + a))
        for s, d in zip(spoilt.sources.sources, shifts.astype(np.float32), strict=True)
    ]
    return replace(task, sources=SourceLibrary(sources, task.sources.spec))


CASES = (
    ("maze", "wrong rooms", wrong_rooms, 200_000, 10_000, False),
    ("maze", "random tables", random_tables, 200_000, 10_000, False),
    ("cartpole", "random networks", random_networks, 30_000, 1_000, False),
    ("cartpole", "all useless, own model", useless, 30_000, 1_000, True),
)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--domain", choices=("maze", "cartpole"))
    parser.add_argument("--case", default="", help="part of a case's name")
    given = parser.parse_args()
    chosen = [
        case
        for case in CASES
        if given.domain in (None, case[0]) and given.case in case[1]
    ]
    for domain, label, spoil, steps, every, own_model in chosen:
        task = load_task(domain)
        settings = replace(task.domain.settings, steps=steps, evaluate_every=every)
        if own_model:
            rate = settings.learning_rate
            settings = replace(settings, own_model=True, shaped_rate=rate)
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
            if own_model and method != "scratch":
                states = jnp.zeros((1, 4))
                trust = [a.belief.weights_of(states)[0, -1] for a in learned.agents]
                print(f"  weight of the own model at rest: at least {min(trust):.3f}")


if __name__ == "__main__":
    main()
