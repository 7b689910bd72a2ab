"""Deep Q-learning (Mnih et al. 2015), with double Q and Huber loss as settings."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, ArrayLike, Float, Int

from policymix.descent import Descent, begin, descend
from policymix.kernels import as_float
from policymix.networks import MLP, init_mlp, squared_weights
from policymix.types import Key, Real, Scalar, Transition


class DQNState(NamedTuple):
    """The network that learns, and the older one that it learns from."""

    online: Descent[MLP]
    target: MLP


class DQN(eqx.Module):
    """Action values by a network: settings only, all state goes in and comes out.

    Args:
        sizes: topology of the network, inputs and actions included.
        discount: γ.
        learning_rate: of Adam at first.
        final_rate: of Adam after `decay_updates`, reached in a straight line.
        decay_updates: how many updates that takes.
        penalty: L2 on the weights (not the biases), as in the paper.
        double: choose the bootstrap action by the online network.
        huber: beyond errors of one, pay their size instead of their square.
        clip: largest norm of a gradient.
    """

    sizes: tuple[int, ...] = eqx.field(static=True)
    discount: Scalar = eqx.field(converter=as_float)
    learning_rate: Scalar = eqx.field(converter=as_float, default=5e-4)
    final_rate: Scalar = eqx.field(converter=as_float, default=5e-4)
    decay_updates: Scalar = eqx.field(converter=as_float, default=1.0)
    penalty: Scalar = eqx.field(converter=as_float, default=1e-6)
    double: bool = eqx.field(static=True, default=False)
    huber: bool = eqx.field(static=True, default=False)
    clip: float = eqx.field(static=True, default=float("inf"))

    def init(self, key: Key) -> DQNState:
        """Both networks start the same."""
        network = init_mlp(key, self.sizes)
        return DQNState(begin(self._optimiser, network), network)

    def act(
        self, key: Key, network: MLP, obs: Float[Array, " obs"], epsilon: Real
    ) -> Int[Array, ""]:
        """The best action, or any with probability ε."""
        explore_key, action_key = jax.random.split(key)
        values = network(obs)
        anything = jax.random.randint(action_key, (), 0, values.size)
        explores = jax.random.uniform(explore_key) < epsilon
        return jnp.where(explores, anything, jnp.argmax(values))

    def td_error(self, network: MLP, target: MLP, step: Transition) -> Scalar:
        """The error r + γ Q⁻(s', a') − Q(s, a); only terminal states have no future."""
        next_values = target(step.next_obs)
        choosing = network(step.next_obs) if self.double else next_values
        best = jax.lax.stop_gradient(next_values[jnp.argmax(choosing)])
        future = jnp.where(step.terminated, 0.0, best)
        return step.reward + self.discount * future - network(step.obs)[step.action]

    def loss(self, network: MLP, target: MLP, batch: Transition) -> Scalar:
        """The mean loss of a batch and the penalty on the weights."""
        errors = jax.vmap(self.td_error, (None, None, 0))(network, target, batch)
        losses = optax.huber_loss(errors) if self.huber else jnp.square(errors)
        return jnp.mean(losses) + self.penalty * squared_weights(network)

    def update(self, state: DQNState, batch: Transition) -> tuple[DQNState, Scalar]:
        """One step of Adam; the target network stays."""
        loss, gradient = jax.value_and_grad(self.loss)(
            state.online.parameters, state.target, batch
        )
        online = descend(self._optimiser, state.online, gradient)
        return DQNState(online, state.target), loss

    def refresh(self, state: DQNState, rate: Real = 1.0) -> DQNState:
        """Move the target network towards the online one; all the way by default."""

        def blend(new: Array, old: Array) -> Array:
            return old + rate * (new - old)

        target = jax.tree.map(blend, state.online.parameters, state.target)
        return DQNState(state.online, target)

    @property
    def _optimiser(self) -> optax.GradientTransformation:
        def rate(count: ArrayLike) -> Array:
            share = jnp.minimum(count / self.decay_updates, 1.0)
            return self.learning_rate + share * (self.final_rate - self.learning_rate)

        return optax.chain(optax.clip_by_global_norm(self.clip), optax.adam(rate))
