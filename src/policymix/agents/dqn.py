"""Deep Q-learning (Mnih et al. 2015), with double Q and Huber loss as settings."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, ArrayLike, Float

from policymix.agents.base import AbstractLearner
from policymix.core.encoders import AbstractEncoder, Identity
from policymix.core.kernels import as_float
from policymix.core.networks import (
    MLP,
    OptimiserState,
    descend,
    init_mlp,
    squared_weights,
    start_descent,
)
from policymix.core.types import Key, Observation, Real, Scalar


class DQNState(NamedTuple):
    """The network that learns, and the older one that it learns from."""

    online: OptimiserState[MLP]
    target: MLP


class DQN(AbstractLearner[DQNState]):
    """Action values by a network.

    Args:
        discount: γ.
        sizes: topology of the network, inputs and outputs included.
        encoder: turns an observation into the network's input.
        learning_rate: of Adam at first.
        final_rate: of Adam after `decay_updates`, reached in a straight line; by
            default the rate stays as it is.
        decay_updates: how many updates that takes.
        penalty: L2 on the weights (not the biases), as in the paper.
        double: choose the bootstrap action by the online network.
        huber: beyond errors of one, pay their size instead of their square.
        clip: largest norm of a gradient.
    """

    discount: Scalar = eqx.field(converter=as_float)
    sizes: tuple[int, ...] = eqx.field(static=True)
    encoder: AbstractEncoder = Identity()
    learning_rate: Scalar = eqx.field(converter=as_float, default=5e-4)
    final_rate: Scalar | None = eqx.field(
        converter=lambda rate: None if rate is None else as_float(rate), default=None
    )
    decay_updates: Scalar = eqx.field(converter=as_float, default=1.0)
    penalty: Scalar = eqx.field(converter=as_float, default=1e-6)
    double: bool = eqx.field(static=True, default=False)
    huber: bool = eqx.field(static=True, default=False)
    clip: float | None = eqx.field(static=True, default=None)

    @property
    def outputs(self) -> int:
        """Actions (CAPS: options)."""
        return self.sizes[-1]

    @property
    def num_features(self) -> int:
        """Width of the last hidden layer, and one for the bias."""
        return self.sizes[-2] + 1

    @property
    def replays(self) -> bool:
        """A network learns from replayed batches."""
        return True

    def init(self, key: Key) -> DQNState:
        return self.begin(init_mlp(key, self.sizes))

    def begin(self, network: MLP) -> DQNState:
        """Both networks start the same."""
        return DQNState(start_descent(self._optimiser, network), network)

    def values(self, state: DQNState, obs: Observation) -> Float[Array, " outputs"]:
        return state.online.parameters(self.encoder(obs))

    def next_values(
        self, state: DQNState, obs: Observation
    ) -> tuple[Float[Array, " outputs"], Float[Array, " outputs"]]:
        """The target network's; with double Q the online network chooses."""
        bootstrapped = state.target(self.encoder(obs))
        return (self.values(state, obs) if self.double else bootstrapped), bootstrapped

    def features(self, state: DQNState, obs: Observation) -> Float[Array, " features"]:
        """The last hidden layer, and a one that stands for the bias."""
        return jnp.append(state.online.parameters.hidden(self.encoder(obs)), 1.0)

    def loss(
        self,
        network: MLP,
        obs: Any,
        targets: Float[Array, "batch outputs"],
        taught: Float[Array, "batch outputs"],
    ) -> Scalar:
        """The mean loss of a batch and the penalty on the weights."""
        values = jax.vmap(lambda o: network(self.encoder(o)))(obs)
        errors = taught * (targets - values)
        losses = optax.huber_loss(errors) if self.huber else jnp.square(errors)
        mean = jnp.mean(jnp.sum(losses, axis=1))
        return mean + self.penalty * squared_weights(network)

    def fit(
        self,
        state: DQNState,
        obs: Any,
        targets: Float[Array, "batch outputs"],
        taught: Float[Array, "batch outputs"],
    ) -> tuple[DQNState, Scalar]:
        """One step of Adam; the target network stays."""
        loss, gradient = jax.value_and_grad(self.loss)(
            state.online.parameters, obs, targets, taught
        )
        online = descend(self._optimiser, state.online, gradient)
        return DQNState(online, state.target), loss

    def refresh(self, state: DQNState, rate: Real = 1.0) -> DQNState:
        """Move the target network towards the online one; all the way by default."""

        def blend(new: Array, old: Array) -> Array:
            return rate * new + (1.0 - rate) * old

        target = jax.tree.map(blend, state.online.parameters, state.target)
        return DQNState(state.online, target)

    @property
    def _optimiser(self) -> optax.GradientTransformation:
        first, last = self.learning_rate, self.final_rate

        def rate(count: ArrayLike) -> Array:
            share = jnp.minimum(count / self.decay_updates, 1.0)
            return first if last is None else first + share * (last - first)

        adam = optax.adam(first if last is None else rate)
        if self.clip is None:
            return adam
        return optax.chain(optax.clip_by_global_norm(self.clip), adam)
