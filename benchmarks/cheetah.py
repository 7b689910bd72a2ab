"""Transfer-Cheetah: train its sources, and SAC with and without them.

    python benchmarks/cheetah.py sources --out DIR         # 15 minutes on two cores
    python benchmarks/cheetah.py transfer --seeds 0 1 2 3 4

`transfer` prints the mean test return over the run (five greedy episodes every 1,000
samples on an environment of its own) and, for MARS, how often the mixture trusts the
source whose physics rules where the cheetah is.
"""

import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
import tyro
from stable_baselines3 import SAC
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.evaluation import evaluate_policy

from policymix.bridges.stable_baselines3 import MapseSAC, MarsSAC, jax_policy
from policymix.domains.cheetah import FAMILY, make_cheetah, stretch_of
from policymix.libraries.cheetah import cheetah_sources, save_policies

OPTIONS: dict[str, Any] = {
    "policy_kwargs": {"net_arch": [128, 128]},
    "batch_size": 128,
    "learning_rate": 7e-4,
    "learning_starts": 1_000,
    "device": "cpu",
}
EXAM_SEED = 5_000_000


@dataclass
class Sources:
    """Train a policy for every physics."""

    out: Path
    seed: int = 2000
    samples: int = 100_000


@dataclass
class Transfer:
    """Train on the target."""

    methods: tuple[str, ...] = ("sac", "mars", "mapse")
    seeds: tuple[int, ...] = (0, 1, 2, 3, 4)
    steps: int = 20_000
    scale: float = 100.0
    """c at the start."""
    end: float = 0.0
    """c at the end; it falls in a straight line."""


class Tests(BaseCallback):
    """Test returns, every 1,000 samples, and how right the mixture is."""

    def __init__(self):
        super().__init__()
        self.scores: list[float] = []
        self.right: list[float] = []
        self._env = make_cheetah()

    def test(self) -> None:
        self._env.reset(seed=EXAM_SEED)
        score, _ = evaluate_policy(self.model, self._env, 5, warn=False)
        self.scores.append(float(np.mean(score)))
        advisor, seen = getattr(self.model, "advisor", None), self.n_calls
        if advisor is not None and seen:
            replay: Any = self.model.replay_buffer  # pyright: ignore
            obs = replay.observations[max(0, seen - 1_000) : seen, 0]
            trusted = np.argmax(advisor.weights(obs), axis=1)
            truth = stretch_of(obs, len(FAMILY.target.track))
            self.right.append(float(np.mean(trusted == truth)))

    def _on_training_start(self) -> None:
        self.test()

    def _on_step(self) -> bool:
        if self.n_calls % 1_000 == 0:
            self.test()
        return True


def train_sources(arguments: Sources) -> None:
    """A policy for every physics, its scores at home and on the target."""
    policies, facts = {}, {}
    for name in FAMILY.sources:
        model = SAC("MlpPolicy", make_cheetah(name), seed=arguments.seed, **OPTIONS)
        model.learn(arguments.samples, progress_bar=True)
        policies[name] = jax_policy(model)
        facts[name] = facts_of(model, name, arguments.samples)
        print(name, facts[name], flush=True)
    save_policies(arguments.out, policies, {"seed": arguments.seed, "sources": facts})


def facts_of(model: SAC, name: str, samples: int) -> dict[str, Any]:
    """Returns of twenty episodes at home and on the target."""
    scores = {}
    for place, variant in {"own_score": name, "zero_shot": None}.items():
        env = make_cheetah(variant)
        env.reset(seed=EXAM_SEED)
        scores[place] = float(np.mean(evaluate_policy(model, env, 20, warn=False)[0]))
    return {**scores, "samples": samples}


def make(method: str, seed: int, begin: float, end: float) -> Any:
    """The learner of that name."""
    env, options = make_cheetah(), {**OPTIONS, "seed": seed}
    if method == "sac":
        return SAC("MlpPolicy", env, **options)
    sources = cheetah_sources()
    if method == "mapse":
        return MapseSAC("MlpPolicy", env, sources, **options)
    falling = lambda left: end + (begin - end) * left  # noqa: E731
    return MarsSAC("MlpPolicy", env, sources, scale=falling, **options)


def compare(arguments: Transfer) -> None:
    """Run and print, seed by seed and then the means."""
    means: dict[str, list[float]] = {method: [] for method in arguments.methods}
    for seed in arguments.seeds:
        for method in arguments.methods:
            model, tests = make(method, seed, arguments.scale, arguments.end), Tests()
            began = time.perf_counter()
            model.learn(arguments.steps, callback=tests, log_interval=10**9)
            means[method].append(float(np.mean(tests.scores)))
            taken = time.perf_counter() - began
            print(
                f"{method} seed {seed}: mean {means[method][-1]:.0f}, last five tests "
                f"{np.mean(tests.scores[-5:]):.0f}, right source "
                f"{[round(r, 2) for r in tests.right]}, {taken:.0f} s "
                f"{[round(s) for s in tests.scores]}",
                flush=True,
            )
    for method, scores in means.items():
        error = np.std(scores, ddof=min(1, len(scores) - 1)) / len(scores) ** 0.5
        print(f"{method}: mean {np.mean(scores):.0f} ± {error:.0f} (standard error)")


def main() -> None:
    """Choose what to do."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    arguments = tyro.cli(
        Annotated[Sources, tyro.conf.subcommand("sources")]
        | Annotated[Transfer, tyro.conf.subcommand("transfer")]
    )
    if isinstance(arguments, Sources):
        train_sources(arguments)
    else:
        compare(arguments)


if __name__ == "__main__":
    main()
