"""What a source would do: tables and networks.

A policy maps one observation to action probabilities, one-hot if it is deterministic,
or to a continuous action.
"""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Int, Num

from policymix.core.encoders import AbstractEncoder
from policymix.core.networks import MLP
from policymix.core.perceptron import Perceptron
from policymix.core.types import Action, Box, Observation, Space
from policymix.environments.copies import Policy


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

    network: MLP | Perceptron
    encoder: AbstractEncoder

    def __call__(self, obs: Observation) -> Float[Array, " actions"]:
        """One-hot at the largest value."""
        values = self.network(self.encoder(obs))
        return jax.nn.one_hot(jnp.argmax(values), values.size)


class SoftmaxPolicy(eqx.Module):
    """Action probabilities of a network of logits."""

    network: MLP | Perceptron
    encoder: AbstractEncoder

    def __call__(self, obs: Observation) -> Float[Array, " actions"]:
        return jax.nn.softmax(self.network(self.encoder(obs)))


class ClippedPolicy(eqx.Module):
    """A network of continuous actions, cut to their bounds."""

    network: MLP | Perceptron
    encoder: AbstractEncoder
    low: Float[Array, " act"]
    high: Float[Array, " act"]

    def __call__(self, obs: Observation) -> Float[Array, " act"]:
        return jnp.clip(self.network(self.encoder(obs)), self.low, self.high)


class SquashedPolicy(eqx.Module):
    """A network of continuous actions, squashed by tanh and stretched to their bounds.

    With a `limit` the network's output is first cut to [−limit, limit].
    """

    network: MLP | Perceptron
    encoder: AbstractEncoder
    low: Float[Array, " act"]
    high: Float[Array, " act"]
    limit: float | None = eqx.field(static=True, default=None)

    def __call__(self, obs: Observation) -> Float[Array, " act"]:
        """Between `low`, where tanh is −1, and `high`, where it is 1."""
        output = self.network(self.encoder(obs))
        if self.limit is not None:
            output = jnp.clip(output, -self.limit, self.limit)
        return self.low + 0.5 * (jnp.tanh(output) + 1.0) * (self.high - self.low)


def probabilities_of(advice: Array, num_actions: int) -> Float[Array, " actions"]:
    """Advice about numbered actions: probabilities, or an index that becomes one-hot.

    An action that does not exist becomes NaN, which is noticed.
    """
    if advice.ndim:
        return advice.astype(float)
    chosen = jnp.arange(num_actions) == advice
    return jnp.where(jnp.any(chosen), chosen.astype(float), jnp.nan)


def policy_of(policy: Callable, space: Space | None = None) -> Policy:
    """The action of many observations at once, on the host.

    Args:
        policy: from an observation to an action or its probabilities.
        space: of the actions; where it is finite or not given, vectors are
            probabilities, and the most probable action is taken.
    """
    continuous = isinstance(space, Box)
    return lambda obs: np.asarray(_most_probable(policy, obs, continuous))


@eqx.filter_jit
def _most_probable(
    policy: Callable, rows: ArrayLike, continuous: bool
) -> Num[Array, " rows *act"]:
    def action(obs: Observation) -> Action:
        advice = jnp.asarray(policy(obs))
        return jnp.argmax(advice) if advice.ndim and not continuous else advice

    return jax.vmap(action)(jnp.asarray(rows))
