"""What a step earns and whether it ends the task, learned from the target itself.

Sources say where an action would have led; this says what it would have been worth.
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float

from policymix.core.encoders import AbstractEncoder
from policymix.core.kernels import as_float
from policymix.core.networks import (
    MLP,
    OptimiserState,
    descend,
    init_mlp,
    start_descent,
)
from policymix.core.types import Key, Observation, Scalar, Transition


class Goal(NamedTuple):
    """Of one step."""

    reward: Scalar
    """In units of the spread of returns."""
    ends: Scalar
    """Logit of the probability that the task ends with it."""


class GoalModel(eqx.Module):
    """A network from both observations and the action to a `Goal`.

    Args:
        encoder: of observations.
        num_inputs: length of an encoded observation.
        num_actions: of the target.
        layers: hidden ones.
        learning_rate: of Adam.
    """

    encoder: AbstractEncoder
    num_inputs: int = eqx.field(static=True)
    num_actions: int = eqx.field(static=True)
    layers: tuple[int, ...] = eqx.field(static=True)
    learning_rate: Scalar = eqx.field(converter=as_float, default=1e-3)

    def init(self, key: Key) -> OptimiserState[MLP]:
        inputs = 2 * self.num_inputs + self.num_actions
        return start_descent(self._adam, init_mlp(key, (inputs, *self.layers, 2)))

    def __call__(
        self, network: MLP, obs: Observation, action: Array, next_obs: Observation
    ) -> Goal:
        taken = jax.nn.one_hot(action, self.num_actions)
        inputs = [self.encoder(obs), taken, self.encoder(next_obs)]
        return Goal(*network(jnp.concatenate(inputs)))

    def loss(self, network: MLP, step: Transition, unit: Scalar) -> Scalar:
        """Of one transition."""
        goal = self(network, step.obs, step.action, step.next_obs)
        ended = step.terminated.astype(float)
        return optax.huber_loss(
            goal.reward, step.reward / unit
        ) + optax.sigmoid_binary_cross_entropy(goal.ends, ended)

    def update(
        self, state: OptimiserState[MLP], batch: Transition, unit: Scalar
    ) -> OptimiserState[MLP]:
        """One step of Adam."""

        def mean(network: MLP) -> Float[Array, ""]:
            losses = jax.vmap(self.loss, (None, 0, None))(network, batch, unit)
            return jnp.mean(losses)

        return descend(self._adam, state, jax.grad(mean)(state.parameters))

    @property
    def _adam(self) -> optax.GradientTransformation:
        return optax.adam(self.learning_rate)
