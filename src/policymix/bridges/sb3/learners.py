"""Off-policy learners of Stable-Baselines3 with MARS or MAPSE."""

from typing import Any, ClassVar

import numpy as np

from policymix.bridges.contest import Arm
from policymix.bridges.sb3.advised import AdvisedOffPolicy
from policymix.bridges.sb3.judged_sac import JudgedSAC
from policymix.bridges.sb3.many_dqn import ManyDQN
from policymix.bridges.sb3.mars import Mars
from policymix.bridges.sb3.policies import AdvisedDQNPolicy, AdvisedSACPolicy
from policymix.core.errors import MissingExtraError, PolicymixError
from policymix.core.settings import DEFAULTS, Settings
from policymix.core.types import Discrete
from policymix.methods.rivals import AROUND_MOST
from policymix.sources.library import SourceLibrary

try:
    from stable_baselines3 import DQN, SAC
except ImportError as error:
    raise MissingExtraError("the bridge to Stable-Baselines3", "sb3") from error


class MarsDQN(Mars, ManyDQN):
    """SB3's DQN with MARS; see `Mars` for what is added to its arguments."""

    policy_aliases: ClassVar[dict[str, type]] = {"MlpPolicy": AdvisedDQNPolicy}

    def _networks(self) -> dict[str, Any]:
        return {**super()._networks(), "heads": self.heads}

    def _led(self, arm: Arm, *arguments: Any, **options: Any) -> tuple[np.ndarray, ...]:
        rate = self.exploration_rate
        self.exploration_rate = min(rate, AROUND_MOST) if arm == "around" else rate
        try:
            return super()._led(arm, *arguments, **options)
        finally:
            self.exploration_rate = rate


class MarsSAC(Mars, JudgedSAC):
    """SB3's SAC with MARS; see `Mars` for what is added to its arguments.

    In the form "sure" the rule chooses between the actor's action and that of the most
    trusted source, in acting and in bootstrapping.
    """

    policy_aliases: ClassVar[dict[str, type]] = {"MlpPolicy": AdvisedSACPolicy}

    def _setup_model(self) -> None:
        super()._setup_model()
        if self.decides:
            policy: Any = self.policy
            policy.add_judges(self.heads // 2, self.lr_schedule(1))

    def _unit(self) -> float:
        # Entropy is paid by the step, so rewards of a step are brought to its scale.
        return super()._unit() * (1.0 - self.gamma)

    def _get_torch_save_params(self) -> tuple[list[str], list[str]]:
        names, tensors = super()._get_torch_save_params()
        judges = ["policy.judges.optimizer"] if self.decides else []
        return [*names, *judges], tensors


class Mapse(AdvisedOffPolicy):
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
