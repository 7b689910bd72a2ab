"""MARS and MAPSE in Stable-Baselines3's DQN against the plain learner.

    python benchmarks/sb3_cartpole.py --methods dqn mars mapse --seeds 0 1 2 3 4
    python benchmarks/sb3_cartpole.py --methods dqn mars --useless --steps 20000
    python benchmarks/sb3_cartpole.py --methods mars --unit 100

Transfer-CartPole: mean test score over the run (500 is perfect), a greedy test of five
episodes every 500 samples on an environment of its own; everything else is the same
for all.
"""

import warnings
from dataclasses import dataclass
from typing import Any

import cyclopts
import gymnasium
import numpy as np
import torch
from gymnasium.wrappers import TransformReward
from stable_baselines3 import DQN
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.evaluation import evaluate_policy

import policymix as pm
from policymix.bridges.stable_baselines3 import MapseDQN, MarsDQN

TARGET = "policymix/TransferCartPole-v0"
OPTIONS: dict[str, Any] = {
    "learning_rate": 5e-4,
    "buffer_size": 5_000,
    "learning_starts": 32,
    "batch_size": 32,
    "gamma": 0.98,
    "train_freq": 1,
    "target_update_interval": 500,
    "exploration_final_eps": 0.01,
    "policy_kwargs": {"net_arch": [40, 40]},
    "device": "cpu",
}


@cyclopts.Parameter(name="*")
@dataclass
class Arguments:
    """Which learners, on which seeds."""

    methods: tuple[str, ...] = ("dqn", "mars", "mars-explicit", "mars-lookahead")
    seeds: tuple[int, ...] = (0, 1, 2, 3, 4)
    scale: float = 2.0
    """c of the forms that have one."""
    unit: float = 1.0
    """What a reward of 1 is counted as in training."""
    useless: bool = False
    """Random policies and wrong dynamics instead of the shipped sources."""
    steps: int = 10_000


DEFAULTS = Arguments()
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
    """Test scores, every 500 samples."""

    def __init__(self):
        super().__init__()
        self.scores: list[float] = []
        self._env = gymnasium.make(TARGET)

    def test(self) -> None:
        score, _ = evaluate_policy(self.model, self._env, 5, warn=False)
        self.scores.append(float(np.mean(score)))

    def _on_training_start(self) -> None:
        self._env.reset(seed=5_000_000)
        self.test()

    def alone(self) -> float:
        """The score of what was learned, without asking a source."""
        if not isinstance(self.model, MarsDQN):
            return self.scores[-1]
        learner: Any = WithoutSources(self.model)
        return float(evaluate_policy(learner, self._env, 20, warn=False)[0])

    def _on_step(self) -> bool:
        if self.num_timesteps % 500 == 0:
            self.test()
        return True


def useless_sources() -> pm.SourceLibrary:
    """Three that act at random and predict that everything is thrown about."""

    def source(seed: int) -> pm.SourceTask:
        rng = np.random.default_rng(seed)
        shift = rng.normal(size=4)
        return pm.SourceTask(
            f"useless {seed}",
            lambda obs: int(rng.integers(4)),
            lambda obs, action: np.asarray(obs) + shift * (1.0 + action),
        )

    return pm.SourceLibrary([source(seed) for seed in range(3)])


def make(method: str, seed: int, arguments: Arguments) -> Any:
    """The learner of that name."""
    env, options = gymnasium.make(TARGET), {**OPTIONS, "seed": seed}
    env = TransformReward(env, lambda reward: arguments.unit * float(reward))
    if method == "dqn":
        return DQN("MlpPolicy", env, **options)
    shipped = pm.load_task("cartpole").sources
    sources = useless_sources() if arguments.useless else shipped
    if method == "mapse":
        return MapseDQN("MlpPolicy", env, sources, **options)
    form = method.removeprefix("mars").removeprefix("-")
    if form:
        options |= {"form": form, "scale": arguments.scale}
    return MarsDQN("MlpPolicy", env, sources, **options)


@app.default
def main(arguments: Arguments = DEFAULTS) -> None:
    """Run and print, seed by seed and then the means."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    means: dict[str, list[tuple[float, float]]] = {m: [] for m in arguments.methods}
    for seed in arguments.seeds:
        for method in arguments.methods:
            model, tests = make(method, seed, arguments), Tests()
            model.learn(arguments.steps, callback=tests, log_interval=10**9)
            mean, end = np.mean(tests.scores), np.mean(tests.scores[-5:])
            means[method].append((float(mean), float(end)))
            advisor = getattr(model, "advisor", None)
            trusted = {} if advisor is None else advisor.figures()
            own = trusted.get("transfer/source_weight/own", float("nan"))
            print(
                f"{method} seed {seed}: mean {mean:.0f}, last tests {end:.0f}, "
                f"alone {tests.alone():.0f}, own model {own:.2f}  "
                f"{[round(s) for s in tests.scores]}",
                flush=True,
            )
    for method, rows in means.items():
        mean, end = np.mean(rows, axis=0)
        print(f"{method}: mean {mean:.0f}, last five tests {end:.0f}")


if __name__ == "__main__":
    app()
