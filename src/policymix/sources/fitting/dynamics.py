"""A source's dynamics from transitions, a recorded dataset or an environment."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from policymix.core.encoders import Standardise, standardise
from policymix.core.networks import MLP
from policymix.core.progress import bars
from policymix.core.scaling import absorb_units
from policymix.sources.dynamics import NetworkDynamics, fit_table
from policymix.sources.fitting.data import SHARE, Transitions, checked, count, split
from policymix.sources.fitting.fit import ModelSettings, errors, fit_network
from policymix.sources.fitting.gather import gather


class FittedDynamics(NamedTuple):
    """A model, and how wrong it is on transitions that its training never saw."""

    model: Any
    """(obs, action) -> next_obs, in raw units; it is a `NetworkDynamics`, whose encoder
    holds the spread of its data, or a `TableDynamics`."""
    error: float
    """Mean squared error, summed over components, in units of the data's spread; for
    a table the share of wrong predictions."""
    still: float
    """The error of predicting that nothing changes."""
    components: np.ndarray
    """Root-mean-square error of each component in its own unit; for a table the share
    of wrong predictions."""
    steps: int
    """Updates taken; none for a table."""


def fit_dynamics(
    data: Any,
    *,
    policy: Callable[[Any], Any] | None = None,
    samples: int = 20_000,
    layers: Sequence[int] = (64, 64),
    num_actions: int | None = None,
    num_states: int | None = None,
    settings: ModelSettings = ModelSettings(),  # noqa: B008, it is frozen
    seed: int = 0,
    progress: bool = True,
) -> FittedDynamics:
    """Learn what happens in a task: a network, or a table where states are indices.

    Eight in ten transitions train the network, one in ten says when to stop, and one in
    ten measures the error. A table has nothing to stop and learns from nine in ten.

    Args:
        data: transitions, as a tuple (obs, action, next_obs), an object with those
            fields or a mapping with those keys, one row each; a Minari dataset; or a
            Gymnasium environment, its id or a function that makes it. Observations
            are rows of numbers or states' indices, actions integers or rows of floats.
        policy: for environments, from one observation to an action or to action
            probabilities; three actions in ten are random all the same. Without a
            policy all are.
        samples: steps to take in an environment.
        layers: hidden layers of the network.
        num_actions: how many discrete actions there are; by default what the
            environment or dataset says, or the largest in the data plus one.
        num_states: the same of states that are indices.
        settings: see there.
        seed: of the rollouts, the splits, the network and its batches.
        progress: whether to show bars.
    """
    gathered = gather(data, policy, samples, seed, progress)
    rows = checked(gathered.columns)
    actions = 0
    if rows.action.ndim == 1:
        known = gathered.num_actions
        actions = count("actions", num_actions, known, rows.action)
    if rows.obs.ndim == 2:
        return _fit_network(rows, actions, layers, settings, seed, progress)
    known = gathered.num_states
    states = count("states", num_states, known, rows.obs, rows.next_obs)
    return _fit_table(rows, states, actions, seed)


class Assembly(eqx.Module):
    """From a network on standardised numbers to a model on raw ones."""

    units: Standardise
    action_units: Standardise

    def __call__(self, network: MLP) -> NetworkDynamics:
        """Let the layers absorb the units of actions and predictions."""
        size = self.units.centre.size
        inputs = (
            jnp.append(jnp.zeros(size), self.action_units.centre),
            jnp.append(jnp.ones(size), self.action_units.spread),
        )
        raw = absorb_units(network, inputs, (self.units.centre, self.units.spread))
        return NetworkDynamics(raw, self.units)


def _fit_network(
    data: Transitions,
    num_actions: int,
    layers: Sequence[int],
    settings: ModelSettings,
    seed: int,
    progress: bool,
) -> FittedDynamics:
    rest, unseen = split(data, SHARE, seed)
    units = standardise(rest.obs)
    if num_actions:
        action_units = Standardise(jnp.zeros(num_actions), jnp.ones(num_actions))
    else:
        action_units = standardise(rest.action)
    assemble = Assembly(units, action_units)
    size = units.centre.size
    sizes = (size + action_units.centre.size, *layers, size)
    with bars(quiet=not progress) as begin:
        advance = begin("dynamics", settings.max_steps, "error")
        model, steps = fit_network(
            assemble, sizes, rest, units, settings, seed, advance
        )
    error, still = errors(model, unseen, units)
    gaps = jax.vmap(model)(unseen.obs, unseen.action) - unseen.next_obs
    components = np.sqrt(np.mean(np.square(gaps), axis=0))
    return FittedDynamics(model, error, still, components, steps)


def _fit_table(
    data: Transitions, num_states: int, num_actions: int, seed: int
) -> FittedDynamics:
    training, unseen = split(data, SHARE, seed)
    model = fit_table(*training, num_states, num_actions)
    predicted = jax.vmap(model)(unseen.obs, unseen.action)
    wrong = float(np.mean(predicted != unseen.next_obs))
    moved = float(np.mean(unseen.obs != unseen.next_obs))
    return FittedDynamics(model, wrong, moved, np.array([wrong]), steps=0)
