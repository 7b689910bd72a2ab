"""Stable-Baselines3's DQN with several networks that decide by the rule of MARS."""

from typing import Any, NamedTuple

import numpy as np

from policymix.bridges.advisor import AT_ONCE
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


class Lesson(NamedTuple):
    """A batch of what is to be learned."""

    obs: torch.Tensor
    actions: torch.Tensor
    targets: torch.Tensor
    """[networks, rows]."""


class ManyDQN(DQN):
    """Trains all networks on the same batch; with one network it is SB3's."""

    guide: Guide

    def _setup_model(self) -> None:
        super()._setup_model()
        self._lessons: list[Lesson] = []

    def train(self, gradient_steps: int, batch_size: int = 100) -> None:
        """Steps of gradient descent."""
        if not isinstance(self.q_net, ManyQNetwork):
            super().train(gradient_steps, batch_size)
            return
        self.policy.set_training_mode(True)
        self._update_learning_rate(self.policy.optimizer)
        parameters, losses = list(self.q_net.parameters()), []
        for _ in range(gradient_steps):
            obs, actions, targets = self._lesson(batch_size)
            values = pick(self.q_net.each(obs), actions)
            # The sum over networks: each learns as if it were alone.
            loss = len(values) * smooth_l1_loss(values, targets)
            gradients = torch.autograd.grad(loss, parameters)
            norm = float(torch.cat([part.flatten() for part in gradients]).norm())
            share = min(1.0, self.max_grad_norm / (norm + 1e-6))
            for parameter, gradient in zip(parameters, gradients, strict=True):
                parameter.grad = gradient if share == 1.0 else share * gradient
            self.policy.optimizer.step()
            losses.append(loss.item() / len(values))
        self._n_updates += gradient_steps
        self.logger.record("train/n_updates", self._n_updates, exclude="tensorboard")
        self.logger.record("train/loss", np.mean(losses))

    def _lesson(self, size: int) -> Lesson:
        """The next batch.

        Some are drawn, advised and valued at once, which takes little longer than one:
        beliefs and the networks behind targets hardly change meanwhile.
        """
        if not self._lessons or len(self._lessons[-1].actions) != size:
            replay: Any = self.replay_buffer
            batch = replay.sample(AT_ONCE * size, env=self._vec_normalize_env)
            targets = self._targets(batch).split(size, 1)
            parts = (batch.observations.split(size), batch.actions.split(size), targets)
            self._lessons = [Lesson(*part) for part in zip(*parts, strict=True)]
        return self._lessons.pop()

    @torch.no_grad()
    def _targets(self, batch: Any) -> torch.Tensor:
        """Reward and γQ(s', a') of every network: [networks, rows].

        Those that pick the own action bootstrap on the best own one, those that judge
        it on what the rule does.
        """
        target: Any = self.q_net_target
        after = batch.next_observations
        later = target.each(after)
        own, half = best_of(later), len(later) // 2
        advised, told = self.guide.advised(after)
        chosen, led = own_or_advised(later, advised, told, self.guide.caution)
        self.logger.record_mean("transfer/own_actions", led.float().mean().item())
        follows = torch.cat([pick(later[:half], own), pick(later[half:], chosen)])
        alive = (1.0 - batch.dones).T
        return batch.rewards.T + alive * self.gamma * follows
