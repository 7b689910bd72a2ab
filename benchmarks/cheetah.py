"""Transfer-Cheetah: train its sources, and SAC with and without them.

    python benchmarks/cheetah.py sources --out DIR         # 15 minutes on two cores
    python benchmarks/cheetah.py transfer --seeds 0 1 2 3 4 > lines.txt
    python benchmarks/cheetah.py draw --lines lines.txt --out picture.png

`transfer` prints the mean test return over the run (five greedy episodes every 1,000
samples on an environment of its own) and, for MARS, how often the mixture trusts the
source whose physics rules where the cheetah is.
"""

import re
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cyclopts
import matplotlib.pyplot as plt
import numpy as np
import torch
from gymnasium.wrappers import TransformReward
from stable_baselines3 import SAC
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.evaluation import evaluate_policy

from policymix.bridges.stable_baselines3 import MapseSAC, MarsSAC, jax_policy
from policymix.domains.cheetah.sources import cheetah_sources, save_policies
from policymix.domains.cheetah.task import FAMILY, LENGTH, make_cheetah, stretch_of

OPTIONS: dict[str, Any] = {
    "policy_kwargs": {"net_arch": [128, 128]},
    "batch_size": 128,
    "learning_rate": 7e-4,
    "learning_starts": 1_000,
    "device": "cpu",
}
EXAM_SEED = 5_000_000
LABELS = {
    "sac": "SAC",
    "mars": "SAC with MARS",
    "mars-explicit": "SAC with MARS, c = 100",
    "mapse": "SAC with MAPSE",
}


@cyclopts.Parameter(name="*")
@dataclass
class Sources:
    """Train a policy for every physics."""

    out: Path
    seed: int = 2000
    samples: int = 100_000


@cyclopts.Parameter(name="*")
@dataclass
class Transfer:
    """Train on the target."""

    methods: tuple[str, ...] = ("sac", "mars", "mapse")
    seeds: tuple[int, ...] = (0, 1, 2, 3, 4)
    steps: int = 20_000
    unit: float = 1.0
    """What a reward of 1 is counted as in training."""
    scale: float = 100.0
    """c of "mars-explicit"."""


@cyclopts.Parameter(name="*")
@dataclass
class Draw:
    """Learning curves from what `transfer` printed, and the trust of a short run."""

    lines: tuple[Path, ...]
    out: Path
    steps: int = 3_000


TRANSFER = Transfer()
app = cyclopts.App(
    default_parameter=cyclopts.Parameter(consume_multiple=True, negative=())
)


class WithoutSources:
    """A learner that may not ask."""

    def __init__(self, model: Any):
        self.model = model

    def predict(self, obs: Any, **options: Any) -> Any:
        return self.model.predict(obs, **options, advised=False)


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

    def alone(self) -> float:
        """The return of what was learned, without asking a source."""
        if not isinstance(self.model, MarsSAC):
            return self.scores[-1]
        learner: Any = WithoutSources(self.model)
        return float(evaluate_policy(learner, self._env, 5, warn=False)[0])

    def _on_training_start(self) -> None:
        self.test()

    def _on_step(self) -> bool:
        if self.n_calls % 1_000 == 0:
            self.test()
        return True


@app.command(name="sources")
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


def make(method: str, seed: int, arguments: Transfer) -> Any:
    """The learner of that name."""
    env, options = make_cheetah(), {**OPTIONS, "seed": seed}
    env = TransformReward(env, lambda reward: arguments.unit * float(reward))
    if method == "sac":
        return SAC("MlpPolicy", env, **options)
    sources = cheetah_sources()
    if method == "mapse":
        return MapseSAC("MlpPolicy", env, sources, **options)
    if method == "mars-explicit":
        options |= {"form": "explicit", "scale": arguments.scale}
    return MarsSAC("MlpPolicy", env, sources, **options)


@app.command(name="transfer")
def compare(arguments: Transfer = TRANSFER) -> None:
    """Run and print, seed by seed and then the means."""
    means: dict[str, list[float]] = {method: [] for method in arguments.methods}
    for seed in arguments.seeds:
        for method in arguments.methods:
            model, tests = make(method, seed, arguments), Tests()
            began = time.perf_counter()
            model.learn(arguments.steps, callback=tests, log_interval=10**9)
            means[method].append(float(np.mean(tests.scores)))
            taken, alone = time.perf_counter() - began, tests.alone()
            print(
                f"{method} seed {seed}: mean {means[method][-1]:.0f}, last five tests "
                f"{np.mean(tests.scores[-5:]):.0f}, alone {alone:.0f}, right source "
                f"{[round(r, 2) for r in tests.right]}, {taken:.0f} s "
                f"{[round(s) for s in tests.scores]}",
                flush=True,
            )
    for method, scores in means.items():
        error = np.std(scores, ddof=min(1, len(scores) - 1)) / len(scores) ** 0.5
        print(f"{method}: mean {np.mean(scores):.0f} ± {error:.0f} (standard error)")


@app.command
def draw(arguments: Draw) -> None:
    """Two panels: returns by samples, and trust by place on the track."""
    curves: dict[str, list[list[float]]] = {}
    for path in arguments.lines:
        for line in path.read_text().splitlines():
            if found := re.match(r"([\w-]+) seed \d+: .*\[([^\]]+)\]$", line):
                scores = [float(score) for score in found[2].split(",")]
                curves.setdefault(found[1], []).append(scores)
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
    for method, rows in curves.items():
        steps, scores = 1_000 * np.arange(len(rows[0])), np.array(rows)
        label = f"{LABELS[method]} ({len(rows)} seeds)"
        line = left.plot(steps, scores.mean(axis=0), label=label, linewidth=2)[0]
        for row in scores:
            left.plot(steps, row, color=line.get_color(), alpha=0.3, linewidth=0.8)
    left.set(xlabel="samples of the target", ylabel="test return")
    left.set_title("Every seed, and their mean", fontsize=10)
    left.legend(frameon=False, fontsize=8, loc=(0.25, 0.44))
    model = make("mars", 0, TRANSFER).learn(arguments.steps)
    seen = model.replay_buffer.observations[: arguments.steps, 0]
    place = LENGTH * (np.arctan2(seen[:, 1], seen[:, 0]) / (2 * np.pi) % 1.0)
    weights = model.advisor.weights(seen)
    for name, trust in zip(model.advisor.names, weights.T, strict=True):
        right.plot(place, trust, ".", markersize=3, label=name)
    right.axvline(LENGTH / 2, color="grey", linewidth=0.8)
    right.set(xlabel="place on the track, m", ylabel="trust", ylim=(-0.05, 1.05))
    right.set_title(f"The mixture after {arguments.steps:,} samples", fontsize=10)
    right.legend(frameon=False, loc="center left", markerscale=4)
    figure.savefig(arguments.out, dpi=150)


if __name__ == "__main__":
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    app()
