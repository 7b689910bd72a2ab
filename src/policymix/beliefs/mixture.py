"""What we believe: a(s; θ), the state-dependent mixture of sources, equations (2)–(6).

A mixture is four pure functions behind one small interface:

* `init(key)` → state
* `weights(state, obs)` → a(s), the prior over sources in one state
* `posterior(state, obs, log_likelihoods)` → p(s), after one transition was seen
* `update(state, evidence)` → the state after a batch of transitions, and its metrics

`Evidence` holds the log-likelihoods that were computed when each transition was
collected: sources are frozen, so training calls no source at all.
"""

import abc
from typing import Generic, NamedTuple, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from policymix.core.types import Action, Key, Observation, Scalar


class Evidence(NamedTuple):
    """What one transition (or a batch of them, along a leading axis) tells."""

    obs: Observation
    action: Action
    next_obs: Observation
    log_likelihoods: Float[Array, " n"]


class Metrics(NamedTuple):
    """How well the mixture explains a batch, and how decided it is."""

    log_evidence: Scalar
    entropy: Scalar


State = TypeVar("State")


class AbstractMixture(eqx.Module, Generic[State]):
    """Beliefs over sources, one distribution per state."""

    @property
    @abc.abstractmethod
    def replays(self) -> bool:
        """Learns from replayed batches; otherwise from every transition just once."""

    @abc.abstractmethod
    def init(self, key: Key) -> State:
        """The belief before any transition."""

    @abc.abstractmethod
    def log_weights(self, state: State, obs: Observation) -> Float[Array, " n"]:
        """Log a(s)."""

    def weights(self, state: State, obs: Observation) -> Float[Array, " n"]:
        """a(s): non-negative, with sum one."""
        return jnp.exp(self.log_weights(state, obs))

    def posterior(
        self, state: State, obs: Observation, log_likelihoods: Float[Array, " n"]
    ) -> Float[Array, " n"]:
        """p(s): which source a transition came from, by Bayes' rule, equation (4)."""
        return jnp.exp(log_posterior(self.log_weights(state, obs), log_likelihoods))

    @abc.abstractmethod
    def update(self, state: State, evidence: Evidence) -> tuple[State, Metrics]:
        """Learn from a batch of transitions."""


def log_evidence(
    logits: Float[Array, " n"], log_likelihoods: Float[Array, " n"]
) -> Scalar:
    """Log Σᵢ aᵢ(s) P̂ᵢ(s'∣s,a), equation (2); finite when all likelihoods underflow."""
    return jax.nn.logsumexp(jax.nn.log_softmax(logits) + log_likelihoods)


def log_posterior(
    logits: Float[Array, " n"], log_likelihoods: Float[Array, " n"]
) -> Float[Array, " n"]:
    """Log pᵢ(s) of equation (4): prior times likelihood, normalised."""
    return jax.nn.log_softmax(logits + log_likelihoods)


def entropy(weights: Float[Array, " n"]) -> Scalar:
    """−Σᵢ aᵢ log aᵢ: 0 when one source is trusted alone, log n when all are alike."""
    return -jnp.sum(jax.scipy.special.xlogy(weights, weights))
