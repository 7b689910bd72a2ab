"""Stable-Baselines3's DQN with several networks that decide by the rule of MARS."""

from typing import Any

import numpy as np

from policymix.bridges.sb3.guide import Guide
from policymix.bridges.sb3.heads import ManyQNetwork
from policymix.bridges.sb3.rule import best_of, own_or_advised, pick
from policymix.core.errors import MissingExtraError

try:
    import torch
    from stable_baselines3 import DQN
    from torch.nn.functional import smooth_l1_loss
except ImportError as error:
    raise MissingExtraError("the bridge to Stable-Baselines3", "sb3") from error


class ManyDQN(DQN):
    """Trains all networks on the same batch; with one network it is SB3's."""

    guide: Guide

    def train(self, gradient_steps: int, batch_size: int = 100) -> None:
        """Steps of gradient descent."""
        if not isinstance(self.q_net, ManyQNetwork):
            super().train(gradient_steps, batch_size)
            return
        self.policy.set_training_mode(True)
        self._update_learning_rate(self.policy.optimizer)
        losses = []
        for _ in range(gradient_steps):
            replay: Any = self.replay_buffer
            batch = replay.sample(batch_size, env=self._vec_normalize_env)
            targets = self._targets(batch)
            values = pick(self.q_net.each(batch.observations), batch.actions)
            # The sum over networks: each learns as if it were alone.
            loss = len(values) * smooth_l1_loss(values, targets)
            self.policy.optimizer.zero_grad()
            loss.backward()
            parameters = self.q_net.parameters()
            torch.nn.utils.clip_grad_norm_(parameters, self.max_grad_norm)
            self.policy.optimizer.step()
            losses.append(loss.item() / len(values))
        self._n_updates += gradient_steps
        self.logger.record("train/n_updates", self._n_updates, exclude="tensorboard")
        self.logger.record("train/loss", np.mean(losses))

    @torch.no_grad()
    def _targets(self, batch: Any) -> torch.Tensor:
        """Reward and γQ(s', a') of every network: [networks, rows].

        Those that pick the own action bootstrap on the best own one, those that judge
        it on what the rule does.
        """
        network: Any = self.q_net
        target: Any = self.q_net_target
        after = batch.next_observations
        later, half = target.each(after), network.heads // 2
        advised, told = self.guide.advised(after)
        own = best_of(network.each(after))
        chosen, led = own_or_advised(later, advised, told, self.guide.caution)
        self.logger.record_mean("transfer/own_actions", led.float().mean().item())
        follows = torch.cat([pick(later[:half], own), pick(later[half:], chosen)])
        alive = (1.0 - batch.dones).T
        return batch.rewards.T + alive * self.gamma * follows
