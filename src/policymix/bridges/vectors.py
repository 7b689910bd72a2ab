"""Shaped rewards for Stable-Baselines3's vectorised environments, and their log."""

from typing import Any

import numpy as np

from policymix.bridges.advisor import Advisor
from policymix.bridges.shaping import Form, Scale, Shaper
from policymix.errors import MissingExtraError
from policymix.settings import Settings
from policymix.sources import SourceLibrary
from policymix.spaces import spec_of_spaces

try:
    from stable_baselines3.common.callbacks import BaseCallback
    from stable_baselines3.common.vec_env import VecEnv, VecEnvWrapper
    from stable_baselines3.common.vec_env.base_vec_env import VecEnvStepReturn
except ImportError as error:
    raise MissingExtraError("the bridge to Stable-Baselines3", "sb3") from error

RESETS = 8
"""Observations from which sources are tried before anything is learned."""


def starts_of(env: VecEnv, seed: int | None) -> np.ndarray:
    """Observations of a few resets, after which the seed is as it was."""
    starts = np.concatenate([np.asarray(env.reset()) for _ in range(RESETS)])
    if seed is not None:
        env.seed(seed)
    return starts


class VecShapedReward(VecEnvWrapper):
    """`ShapedReward` for SB3's vectorised environments: one mixture for all of them.

    Args:
        venv: the target.
        sources: a library, as the user has it.
        scale: c, or a function from steps taken to c.
        discount: γ of the learner.
        form: "lookback" or "bonus", see `bridges.shaping`.
        settings: of the mixture.
        precision: of the kernel on continuous actions, per unit of [−1, 1].
        seed: of the mixture.
    """

    def __init__(
        self,
        venv: VecEnv,
        sources: SourceLibrary,
        *,
        scale: Scale = 1.0,
        discount: float = 0.99,
        form: Form = "lookback",
        settings: Settings | None = None,
        precision: float | None = None,
        seed: int = 0,
    ):
        super().__init__(venv)
        spec = spec_of_spaces(venv, "the target")
        settings = Settings(own_model=True) if settings is None else settings
        starts = starts_of(venv, None)
        self.advisor = Advisor(sources, spec, settings, seed, starts)
        self._shaper = Shaper(
            self.advisor, scale, discount, form, precision, venv.num_envs
        )

    def reset(self) -> Any:
        """Begin an episode everywhere."""
        self._obs = self.venv.reset()
        self._shaper.reset()
        return self._obs

    def step_async(self, actions: np.ndarray) -> None:
        """Take one action everywhere."""
        self._actions = actions
        self.venv.step_async(actions)

    def step_wait(self) -> VecEnvStepReturn:
        """Rewards are shaped; the raw ones are in the infos."""
        obs, rewards, dones, infos = self.venv.step_wait()
        next_obs = np.array(obs)
        for place in np.flatnonzero(dones).tolist():
            next_obs[place] = infos[place]["terminal_observation"]
        truncated = np.array([i.get("TimeLimit.truncated", False) for i in infos])
        shaped, told = self._shaper.shape(
            *(np.asarray(self._obs), self._actions, rewards, next_obs),
            *(dones & ~truncated, truncated),
        )
        self._obs = obs
        merged = [{**info, **more} for info, more in zip(infos, told, strict=True)]
        return obs, shaped, dones, merged


class TransferCallback(BaseCallback):
    """Logs what a wrapper tells: returns, weights, entropy, evidence."""

    def _on_step(self) -> bool:
        for info in self.locals["infos"]:
            for tag, figure in info.get("transfer", {}).items():
                self.logger.record_mean(tag, figure)
        return True
