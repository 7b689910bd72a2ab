"""A policy for PPO that begins as the mixture of the sources' policies."""

from typing import Any

from policymix.bridges.advisor import Advisor
from policymix.bridges.sb3.prior import SMOOTHING, Prior, prior_of
from policymix.core.errors import MissingExtraError

try:
    import torch
    from gymnasium import spaces
    from stable_baselines3.common.policies import ActorCriticPolicy
    from stable_baselines3.dqn.policies import QNetwork
    from stable_baselines3.td3.policies import Actor as PlainActor
    from torch import nn
    from torch.distributions import Categorical, Independent, Normal, kl_divergence
except ImportError as error:
    raise MissingExtraError("the bridge to Stable-Baselines3", "sb3") from error

QUICKER = 10.0
"""How much faster than the network w is learned: it is one number for all states."""


class PriorPolicy(ActorCriticPolicy):
    """The mixture's answers and own ones, which are zero at first, added up.

    Logits are f(s) + w·log m(s, ·), means of continuous actions f(s) + w·m(s). The
    policy gradient learns f and w, which is 1 at first. Values are learned in units of
    the returns' deviation.
    """

    advisor: Advisor | None = None
    student: Any
    alone: bool = False
    """Whether the student acts, who asks no source."""
    unit: torch.Tensor
    hold: float = 0.0
    """Weight of the divergence from the mixture."""
    entropy_weight: float = 0.0

    def _build(self, lr_schedule: Any) -> None:
        self.slow_trust = nn.Parameter(torch.ones(()) / QUICKER)
        self.register_buffer("unit", torch.ones(()))
        super()._build(lr_schedule)
        heads: tuple[Any, ...] = (self.action_net, self.value_net)
        for head in heads:
            nn.init.zeros_(head.weight)

    def add_student(self, rate: float) -> None:
        """A network that will act without sources."""
        layers = self.net_arch
        kind: Any = QNetwork if self.discrete else PlainActor
        self.student = kind(
            observation_space=self.observation_space,
            action_space=self.action_space,
            features_extractor=self.make_features_extractor(),
            features_dim=self.features_dim,
            net_arch=layers["pi"] if isinstance(layers, dict) else layers,
            activation_fn=self.activation_fn,
        ).to(self.device)
        self.student.optimizer = torch.optim.Adam(self.student.parameters(), rate)

    @property
    def trust(self) -> torch.Tensor:
        """The weight w of the mixture."""
        return QUICKER * self.slow_trust

    @property
    def discrete(self) -> bool:
        """Whether actions are numbered."""
        return isinstance(self.action_space, spaces.Discrete)

    def get_distribution(self, obs: Any) -> Any:
        """What to do, by the mixture and by the own network."""
        return self._beside(obs, self._prior(obs))

    def _prior(self, obs: Any) -> Prior:
        assert self.advisor is not None
        return prior_of(self.advisor, obs)

    def _beside(self, obs: Any, prior: Prior) -> Any:
        features: Any = super().extract_features(obs, self.pi_features_extractor)
        own = self.action_net(self.mlp_extractor.forward_actor(features))
        centre, chances = own + self.trust * prior.centre, self.action_dist
        more = () if self.discrete else (self.log_std + prior.log_std,)
        return chances.proba_distribution(centre, *more)

    def forward(self, obs: Any, deterministic: bool = False) -> Any:
        """Actions, values in the unit of reward, log-probabilities."""
        distribution, space = self.get_distribution(obs), self.action_space
        actions = distribution.get_actions(deterministic=deterministic)
        log_prob = distribution.log_prob(actions)
        actions = actions.reshape((-1, *(space.shape or ())))
        return actions, self.predict_values(obs), log_prob

    def predict_values(self, obs: Any) -> torch.Tensor:
        """In the unit of reward."""
        return self.unit * super().predict_values(obs)

    def evaluate_actions(self, obs: Any, actions: torch.Tensor) -> Any:
        """Values as they are learned, log-probabilities, and what regularises.

        SB3 adds what it takes for the entropy to what it maximises. Here it is the
        weighted entropy less the weighted divergence from the mixture, which counts as
        much as the sources are trusted.
        """
        prior = self._prior(obs)
        distribution = self._beside(obs, prior)
        log_prob = distribution.log_prob(actions)
        apart = kl_divergence(
            self._whole(distribution.distribution), self.mixture(prior)
        )
        kept = self.entropy_weight * distribution.entropy()
        kept = kept - self.hold * prior.share * apart
        return super().predict_values(obs), log_prob, kept

    def _whole(self, parts: Any) -> Any:
        """Components of an action taken together."""
        return parts if self.discrete else Independent(parts, 1)

    def mixture(self, prior: Prior) -> Any:
        """The prior as a distribution."""
        if self.discrete:
            return Categorical(logits=prior.centre)
        return self._whole(
            Normal(prior.centre, torch.exp(self.log_std_init + prior.log_std))
        )

    def departure(
        self, obs: torch.Tensor, actions: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Of actions m/π, the share of the sources, and log π.

        Here m is without the chance that was added to it, or with as much of it as the
        policy has: to be less at random than the prior is nothing to be proud of.
        """
        with torch.no_grad():
            prior = self._prior(obs)
            distribution = self._beside(obs, prior)
            log_policy = distribution.log_prob(actions)
            if self.discrete:
                smooth = SMOOTHING / prior.centre.shape[1]
                chances = (torch.exp(prior.centre) - smooth) / (1.0 - SMOOTHING)
                mixture = chances.gather(1, actions[:, None])[:, 0].clamp(min=0.0)
                return mixture / torch.exp(log_policy), prior.share, log_policy
            parts = Normal(prior.centre, distribution.distribution.stddev)
            log_mixture = self._whole(parts).log_prob(actions)
            return torch.exp(log_mixture - log_policy), prior.share, log_policy

    def lesson(self, obs: Any) -> torch.Tensor:
        """For a student: the likeliest action, continuous ones in [−1, 1]."""
        with torch.no_grad():
            action = self.get_distribution(obs).mode()
        if self.discrete:
            return action
        low, high = self._bounds()
        return 2.0 * (torch.clamp(action, low, high) - low) / (high - low) - 1.0

    def _predict(self, observation: Any, deterministic: bool = False) -> torch.Tensor:
        if not self.alone:
            return super()._predict(observation, deterministic)
        answers = self.student(observation)
        if self.discrete:
            return answers.argmax(1)
        low, high = self._bounds()
        return low + 0.5 * (answers + 1.0) * (high - low)

    def _bounds(self) -> tuple[torch.Tensor, torch.Tensor]:
        space: Any = self.action_space
        low, high = (
            torch.as_tensor(x).to(self.device) for x in (space.low, space.high)
        )
        return low, high
