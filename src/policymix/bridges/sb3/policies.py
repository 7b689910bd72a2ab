"""Networks of Stable-Baselines3 that know of advice.

Writing Q⁺ = Q + cΦ, the look-ahead form is plain learning of Q⁺: its error
r + c(γΦ(s',a') − Φ(s,a)) + γQ(s',a') − Q(s,a) equals r + γQ⁺(s',a') − Q⁺(s,a). So its
networks return Q⁺ everywhere, by the beliefs of today, and nothing in the replay can go
stale. In the explicit form they return Q for learning and Q⁺ for decisions. In the form
"sure" values know nothing of advice: it is an action beside the own one, and the rule
says which of the two is taken, in acting and in bootstrapping.
"""

from typing import Any, NamedTuple

from policymix.bridges.sb3.guide import Guide
from policymix.bridges.sb3.heads import Judges, ManyQNetwork
from policymix.bridges.sb3.rule import best_of, own_or_advised, surely_better
from policymix.core.errors import MissingExtraError

try:
    import torch
    from stable_baselines3.common.policies import ContinuousCritic
    from stable_baselines3.dqn.policies import DQNPolicy, QNetwork
    from stable_baselines3.sac.policies import SACPolicy
    from stable_baselines3.td3.policies import Actor as PlainActor
    from torch import nn
except ImportError as error:
    raise MissingExtraError("the bridge to Stable-Baselines3", "sb3") from error


ADAM: dict[str, Any] = {"fused": True}
"""One pass over all parameters: of small networks it takes a fraction of the time."""


def adam(network: torch.nn.Module, rate: float) -> torch.optim.Adam:
    """An optimiser of all its parameters."""
    return torch.optim.Adam(network.parameters(), rate, **ADAM)


SAME_IN_BOTH_MODES = (
    *(nn.Linear, nn.Sequential, nn.ModuleList, nn.Flatten, nn.Identity),
    *(nn.ReLU, nn.LeakyReLU, nn.ELU, nn.Tanh, nn.SiLU, nn.GELU),
)
"""Modules of PyTorch that do the same in training as elsewhere …"""
OURS = ("stable_baselines3.", "policymix.")
"""… as those of these packages do, if their parts do."""


NARROWER = 2
"""Layers of judges have so many times fewer units than those of critics: they only say
which of two actions is better, and value both in every state of a batch."""


class TwoModes(nn.Module):
    """Policies that change between training and acting at every step.

    To tell every module takes as long as to act, and few of them would care.
    """

    _cares: bool | None = None

    def set_training_mode(self, mode: bool) -> None:
        """Tell all modules, unless none of them makes a difference."""
        if self._cares is None:
            kinds = {type(part) for part in self.modules()} - {*SAME_IN_BOTH_MODES}
            self._cares = not all(kind.__module__.startswith(OURS) for kind in kinds)
        if self._cares:
            super().set_training_mode(mode)  # pyright: ignore[reportAttributeAccessIssue]


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
        if guide is not None and guide.leader != "student":
            values = values + guide.values(observation)
        return values.argmax(dim=1).reshape(-1)


class AdvisedDQNPolicy(TwoModes, DQNPolicy):
    """SB3's policy with advised networks.

    Args:
        *arguments: as SB3's.
        heads: networks that decide by the rule; 0 for one that is told of Φ.
        **options: as SB3's.
    """

    guide: Guide | None = None
    student: Any

    def __init__(self, *arguments: Any, heads: int = 0, **options: Any):
        self.heads = heads
        super().__init__(*arguments, **options)

    def make_q_net(self) -> QNetwork:
        arguments = self._update_features_extractor(
            self.net_args, features_extractor=None
        )
        if self.heads:
            return ManyQNetwork(self.heads, **arguments).to(self.device)
        return AdvisedQNetwork(**arguments).to(self.device)

    def attach(self, guide: Guide) -> None:
        """Let the networks know of the advice."""
        self.guide = guide
        networks: tuple[Any, ...] = (self.q_net, self.q_net_target)
        for network in networks:
            network.guide = guide

    def add_student(self, rate: float) -> None:
        """A network that will act without sources."""
        arguments = self._update_features_extractor(self.net_args, None)
        self.student = QNetwork(**arguments).to(self.device)
        self.student.optimizer = adam(self.student, rate)

    def _predict(self, obs: Any, deterministic: bool = True) -> torch.Tensor:
        guide, network = self.guide, self.q_net
        if guide is None or not isinstance(network, ManyQNetwork):
            return super()._predict(obs, deterministic)
        if guide.leader == "student":
            return self.student(obs).argmax(1)
        if guide.leader == "own":
            return best_of(network.each(obs))
        advised, told = guide.advised(obs)
        if guide.leader == "advice":
            return advised
        return own_or_advised(network.each(obs), advised, told, guide.caution)[0]

    def _get_constructor_parameters(self) -> dict[str, Any]:
        return {**super()._get_constructor_parameters(), "heads": self.heads}


