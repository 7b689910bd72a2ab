"""Stable-Baselines3's SAC beside judges, who say when its action beats the advice.

An actor strives to please its critics and finds what they think too well of. So others
judge it: they learn what the rule is worth, from rewards alone, without entropy.
"""

from typing import Any

import numpy as np

from policymix.core.errors import MissingExtraError

try:
    import torch
    from stable_baselines3 import SAC
    from stable_baselines3.common.utils import polyak_update
    from torch.nn.functional import mse_loss
except ImportError as error:
    raise MissingExtraError("the bridge to Stable-Baselines3", "sb3") from error


class JudgedSAC(SAC):
    """Trains the judges as often as the critics; without judges it is SB3's."""

    @property
    def decides(self) -> bool:
        """Whether there are judges."""
        return False

    def train(self, gradient_steps: int, batch_size: int = 64) -> None:
        """Steps of gradient descent."""
        super().train(gradient_steps, batch_size)
        if not self.decides:
            return
        policy: Any = self.policy
        replay: Any = self.replay_buffer
        self._update_learning_rate(policy.judges.optimizer)
        losses = []
        for _ in range(gradient_steps):
            batch = replay.sample(batch_size, env=self._vec_normalize_env)
            targets = self._targets(batch)
            values = policy.judges(batch.observations, batch.actions)
            # The sum over judges: each learns as if it were alone.
            loss = len(values) * mse_loss(values, targets)
            policy.judges.optimizer.zero_grad()
            loss.backward()
            policy.judges.optimizer.step()
            pairs = policy.judges.parameters(), policy.judges_target.parameters()
            polyak_update(*pairs, self.tau)
            losses.append(loss.item() / len(values))
        self.logger.record("train/judges_loss", np.mean(losses))

    @torch.no_grad()
    def _targets(self, batch: Any) -> torch.Tensor:
        """Reward and γQ(s', a') of every judge, a' by the rule: [judges, rows]."""
        policy: Any = self.policy
        after = batch.next_observations
        chosen, led = policy.actor.choose(after, policy.actor(after))
        self.logger.record_mean("transfer/own_actions", led.float().mean().item())
        alive = (1.0 - batch.dones).T
        follows = policy.judges_target(after, chosen)
        return batch.rewards.T + alive * self.gamma * follows
