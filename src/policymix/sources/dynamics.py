"""What a source expects to happen: look-up tables and networks.

A model has the signature of a domain's own transition, `(obs, action) -> next_obs`, so
the true dynamics can stand in for it.
"""

import abc
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from policymix.core.encoders import AbstractEncoder
from policymix.core.networks import MLP
from policymix.core.types import Action, DiscreteAction, Observation, Scalar

UNKNOWN = -1
"""What a table predicts for a pair it has never seen: no state at all."""


class TableDynamics(eqx.Module):
    """The next state of every visited state and action."""

    next_obs: Int[Array, "states actions"]

    def __call__(self, obs: Int[Array, ""], action: DiscreteAction) -> Int[Array, ""]:
        return self.next_obs[obs, action]


def fit_table(
    obs: Int[Array, " samples"],
    action: Int[Array, " samples"],
    next_obs: Int[Array, " samples"],
    num_states: int,
    num_actions: int,
) -> TableDynamics:
    """Remember what most often followed each visited pair; others stay UNKNOWN.

    Of two states that followed equally often it is the one with the lower index.
    """
    sizes = (num_states, num_actions, num_states)
    columns = (np.asarray(obs), np.asarray(action), np.asarray(next_obs))
    triples = np.ravel_multi_index(columns, sizes)
    found, counts = np.unique(triples, return_counts=True)
    rarest_first = np.argsort(counts[::-1], kind="stable")
    before, chosen, after = np.unravel_index(found[::-1][rarest_first], sizes)
    table = np.full((num_states, num_actions), UNKNOWN)
    table[before, chosen] = after
    return TableDynamics(jnp.asarray(table, next_obs.dtype))


class NetworkDynamics(eqx.Module):
    """A network from the encoded observation and the action to the next observation.

    A discrete action enters one-hot, a continuous one as it is.

    It predicts the *absolute* next observation: differences fit better but extrapolate
    so well that every source looks right everywhere.
    """

    network: MLP
    encoder: AbstractEncoder

    def __call__(self, obs: Float[Array, " d"], action: Action) -> Float[Array, " d"]:
        return self.network(self.inputs(obs, action))

    def inputs(self, obs: Observation, action: Action) -> Float[Array, " in"]:
        """Encoded observation and action, side by side."""
        encoded = self.encoder(obs)
        if jnp.ndim(action) == 0:
            num_actions = self.network.sizes[0] - encoded.size
            action = jax.nn.one_hot(action, num_actions)
        return jnp.concatenate([encoded, action])


class BoundedDynamics(eqx.Module):
    """A network model whose predictions stay within [low, high] by a sigmoid.

    With [−1, 1] the sigmoid is the paper's tanh up to the scale of its input, and with
    [0, 1] it is the paper's sigmoid for the contacts of the legs.
    """

    model: NetworkDynamics
    low: Float[Array, " d"]
    high: Float[Array, " d"]

    def __call__(self, obs: Float[Array, " d"], action: Action) -> Float[Array, " d"]:
        share = jax.nn.sigmoid(self.model(obs, action))
        return self.low + (self.high - self.low) * share


class LogDensity(eqx.Module):
    """Stochastic dynamics that know their own likelihood: no kernel is needed."""

    log_density: Callable[[Observation, Action, Observation], Scalar]

    def __call__(
        self, obs: Observation, action: Action, next_obs: Observation
    ) -> Scalar:
        """Return log P̂(s' | s, a)."""
        return self.log_density(obs, action, next_obs)


class AbstractCovered(eqx.Module):
    """A model that knows which states it has seen."""

    model: Callable
    encoder: AbstractEncoder
    seen: Float[Array, "states d"]

    def __call__(self, obs: Observation, action: Action) -> Observation:
        return self.model(obs, action)

    @abc.abstractmethod
    def miss(self, error: Float[Array, " d"], obs: Observation) -> Scalar:
        """How long its error counts as, once s' is known."""

    def distance(self, obs: Observation) -> Scalar:
        """Distance to the nearest seen state, from ‖s‖² + ‖seen‖² − 2 s·seen.

        Written so that many states at once become one product of matrices.
        """
        encoded = self.encoder(obs)
        lengths = jnp.sum(jnp.square(self.seen), axis=1)
        nearest = jnp.min(lengths - 2 * self.seen @ encoded)
        return jnp.sqrt(jnp.maximum(nearest + jnp.sum(jnp.square(encoded)), 0.0))


class CoveredDynamics(AbstractCovered):
    """A model that vouches only for the neighbourhood of the states it has seen.

    A table knows what it has not seen; a network extrapolates. So the distance to the
    nearest seen state is one more component of its error: away from its data a model
    may be wrong by as much as that, even where it happens to be right. Without it,
    sources that share the same physics in most states (free flight is free flight) are
    told apart by where they were fitted best, not by where their policies know what to
    do. `docs/domains.md` has the measurements.
    """

    def miss(self, error: Float[Array, " d"], obs: Observation) -> Scalar:
        """Both together."""
        return jnp.hypot(jnp.linalg.norm(error), self.distance(obs))


class CoverageAlone(AbstractCovered):
    """Judged by where it has been; what it predicts does not count."""

    def miss(self, error: Float[Array, " d"], obs: Observation) -> Scalar:
        """The distance from what it has seen."""
        del error
        return self.distance(obs)


class CoverageApart(AbstractCovered):
    """Judged by what it predicts; where it has been is left to a prior.

    See `mixture_prior="coverage"` of the settings.
    """

    def miss(self, error: Float[Array, " d"], obs: Observation) -> Scalar:
        """The error of its prediction."""
        del obs
        return jnp.linalg.norm(error)
