"""What a source would do: tables and greedy networks.

A policy maps one observation to action probabilities; a deterministic one is one-hot.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from policymix.encoders import AbstractEncoder
from policymix.networks import MLP
from policymix.types import Observation


class TablePolicy(eqx.Module):
    """Action probabilities per state."""

    probabilities: Float[Array, "states actions"]

    def __call__(self, obs: Int[Array, ""]) -> Float[Array, " actions"]:
        """The row of one state."""
        return self.probabilities[obs]


def table_policy(actions: Int[Array, " states"], num_actions: int) -> TablePolicy:
    """One action per state."""
    return TablePolicy(jax.nn.one_hot(actions, num_actions))


class GreedyPolicy(eqx.Module):
    """The best action of a network of action values."""

    network: MLP
    encoder: AbstractEncoder

    def __call__(self, obs: Observation) -> Float[Array, " actions"]:
        """One-hot at the largest value."""
        values = self.network(self.encoder(obs))
        return jax.nn.one_hot(jnp.argmax(values), values.size)
