"""Stable-Baselines3's SAC beside judges, who say when its action beats the advice.

An actor strives to please its critics and finds what they think too well of. So others
judge it: they learn what the rule is worth, from rewards alone, without entropy.
"""

from typing import Any, NamedTuple

import numpy as np

from policymix.core.errors import MissingExtraError

try:
    import torch
    from stable_baselines3 import SAC
    from stable_baselines3.common.utils import polyak_update
    from torch.nn.functional import mse_loss
except ImportError as error:
    raise MissingExtraError("the bridge to Stable-Baselines3", "sb3") from error

JUDGED = 4
"""The judges learn from one of so many transitions of a batch."""


class Targets(NamedTuple):
    """What is to be learned of a batch."""

    critics: torch.Tensor
    """[rows, 1]."""
    judges: torch.Tensor
    """[judges, rows]."""


class JudgedSAC(SAC):
    """Trains the judges as often as the critics; without judges it is SB3's."""

    @property
    def decides(self) -> bool:
        """Whether there are judges."""
        return False

    def train(self, gradient_steps: int, batch_size: int = 64) -> None:
        """Steps of gradient descent, as SB3's are but for the rule in targets."""
        if not self.decides:
            super().train(gradient_steps, batch_size)
            return
        policy: Any = self.policy
        policy.set_training_mode(True)
        optimisers = [
            part.optimizer for part in (self.actor, self.critic, policy.judges)
        ]
        if self.ent_coef_optimizer is not None:
            optimisers.append(self.ent_coef_optimizer)
        self._update_learning_rate(optimisers)
        replay: Any = self.replay_buffer
        losses = []
        for step in range(gradient_steps):
            batch = replay.sample(batch_size, env=self._vec_normalize_env)
            losses.append(self._learn_from(batch))
            if step % self.target_update_interval == 0:
                self._update_targets()
        self._n_updates += gradient_steps
        self.logger.record("train/n_updates", self._n_updates, exclude="tensorboard")
        names = (
            "ent_coef",
            "ent_coef_loss",
            "critic_loss",
            "judges_loss",
            "actor_loss",
        )
        for name, mean in zip(names, np.mean(losses, axis=0), strict=True):
            self.logger.record(f"train/{name}", mean)

    def _learn_from(self, batch: Any) -> tuple[float, ...]:
        """One step of each network; the entropy's weight, and the losses."""
        policy: Any = self.policy
        obs = batch.observations
        if self.use_sde:
            self.actor.reset_noise()
        proposed, log_prob = self.actor.action_log_prob(obs)
        log_prob = log_prob[:, None]
        weight, weighing = self._weigh_entropy(log_prob.detach())

        targets = self._targets(batch, weight)
        values = self.critic(obs, batch.actions)
        errors = [mse_loss(value, targets.critics) for value in values]
        criticism = 0.5 * torch.stack(errors).sum()
        few = -(-len(obs) // JUDGED)
        judged = policy.judges(obs[:few], batch.actions[:few])
        # The sum over judges: each learns as if it were alone.
        judging = len(judged) * mse_loss(judged, targets.judges[:, :few])
        self.critic.optimizer.zero_grad()
        policy.judges.optimizer.zero_grad()
        (criticism + judging).backward()
        self.critic.optimizer.step()
        policy.judges.optimizer.step()

        worth = torch.cat(self.critic(obs, proposed), 1).min(1, keepdim=True).values
        acting = (weight * log_prob - worth).mean()
        self.actor.optimizer.zero_grad()
        # Critics are not to learn from it, so nobody computes what they would.
        acting.backward(inputs=list(self.actor.parameters()))
        self.actor.optimizer.step()
        losses = (criticism, judging / len(judged), acting)
        return (weight.item(), weighing, *(loss.item() for loss in losses))

    def _weigh_entropy(self, log_prob: torch.Tensor) -> tuple[torch.Tensor, float]:
        """What entropy is worth now, and the loss of that, if it is learned."""
        optimiser = self.ent_coef_optimizer
        if optimiser is None or self.log_ent_coef is None:
            return self.ent_coef_tensor, 0.0
        weight = self.log_ent_coef.detach().exp()
        loss = -(self.log_ent_coef * (log_prob + float(self.target_entropy))).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        return weight, loss.item()

    @torch.no_grad()
    def _targets(self, batch: Any, weight: torch.Tensor) -> Targets:
        """Reward and γQ(s', a'), a' by the rule; critics are paid for entropy, too."""
        policy: Any = self.policy
        after = batch.next_observations
        own, log_prob = policy.actor.action_log_prob(after)
        ruled = policy.rule(after, own)
        self.logger.record_mean("transfer/own_actions", ruled.own.float().mean().item())
        worth = torch.cat(self.critic_target(after, ruled.action), 1)
        worth = worth.min(1, keepdim=True).values
        # Advice is sure, so it has no entropy.
        worth -= weight * torch.where(ruled.own, log_prob, 0.0)[:, None]
        alive = self.gamma * (1.0 - batch.dones)
        return Targets(
            batch.rewards + alive * worth, (batch.rewards + alive * ruled.worth.T).T
        )

    def _update_targets(self) -> None:
        """Older copies follow."""
        policy: Any = self.policy
        pairs = (self.critic, self.critic_target), (policy.judges, policy.judges_target)
        for newest, older in pairs:
            polyak_update(newest.parameters(), older.parameters(), self.tau)
        polyak_update(self.batch_norm_stats, self.batch_norm_stats_target, 1.0)
