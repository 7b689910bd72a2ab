"""A Gymnasium wrapper that pays for good advice: MARS for any learner."""

from typing import Any

import gymnasium
import numpy as np
from gymnasium.envs.registration import EnvSpec
from gymnasium.error import ResetNeeded

from policymix.bridges.advisor import Advisor
from policymix.bridges.shaping import RESETS, Form, Scale, Shaper
from policymix.core.settings import DEFAULTS, Settings
from policymix.core.spaces import spec_of_spaces
from policymix.sources.library import SourceLibrary


class ShapedReward(gymnasium.Wrapper):
    """The same environment, its reward shaped by sources whose dynamics fit.

    The mixture learns with every step. `info` has the `raw_reward` and the `shaping` of
    each step and, at the end of an episode, both returns under `transfer`.

    Args:
        env: the target.
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
        env: gymnasium.Env,
        sources: SourceLibrary,
        *,
        scale: Scale = 1.0,
        discount: float = 0.99,
        form: Form = "lookback",
        settings: Settings = DEFAULTS,
        precision: float | None = None,
        seed: int = 0,
    ):
        super().__init__(env)
        spec = spec_of_spaces(env, str(env))
        chance = env.unwrapped.np_random
        starts = np.array([env.reset(seed=seed + i)[0] for i in range(RESETS)])
        env.unwrapped.np_random = chance  # as if nothing had happened
        self.advisor = Advisor(sources, spec, settings, seed, starts)
        self._shaper = Shaper(self.advisor, scale, discount, form, precision, 1)
        self._obs: np.ndarray | None = None

    @property
    def spec(self) -> EnvSpec | None:
        """The environment's, but no reward is the same twice: the mixture learns."""
        spec = super().spec
        if spec is not None:
            spec.nondeterministic = True
        return spec

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        obs, info = self.env.reset(seed=seed, options=options)
        self._shaper.reset()
        self._obs = np.array(obs)
        return obs, info

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take one action; the reward is shaped, the raw one is in the info."""
        if self._obs is None:
            raise ResetNeeded("call reset before the first step")
        obs, reward, terminated, truncated, info = self.env.step(action)
        shaped, told = self._shaper.shape(
            obs=self._obs[None],
            actions=np.array([action]),
            rewards=np.array([float(reward)]),
            next_obs=np.array([obs]),
            terminated=np.array([terminated]),
            truncated=np.array([truncated]),
        )
        self._obs = np.array(obs)
        return obs, float(shaped[0]), terminated, truncated, {**info, **told[0]}
