"""MULTIPOLAR's idea for action values: what sources would do, weighed, plus a residual.

After Barekatain, Yonetani and Hamaya 2020 (arXiv 1909.13111), whose learner is a policy
gradient; here the sum is learned by Q-learning as every other value of this package.
"""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from policymix.agents.base import AbstractAgent, Experience
from policymix.agents.dqn import DQN, DQNState
from policymix.core.encoders import Identity
from policymix.core.networks import MLP, init_silent_mlp
from policymix.core.types import Key, Observation, Scalar


class Aggregate(MLP):
    """The mean over sources of Wᵢ ⊙ adviceᵢ(s), plus a residual, which is the MLP."""

    trusts: Float[Array, "n actions"]
    """W: one number for each source and action, the same in every state."""

    def __call__(self, x: Float[Array, " joined"]) -> Float[Array, " outputs"]:
        """Q(s, ·), from an encoded state and, after it, the advice there."""
        inputs = self.weights[0].shape[-1]
        advice = x[inputs:].reshape(self.trusts.shape)
        return jnp.mean(self.trusts * advice, axis=0) + super().__call__(x[:inputs])


class Multipolar(AbstractAgent[DQNState]):
    """A DQN that sees the advice beside the state.

    Args:
        learner: Q(s, ·) by a network; the residual is as this one would be.
        num_sources: n.
    """

    learner: DQN
    num_sources: int = eqx.field(static=True)

    @property
    def replays(self) -> bool:
        return True

    @property
    def joined(self) -> DQN:
        """The learner, for states that have been encoded and joined with advice."""
        return replace(self.learner, encoder=Identity())

    def join(
        self, obs: Observation, advice: Float[Array, "n actions"]
    ) -> Float[Array, " joined"]:
        """An encoded state and, after it, the advice there."""
        return jnp.concatenate([self.learner.encoder(obs), advice.ravel()])

    def init(self, key: Key) -> DQNState:
        """W is one and the residual zero: at first the sources vote."""
        residual = init_silent_mlp(key, self.learner.sizes)
        trusts = jnp.ones((self.num_sources, self.learner.outputs))
        network = Aggregate(residual.weights, residual.biases, trusts)
        return self.learner.begin(network)

    def action_values(
        self, state: DQNState, obs: Observation, advice: Float[Array, "n actions"]
    ) -> Float[Array, " actions"]:
        return self.joined.values(state, self.join(obs, advice))

    def alone_values(self, state: DQNState, obs: Observation) -> Float[Array, " a"]:
        """The residual: as if no source had a preference."""
        nothing = jnp.zeros((self.num_sources, self.learner.outputs))
        return self.action_values(state, obs, nothing)

    def update(
        self, state: DQNState, experience: Experience
    ) -> tuple[DQNState, Scalar]:
        """A DQN's update; its gradient reaches W and the residual alike."""
        batch, join = experience.batch, jax.vmap(self.join)
        assert experience.advice is not None
        assert experience.next_advice is not None
        batch = batch._replace(
            obs=join(batch.obs, experience.advice),
            next_obs=join(batch.next_obs, experience.next_advice),
        )
        return self.joined.update(state, Experience(batch))

    def refresh(self, state: DQNState) -> DQNState:
        return self.learner.refresh(state)
