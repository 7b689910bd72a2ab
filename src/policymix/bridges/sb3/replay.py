"""A replay that hands out rewards in a unit of their own."""

from typing import Any

from policymix.core.errors import MissingExtraError

try:
    from stable_baselines3.common.buffers import ReplayBuffer
    from stable_baselines3.common.type_aliases import ReplayBufferSamples
except ImportError as error:
    raise MissingExtraError("the bridge to Stable-Baselines3", "sb3") from error


class UnitReplay(ReplayBuffer):
    """Keeps rewards as they were and divides them by what the unit is today."""

    unit: float = 1.0

    def _get_samples(self, batch_inds: Any, env: Any = None) -> ReplayBufferSamples:
        batch = super()._get_samples(batch_inds, env)
        if env is not None and env.norm_reward:
            return batch
        rewards = (batch.rewards.double() / self.unit).float()
        return batch._replace(rewards=rewards)
