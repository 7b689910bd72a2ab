"""Stable-Baselines3's PPO with the mixture of the sources as a prior."""

from typing import Any, ClassVar

import numpy as np

from policymix.bridges.sb3.advised import Advised
from policymix.bridges.sb3.prior import proof
from policymix.bridges.sb3.prior_policy import PriorPolicy
from policymix.bridges.sb3.student import imitate
from policymix.bridges.sb3.vec_env import WatchedVecEnv
from policymix.bridges.spread import Spread
from policymix.core.errors import MissingExtraError, PolicymixError
from policymix.core.settings import DEFAULTS, Settings
from policymix.sources.library import SourceLibrary

try:
    import torch
    from stable_baselines3 import PPO
except ImportError as error:
    raise MissingExtraError("the bridge to Stable-Baselines3", "sb3") from error

HOLD = 1.0
"""The divergence's weight at first and at most, beside advantages of deviation 1."""
LOOSEST = 1e-3
"""The least, from where it finds back if the policy gets worse than the mixture."""
PACE = 2.0
"""The factor by which it falls for every standard error of a proof."""


class MarsPPO(Advised, PPO):
    """SB3's PPO whose policy begins as the mixture of the sources' policies.

    It is held to the mixture by their divergence, whose weight falls as fresh
    advantages prove that the policy gains by departing from it, and grows again where
    it loses. There is nothing to scale, and the unit of reward does not matter.

    Args:
        policy: "MlpPolicy".
        env: the target.
        sources: a library, as the user has it.
        transfer: settings of the mixture; by default with a component for the target's
            own model, and where that is trusted the policy is held to nothing.
        **options: as SB3's.
    """

    policy_aliases: ClassVar[dict[str, type]] = {"MlpPolicy": PriorPolicy}
    policy: Any

    def __init__(
        self,
        policy: Any,
        env: Any,
        sources: SourceLibrary | None = None,
        *,
        transfer: Settings = DEFAULTS,
        **options: Any,
    ):
        if options.get("use_sde"):
            raise PolicymixError(
                "use_sde=True, but the prior is a plain Gaussian. Leave use_sde out"
            )
        self.sources, self.transfer = sources, transfer
        self.spread, self.hold = Spread(), HOLD
        super().__init__(policy, env, **options)

    def _setup_model(self) -> None:
        super()._setup_model()
        self.policy.advisor = self.advisor
        self.policy.add_student(self.lr_schedule(1))

    def _forget_episodes(self) -> None:
        super()._forget_episodes()
        self.spread.forget_episodes()

    def collect_rollouts(
        self, env: Any, callback: Any, rollout_buffer: Any, n_rollout_steps: int
    ) -> bool:
        """As SB3's, and the advisor is told of every step."""
        watched = WatchedVecEnv(env, self._watch)
        return super().collect_rollouts(
            watched, callback, rollout_buffer, n_rollout_steps
        )

    def _watch(
        self, actions: np.ndarray, obs: Any, rewards: Any, dones: Any, infos: Any
    ) -> None:
        self.spread.add(np.asarray(rewards), np.asarray(dones, bool), self.gamma)
        self._take(actions, obs, rewards, dones, infos)
        if not self._n_updates:  # whom to follow need not wait for the learner
            self.advisor.learn()

    def train(self) -> None:
        """Train the policy, then the mixture and the student as often."""
        buffer, unit = self.rollout_buffer, self.spread.value
        self._judge()
        for part in (buffer.values, buffer.returns, buffer.advantages):
            part /= unit
        self.policy.hold, self.policy.entropy_weight = self.hold, self.ent_coef
        given, self.ent_coef = self.ent_coef, 1.0  # the policy weighs its entropy
        try:
            super().train()
        finally:
            self.ent_coef = given
        self.policy.unit.fill_(unit)
        updates = self.n_epochs * -(-buffer.advantages.size // self.batch_size)
        self._teach(updates)
        self.advisor.learn(updates)
        self._log_advice()
        self.logger.record("transfer/hold", self.hold)
        self.logger.record("transfer/trust", self.policy.trust.item())
        self.logger.record("transfer/reward_unit", unit)

    def _judge(self) -> None:
        """Hold on to the mixture less where fresh advantages speak against it.

        The mixture may have learned during the rollout; what the policy of now thinks
        of the actions is what it is then compared with.
        """
        buffer: Any = self.rollout_buffer
        rows = buffer.advantages.size
        obs, actions = (
            buffer.to_torch(x.reshape(rows, *x.shape[2:]))
            for x in (buffer.observations, buffer.actions)
        )
        if self.policy.discrete:
            actions = actions.long().flatten()
        found = self.policy.departure(obs, actions)
        ratio, share, log_policy = (part.cpu().numpy() for part in found)
        buffer.log_probs[:] = log_policy.reshape(buffer.log_probs.shape)
        sure = proof(ratio, buffer.advantages.flatten(), share)
        self.hold = max(LOOSEST, min(HOLD, self.hold * PACE**-sure))
        self.logger.record("transfer/proof", sure)

    def _teach(self, updates: int) -> None:
        """Let the student learn what the policy does in states that it has seen."""
        student, losses = self.policy.student, []
        self._update_learning_rate(student.optimizer)
        for _ in range(updates):
            rows = self.advisor.seen(self.batch_size)
            obs = torch.as_tensor(rows, device=self.device)
            losses.append(imitate(student, obs, self.policy.lesson(obs)))
        student.zero_grad(set_to_none=True)  # PPO clips the norm of all gradients
        self.logger.record("train/student_loss", np.mean(losses))

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = False,
        *,
        advised: bool = True,
    ) -> tuple[np.ndarray, Any]:
        """An action, as SB3's.

        Args:
            observation: one or several.
            state: none.
            episode_start: none.
            deterministic: whether to leave chance out.
            advised: whether sources may be asked; if not, the network answers that has
                learned to do what the policy is likeliest to do.
        """
        self.policy.alone = not advised
        try:
            return super().predict(observation, state, episode_start, deterministic)
        finally:
            self.policy.alone = False

    def _get_torch_save_params(self) -> tuple[list[str], list[str]]:
        names, tensors = super()._get_torch_save_params()
        return [*names, "policy.student.optimizer"], tensors
