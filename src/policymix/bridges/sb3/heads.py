"""Several value networks side by side, computed as one."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from policymix.core.errors import MissingExtraError

try:
    import torch
    from stable_baselines3.common.policies import BaseModel
    from stable_baselines3.common.preprocessing import get_action_dim
    from stable_baselines3.dqn.policies import QNetwork
    from torch import nn
except ImportError as error:
    raise MissingExtraError("the bridge to Stable-Baselines3", "sb3") from error


class ManyLinear(nn.Module):
    """Linear layers of several networks, drawn as PyTorch draws its own."""

    def __init__(self, networks: int, inputs: int, outputs: int):
        super().__init__()
        bound = 1.0 / math.sqrt(inputs)
        self.weight = nn.Parameter(torch.empty(networks, inputs, outputs))
        self.bias = nn.Parameter(torch.empty(networks, 1, outputs))
        for part in (self.weight, self.bias):
            nn.init.uniform_(part, -bound, bound)

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        """From [networks, rows, inputs] to [networks, rows, outputs]."""
        return torch.baddbmm(self.bias, rows, self.weight)


class ManyLayers(nn.Sequential):
    """Several networks with layers of these sizes."""

    def __init__(
        self, networks: int, sizes: Sequence[int], activation: type[nn.Module]
    ):
        layers: list[nn.Module] = []
        for inputs, outputs in pairwise(sizes):
            layers += [ManyLinear(networks, inputs, outputs), activation()]
        super().__init__(*layers[:-1])
        self.networks = networks

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        """From [rows, inputs], the same for all, to [networks, rows, outputs]."""
        rows = input.expand(self.networks, *input.shape)
        for layer in self:
            rows = layer.forward(rows)
        return rows


class ManyQNetwork(QNetwork):
    """Independent networks of the size that SB3's has; together they give a mean."""

    def __init__(self, heads: int, **arguments: Any):
        super().__init__(**arguments)
        sizes = (self.features_dim, *self.net_arch, int(self.action_space.n))
        self.heads = heads
        self.q_net = ManyLayers(heads, sizes, self.activation_fn)

    def each(self, obs: Any) -> torch.Tensor:
        """Q of every network: [heads, rows, actions]."""
        features = self.extract_features(obs, self.features_extractor)
        return self.q_net(features)

    def forward(self, obs: Any) -> torch.Tensor:
        """The own values: the mean of the networks that pick the own action."""
        return self.each(obs)[: self.heads // 2].mean(0)


class Judges(BaseModel):
    """Independent networks that value an action, and that no actor strives to please.

    Args:
        judges: how many.
        net_arch: hidden layers.
        activation_fn: between them.
        **arguments: as SB3's models have them.
    """

    def __init__(
        self,
        judges: int,
        net_arch: list[int],
        activation_fn: type[nn.Module],
        features_dim: int,
        **arguments: Any,
    ):
        super().__init__(**arguments)
        inputs = features_dim + get_action_dim(self.action_space)
        self.q_net = ManyLayers(judges, (inputs, *net_arch, 1), activation_fn)

    def forward(self, obs: Any, actions: torch.Tensor) -> torch.Tensor:
        """Values of actions in [−1, 1]: [judges, rows]."""
        features = self.extract_features(obs, self.features_extractor)  # pyright: ignore[reportArgumentType]
        rows = torch.cat([features, actions], 1)
        return self.q_net(rows).squeeze(2)
