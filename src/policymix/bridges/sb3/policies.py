"""Networks of Stable-Baselines3 that know of advice.

Writing Q⁺ = Q + cΦ, the look-ahead form is plain learning of Q⁺: its error
r + c(γΦ(s',a') − Φ(s,a)) + γQ(s',a') − Q(s,a) equals r + γQ⁺(s',a') − Q⁺(s,a). So its
networks return Q⁺ everywhere, by the beliefs of today, and nothing in the replay can go
stale. In the explicit form they return Q for learning and Q⁺ for decisions.
"""

from typing import Any, Literal

from policymix.bridges.advisor import Advisor
from policymix.core.errors import MissingExtraError

try:
    import torch
    from stable_baselines3.common.policies import ContinuousCritic
    from stable_baselines3.dqn.policies import DQNPolicy, QNetwork
    from stable_baselines3.sac.policies import SACPolicy
except ImportError as error:
    raise MissingExtraError("the bridge to Stable-Baselines3", "sb3") from error

MarsForm = Literal["explicit", "lookahead"]


class Guide:
    """What networks need to know: who gives advice, and how much it counts."""

    def __init__(self, advisor: Advisor, form: MarsForm, precision: float | None):
        self.advisor, self.form, self.scale = advisor, form, 0.0
        self.learns, self.precision = form == "lookahead", precision

    def values(self, obs: torch.Tensor) -> torch.Tensor:
        """c·Φ(s, ·)."""
        phi = self.advisor.potential(obs.detach().cpu().numpy())
        return torch.as_tensor(self.scale * phi, device=obs.device)

    def value(self, obs: torch.Tensor, action: torch.Tensor) -> torch.Tensor:
        """c·Φ(s, a) for actions in [−1, 1]; gradients flow to the action."""
        phi: Any = ActionPotential.apply(action, obs, self)
        return self.scale * phi


class ActionPotential(torch.autograd.Function):
    """Φ(s, a) and its slope, which JAX knows, for torch."""

    @staticmethod
    def forward(
        ctx: Any, action: torch.Tensor, obs: torch.Tensor, guide: Guide
    ) -> torch.Tensor:
        """A column of Φ."""
        rows, actions = obs.cpu().numpy(), action.cpu().numpy()
        found = guide.advisor.action_potential(rows, actions, guide.precision)
        phi, slope = (torch.tensor(part).to(action) for part in found)
        ctx.save_for_backward(slope)
        return phi[:, None]

    @staticmethod
    def backward(ctx: Any, *upstream: torch.Tensor) -> tuple[Any, ...]:
        """Only the action has a gradient."""
        (slope,) = ctx.saved_tensors
        return upstream[0] * slope, None, None


class AdvisedQNetwork(QNetwork):
    """Q for learning and Q + cΦ for decisions, or Q + cΦ for both."""

    guide: Guide | None = None

    def forward(self, obs: Any) -> torch.Tensor:
        """The values that are learned."""
        values = super().forward(obs)
        guide = self.guide
        return values + guide.values(obs) if guide and guide.learns else values

    def _predict(self, observation: Any, deterministic: bool = True) -> torch.Tensor:
        guide, values = self.guide, super().forward(observation)
        if guide is not None:
            values = values + guide.values(observation)
        return values.argmax(dim=1).reshape(-1)


class AdvisedDQNPolicy(DQNPolicy):
    """SB3's policy with advised networks."""

    def make_q_net(self) -> QNetwork:
        arguments = self._update_features_extractor(
            self.net_args, features_extractor=None
        )
        return AdvisedQNetwork(**arguments).to(self.device)

    def attach(self, guide: Guide) -> None:
        """Let the networks know of the advice."""
        networks: tuple[Any, ...] = (self.q_net, self.q_net_target)
        for network in networks:
            network.guide = guide


class AdvisedCritic(ContinuousCritic):
    """Q for learning and Q + cΦ for the actor, or Q + cΦ for both."""

    guide: Guide | None = None

    def forward(
        self, obs: torch.Tensor, actions: torch.Tensor
    ) -> tuple[torch.Tensor, ...]:
        """The critics' values of actions in [−1, 1]."""
        values = super().forward(obs, actions)
        guide = self.guide
        # Only the actor's proposals carry a gradient: they are what it is judged by.
        if guide is None or not (guide.learns or actions.requires_grad):
            return values
        advice = guide.value(obs, actions)
        return tuple(value + advice for value in values)


class AdvisedSACPolicy(SACPolicy):
    """SB3's policy with advised critics."""

    def make_critic(self, features_extractor: Any = None) -> ContinuousCritic:
        arguments = self._update_features_extractor(
            self.critic_kwargs, features_extractor
        )
        return AdvisedCritic(**arguments).to(self.device)

    def attach(self, guide: Guide) -> None:
        """Let the critics know of the advice."""
        critics: tuple[Any, ...] = (self.critic, self.critic_target)
        for critic in critics:
            critic.guide = guide
