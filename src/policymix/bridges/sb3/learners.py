"""Off-policy learners of Stable-Baselines3 with MARS or MAPSE."""

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from policymix.bridges.sb3.advised import Advised
from policymix.bridges.sb3.policies import (
    AdvisedDQNPolicy,
    AdvisedSACPolicy,
    Guide,
    MarsForm,
)
from policymix.bridges.shaping import action_values
from policymix.core.errors import MissingExtraError, PolicymixError
from policymix.core.settings import DEFAULTS, Settings
from policymix.core.types import Discrete
from policymix.sources.library import SourceLibrary

try:
    from stable_baselines3 import DQN, SAC
except ImportError as error:
    raise MissingExtraError("the bridge to Stable-Baselines3", "sb3") from error


class Mars(Advised):
    """Acts on Q + cΦ.

    Args:
        policy: "MlpPolicy".
        env: the target.
        sources: a library, as the user has it.
        form: "explicit" learns Q from the raw reward; "lookahead" learns it from the
            shaped reward, with today's Φ.
        scale: c, or c as a function of the remaining progress, which runs from 1 to 0.
            A constant keeps the advice for good; `lambda left: 2.0 * left` lets go.
        precision: of the kernel on continuous actions, per unit of [−1, 1].
        transfer: settings of the mixture; by default with a component for the target's
            own model, which takes over where no source explains the target.
        **options: as SB3's.
    """

    guide: Guide
    form: MarsForm

    def __init__(
        self,
        policy: Any,
        env: Any,
        sources: SourceLibrary | None = None,
        *,
        form: MarsForm = "explicit",
        scale: float | Callable[[float], float] = 2.0,
        precision: float | None = None,
        transfer: Settings = DEFAULTS,
        **options: Any,
    ):
        if form not in ("explicit", "lookahead"):
            raise PolicymixError(
                f"form={form!r} is unknown: choose 'explicit' or 'lookahead'"
            )
        self.sources, self.form, self.scale = sources, form, scale
        self.precision = precision
        self.transfer = transfer
        super().__init__(policy, env, **options)

    def _setup_model(self) -> None:
        super()._setup_model()
        self.guide = Guide(self.advisor, self.form, self.precision)
        self.policy.attach(self.guide)  # pyright: ignore[reportCallIssue]
        self._weigh()

    def _weigh(self) -> None:
        """The present c."""
        scale, left = self.scale, self._current_progress_remaining
        self.guide.scale = float(scale(left) if callable(scale) else scale)

    def _setup_learn(self, *arguments: Any, **options: Any) -> Any:
        total, callback = super()._setup_learn(*arguments, **options)
        self._update_current_progress_remaining(self.num_timesteps, max(total, 1))
        return total, callback

    def _update_current_progress_remaining(
        self, num_timesteps: int, total_timesteps: int
    ) -> None:
        super()._update_current_progress_remaining(num_timesteps, total_timesteps)
        self._weigh()

    def _forget_episodes(self) -> None:
        super()._forget_episodes()
        self._begun = np.zeros(self.n_envs, bool)

    def _count(
        self, reward: np.ndarray, ended: np.ndarray, obs: np.ndarray, action: np.ndarray
    ) -> None:
        """Also the return that the shaped reward would have given."""
        phi = self.guide.scale * action_values(
            self.advisor, obs, action, self.precision
        )
        self._totals[1] += reward - phi + self._begun * self.gamma * phi
        self._begun = ~ended
        for total in self._totals[1][ended].tolist():
            self.logger.record_mean("transfer/shaped_return", total)
        super()._count(reward, ended, obs, action)


class MarsDQN(Mars, DQN):
    """SB3's DQN with MARS; see `Mars` for what is added to its arguments."""

    policy_aliases: ClassVar[dict[str, type]] = {"MlpPolicy": AdvisedDQNPolicy}


class MarsSAC(Mars, SAC):
    """SB3's SAC with MARS: Φ has a kernel on the action; see `Mars`."""

    policy_aliases: ClassVar[dict[str, type]] = {"MlpPolicy": AdvisedSACPolicy}


class Mapse(Advised):
    """Does what a source drawn from the mixture would do, with probability p.

    Args:
        policy: "MlpPolicy".
        env: the target.
        sources: a library, as the user has it.
        reuse: p after k episodes is reuse^k; with 0 nothing is ever reused.
        transfer: settings of the mixture.
        **options: as SB3's.
    """

    def __init__(
        self,
        policy: Any,
        env: Any,
        sources: SourceLibrary | None = None,
        *,
        reuse: float = 0.85,
        transfer: Settings = DEFAULTS,
        **options: Any,
    ):
        if not 0.0 <= reuse <= 1.0:
            raise PolicymixError(f"reuse is {reuse}: it must lie between 0 and 1")
        self.sources, self.reuse = sources, reuse
        self.transfer = transfer
        super().__init__(policy, env, **options)

    def _setup_model(self) -> None:
        super()._setup_model()
        self._luck = np.random.default_rng(self.seed)

    def _sample_action(self, *arguments: Any, **options: Any) -> Any:
        action, buffer_action = super()._sample_action(*arguments, **options)
        share = self.reuse**self._episode_num if self.reuse > 0.0 else 0.0
        reused = self._luck.random(len(action)) < share
        if not reused.any():
            return action, buffer_action
        advice, drawn = self.advisor.draw(np.asarray(self._last_obs))
        taken = reused & drawn
        if isinstance(self.advisor.spec.action, Discrete):
            chosen = np.where(taken, advice, action.ravel()).reshape(action.shape)
            return chosen, chosen
        scaled = self.policy.scale_action(advice)
        buffer_action = np.where(taken[:, None], scaled, buffer_action)
        return np.where(taken[:, None], advice, action), buffer_action


class MapseDQN(Mapse, DQN):
    """SB3's DQN with MAPSE; see `Mapse` for what is added to its arguments."""


class MapseSAC(Mapse, SAC):
    """SB3's SAC with MAPSE; see `Mapse`."""
