"""Shaped rewards for Stable-Baselines3's vectorised environments, and their log."""

from collections.abc import Callable
from typing import Any

import numpy as np

from policymix.bridges.advisor import Advisor
from policymix.bridges.shaping import RESETS, Form, Scale, Shaper
from policymix.core.errors import MissingExtraError, PolicymixError
from policymix.core.settings import DEFAULTS, Settings
from policymix.core.spaces import spec_of_spaces
from policymix.sources.library import SourceLibrary

try:
    from stable_baselines3.common.callbacks import BaseCallback
    from stable_baselines3.common.vec_env import (
        VecEnv,
        VecEnvWrapper,
        unwrap_vec_normalize,
    )
    from stable_baselines3.common.vec_env.base_vec_env import VecEnvStepReturn
except ImportError as error:
    raise MissingExtraError("the bridge to Stable-Baselines3", "sb3") from error

LONGEST = 42
"""Characters of a tag that SB3 prints whole: its tables have room for 36, three before
the name and none for "transfer/". It refuses two names that look alike when cut."""


def starts_of(env: VecEnv) -> np.ndarray:
    """Observations of a few resets, which leave seeds for the next one as they were."""
    target: Any = env.unwrapped
    seeds, options = target._seeds, target._options
    starts = np.concatenate([np.asarray(env.reset()) for _ in range(RESETS)])
    target._seeds, target._options = seeds, options
    return starts


def refuse_normalised(env: Any) -> None:
    """Sources know observations as they are."""
    normalised = unwrap_vec_normalize(env)
    if normalised is not None and normalised.norm_obs:
        raise PolicymixError(
            "the observations are normalised by VecNormalize, but sources know them as "
            "they are. Give VecNormalize(…, norm_obs=False)"
        )


def unprinted(tag: str) -> str | None:
    """Which of SB3's outputs must do without a figure."""
    return "stdout" if len(tag) > LONGEST else None


class WatchedVecEnv(VecEnvWrapper):
    """Tells of every step: actions, observations, rewards, ends and infos.

    Args:
        venv: the target.
        tell: whom.
    """

    def __init__(self, venv: VecEnv, tell: Callable[..., None]):
        super().__init__(venv)
        self._tell = tell

    def reset(self) -> Any:
        return self.venv.reset()

    def step_async(self, actions: np.ndarray) -> None:
        self._actions = actions
        self.venv.step_async(actions)

    def step_wait(self) -> VecEnvStepReturn:
        """As it was."""
        step = self.venv.step_wait()
        self._tell(self._actions, *step)
        return step


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
        settings: Settings = DEFAULTS,
        precision: float | None = None,
        seed: int = 0,
    ):
        super().__init__(venv)
        refuse_normalised(venv)
        spec = spec_of_spaces(venv, "the target")
        starts = starts_of(venv)
        self.advisor = Advisor(sources, spec, settings, seed, starts)
        self._shaper = Shaper(
            self.advisor, scale, discount, form, precision, venv.num_envs
        )

    def reset(self) -> Any:
        obs = self.venv.reset()
        self._shaper.reset()
        self._obs = np.array(obs)
        return obs

    def step_async(self, actions: np.ndarray) -> None:
        self._actions = actions
        self.venv.step_async(actions)

    def step_wait(self) -> VecEnvStepReturn:
        """Rewards are shaped; the raw ones are in the infos."""
        obs, rewards, dones, infos = self.venv.step_wait()
        next_obs, dones = np.array(obs), np.asarray(dones, bool)
        for place in np.flatnonzero(dones).tolist():
            next_obs[place] = infos[place]["terminal_observation"]
        truncated = np.array([i.get("TimeLimit.truncated", False) for i in infos])
        shaped, told = self._shaper.shape(
            obs=self._obs,
            actions=self._actions,
            rewards=np.asarray(rewards),
            next_obs=next_obs,
            terminated=dones & ~truncated,
            truncated=truncated,
        )
        self._obs = np.array(obs)
        merged = [{**info, **more} for info, more in zip(infos, told, strict=True)]
        return obs, shaped.astype(np.float32), dones, merged


class TransferCallback(BaseCallback):
    """Logs what a wrapper tells: returns, weights, entropy, evidence."""

    def _on_step(self) -> bool:
        for info in self.locals["infos"]:
            for tag, figure in info.get("transfer", {}).items():
                self.logger.record_mean(tag, figure, unprinted(tag))
        return True
