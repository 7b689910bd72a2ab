"""PPO of Stable-Baselines3 with the mixture as a prior, against PPO alone.

    python benchmarks/sb3_ppo.py --seeds 0 1 2 3 4 5 6 7 8 9
    python benchmarks/sb3_ppo.py --quick-options
    python benchmarks/sb3_ppo.py --methods mars --sources useless
    python benchmarks/sb3_ppo.py --methods mars --sources misleading
    python benchmarks/sb3_ppo.py --methods lookback bonus --quick-options
    python benchmarks/sb3_ppo.py --task cheetah --steps 10000 --seeds 0 1 2

Mean test score over the run: a greedy test of five episodes every 1,000 samples on
environments of its own. All of SB3's options are its defaults, but for
`--quick-options`, with which PPO alone learns CartPole sooner.
"""

import time
import warnings
from dataclasses import dataclass, replace
from typing import Any, Literal

import cyclopts
import jax.numpy as jnp
import numpy as np
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.vec_env import VecEnv

import policymix as pm
from policymix.bridges.stable_baselines3 import MarsPPO, VecShapedReward
from policymix.domains.cheetah.sources import cheetah_sources
from policymix.domains.cheetah.task import make_cheetah

QUICK: dict[str, Any] = {
    "n_steps": 125,
    "batch_size": 100,
    "gamma": 0.98,
    "learning_rate": 1e-3,
}
QUICK_COPIES = 4
TEST_SEED = 5_000_000
EPISODES = 5
EVERY = 1_000


@cyclopts.Parameter(name="*")
@dataclass
class Arguments:
    """Which learners, on which seeds."""

    methods: tuple[str, ...] = ("ppo", "mars")
    """"ppo", "mars", or PPO with a reward shaped by "lookback" or "bonus"."""
    seeds: tuple[int, ...] = (0, 1, 2, 3, 4, 5, 6, 7, 8, 9)
    steps: int = 20_000
    task: Literal["cartpole", "cheetah"] = "cartpole"
    sources: Literal["shipped", "useless", "misleading"] = "shipped"
    """The shipped ones; or policies at random and dynamics that are wrong; or the
    shipped dynamics with policies that obey random linear functions."""
    quick_options: bool = False


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
    """Test scores by samples."""

    def __init__(self, env: VecEnv):
        super().__init__()
        self.scores: list[float] = []
        self._env, self._tested = env, -1

    def score(self, learner: Any) -> float:
        self._env.seed(TEST_SEED)
        score, _ = evaluate_policy(learner, self._env, EPISODES, warn=False)
        return float(np.mean(score))

    def alone(self) -> float:
        """The last score without asking a source."""
        asks = isinstance(self.model, MarsPPO)
        return self.score(WithoutSources(self.model)) if asks else self.scores[-1]

    def _on_training_start(self) -> None:
        self.scores.append(self.score(self.model))

    def _on_step(self) -> bool:
        if self.num_timesteps % EVERY == 0:
            updates: int = self.model._n_updates  # pyright: ignore
            known = 0 < updates == self._tested  # the same policy, the same episodes
            self._tested = updates
            self.scores.append(self.scores[-1] if known else self.score(self.model))
        return True


def useless_source(seed: int) -> pm.SourceTask:
    """Acts at random and predicts that everything is thrown about."""
    rng = np.random.default_rng(seed)
    shift = rng.normal(size=4)
    return pm.SourceTask(
        f"useless {seed}",
        lambda obs: int(rng.integers(4)),
        lambda obs, action: np.asarray(obs) + shift * (1.0 + action),
    )


def misled(source: pm.SourceTask, seed: int) -> pm.SourceTask:
    """The same dynamics, but the action of the largest of four random functions."""
    rule = jnp.asarray(np.random.default_rng(seed).normal(size=(4, 4)), jnp.float32)
    return replace(source, policy=lambda obs: jnp.argmax(rule @ obs))


def sources_of(arguments: Arguments) -> pm.SourceLibrary:
    """As the arguments say."""
    if arguments.task == "cheetah":
        return cheetah_sources()
    shipped = pm.load_task("cartpole").sources
    if arguments.sources == "useless":
        return pm.SourceLibrary([useless_source(seed) for seed in range(3)])
    if arguments.sources == "misleading":
        return pm.SourceLibrary(
            [misled(source, seed) for seed, source in enumerate(shipped.sources)]
        )
    return shipped


def target_of(arguments: Arguments, copies: int, seed: int | None = None) -> VecEnv:
    """So many copies of the target."""
    cart = "policymix/TransferCartPole-v0"
    make = make_cheetah if arguments.task == "cheetah" else cart
    return make_vec_env(make, copies, seed=seed)


def make(method: str, seed: int, arguments: Arguments) -> Any:
    """The learner of that name; a bonus falls to 0 in the end."""
    quick, steps = arguments.quick_options, arguments.steps
    env = target_of(arguments, QUICK_COPIES if quick else 1, seed)
    options = {**(QUICK if quick else {}), "seed": seed, "device": "cpu"}
    if method == "mars":
        return MarsPPO("MlpPolicy", env, sources_of(arguments), **options)
    if method != "ppo":
        form: Any = method
        scale = (lambda step: max(0.0, 1.0 - step / steps)) if form == "bonus" else 1.0
        shaped = {"scale": scale, "discount": options.get("gamma", 0.99), "form": form}
        env = VecShapedReward(env, sources_of(arguments), **shaped)
    return PPO("MlpPolicy", env, **options)


@app.default
def main(arguments: Arguments = DEFAULTS) -> None:
    """Run and print, seed by seed and then the means."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    rows: dict[str, list[tuple[float, ...]]] = {m: [] for m in arguments.methods}
    for seed in arguments.seeds:
        for method in arguments.methods:
            began = time.process_time()
            tests = Tests(target_of(arguments, EPISODES))
            model = make(method, seed, arguments)
            model.learn(arguments.steps, callback=tests, log_interval=10**9)
            found = (np.mean(tests.scores), np.mean(tests.scores[-5:]), tests.alone())
            rows[method].append(tuple(map(float, found)))
            print(
                f"{method} seed {seed}: mean {found[0]:.0f}, last five tests "
                f"{found[1]:.0f}, alone {found[2]:.0f}, hold "
                f"{getattr(model, 'hold', 0.0):.3f}, "
                f"{time.process_time() - began:.0f} s "
                f"{[round(score) for score in tests.scores]}",
                flush=True,
            )
    for method, found in rows.items():
        means = np.mean(found, axis=0)
        errors = np.std(found, axis=0, ddof=min(1, len(found) - 1)) / len(found) ** 0.5
        print(
            f"{method}: mean {means[0]:.0f} ± {errors[0]:.0f} (standard error), last "
            f"five tests {means[1]:.0f} ± {errors[1]:.0f}, alone {means[2]:.0f}"
        )


if __name__ == "__main__":
    app()