class AdvisedCritic(ContinuousCritic):
    """Q for learning and Q + cΦ for the actor, or Q + cΦ for both."""

    guide: Guide | None = None

    def forward(
        self, obs: torch.Tensor, actions: torch.Tensor
    ) -> tuple[torch.Tensor, ...]:
        """The critics' values of actions in [−1, 1]."""
        values = super().forward(obs, actions)
        guide = self.guide
        if guide is None or guide.form == "sure":
            return values
        # Only the actor's proposals carry a gradient: they are what it is judged by.
        if not (guide.learns or actions.requires_grad):
            return values
        advice = guide.value(obs, actions)
        return tuple(value + advice for value in values)


class Ruled(NamedTuple):
    """What the rule does in some rows."""

    action: torch.Tensor
    own: torch.Tensor
    """Whether it is the own action."""
    worth: torch.Tensor
    """By every judge: [judges, rows]."""


class AdvisedSACPolicy(TwoModes, SACPolicy):
    """SB3's policy with advised critics, or with judges of advice."""

    guide: Guide | None = None
    student: Any
    judges: Judges
    judges_target: Judges

    def make_critic(self, features_extractor: Any = None) -> ContinuousCritic:
        arguments = self._update_features_extractor(
            self.critic_kwargs, features_extractor
        )
        return AdvisedCritic(**arguments).to(self.device)

    def attach(self, guide: Guide) -> None:
        """Let the networks know of the advice."""
        self.guide = guide
        networks: tuple[Any, ...] = (self.critic, self.critic_target)
        for network in networks:
            network.guide = guide

    def add_judges(self, judges: int, rate: float) -> None:
        """Networks that say whether the own action is better than the advised one."""
        networks = []
        for _ in range(2):
            units = self.critic_kwargs["net_arch"]
            size = {"net_arch": [-(-count // NARROWER) for count in units]}
            arguments = self._update_features_extractor({**self.net_args, **size}, None)
            networks.append(Judges(judges, **arguments).to(self.device))
        self.judges, self.judges_target = networks
        self.judges_target.load_state_dict(self.judges.state_dict())
        self.judges_target.set_training_mode(False)
        self.judges.optimizer = adam(self.judges, rate)

    def rule(self, obs: torch.Tensor, own: torch.Tensor) -> Ruled:
        """The own action where the judges are sure of it, else the advised one."""
        assert self.guide is not None
        advised, told = self.guide.advised(obs)
        both = self.judges_target(torch.cat([obs, obs]), torch.cat([own, advised]))
        mine, theirs = both.chunk(2, 1)
        led = ~told | surely_better(mine - theirs, self.guide.caution)
        return Ruled(
            torch.where(led[:, None], own, advised),
            led,
            torch.where(led, mine, theirs),
        )

    def add_student(self, rate: float) -> None:
        """A network that will act without sources."""
        arguments = {**self.net_args, "net_arch": self.actor_kwargs["net_arch"]}
        arguments = self._update_features_extractor(arguments, None)
        self.student = PlainActor(**arguments).to(self.device)
        self.student.optimizer = adam(self.student, rate)

    def _predict(self, observation: Any, deterministic: bool = False) -> torch.Tensor:
        guide = self.guide
        if guide is None or guide.form != "sure" or guide.leader == "own":
            return super()._predict(observation, deterministic)
        if guide.leader == "student":
            return self.student(observation)
        if guide.leader == "advice":
            return guide.advised(observation)[0]
        own = super()._predict(observation, deterministic)
        return self.rule(observation, own).action
