"""A source's policy from data alone: do what was done there."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from policymix.core.encoders import Standardise, standardise
from policymix.core.errors import SourceError
from policymix.core.networks import MLP
from policymix.core.progress import bars
from policymix.core.scaling import absorb_units
from policymix.sources.fitting.data import SHARE, Transitions, checked, count, split
from policymix.sources.fitting.fit import ModelSettings, fit_network
from policymix.sources.fitting.gather import gather, is_environment
from policymix.sources.policies import ClippedPolicy, GreedyPolicy, TablePolicy


class FittedPolicy(NamedTuple):
    """A policy, and how well it repeats what it never saw."""

    policy: Any
    agreement: float
    """Share of unseen actions that it would have taken too; for continuous actions
    the share of their variance that it explains."""
    steps: int
    """Updates taken; none for a table."""


class Imitation(eqx.Module):
    """From a network on standardised numbers to a model of what is done."""

    units: Standardise
    action_units: Standardise

    def __call__(self, network: MLP) -> "Imitator":
        """Let the last layer absorb the units of actions."""
        size = self.units.centre.size
        same = jnp.zeros(size), jnp.ones(size)
        spread = (self.action_units.centre, self.action_units.spread)
        return Imitator(absorb_units(network, same, spread), self.units)


class Imitator(eqx.Module):
    """Scores of actions, called as a dynamics model is so that it is fitted as one."""

    network: MLP
    units: Standardise

    def __call__(
        self, obs: Float[Array, " d"], action: Array | None = None
    ) -> Float[Array, " act"]:
        """What is done in a state; the second argument is not looked at."""
        del action
        return self.network(self.units(obs))


def fit_policy(
    data: Any,
    *,
    layers: Sequence[int] = (64, 64),
    num_actions: int | None = None,
    num_states: int | None = None,
    settings: ModelSettings = ModelSettings(),  # noqa: B008, it is frozen
    seed: int = 0,
    progress: bool = True,
) -> FittedPolicy:
    """Learn to do what was done in the data (behaviour cloning).

    The splits and the stopping are those of `fit_dynamics`. Actions that were random
    now and then do no harm, as long as most were not: the likeliest action is taken.

    Args:
        data: as for `fit_dynamics`: transitions or a Minari dataset.
        layers: hidden layers of the network.
        num_actions: how many discrete actions there are.
        num_states: the same of states that are indices.
        settings: see there.
        seed: of the splits, the network and its batches.
        progress: whether to show a bar.
    """
    if is_environment(data):
        raise SourceError(
            "an environment tells nothing of how to act in it. Give transitions of "
            "somebody who knows, or train a policy there"
        )
    gathered = gather(data, None, 0, seed, progress)
    rows = checked(gathered.columns)
    discrete = rows.action.ndim == 1
    if rows.obs.ndim == 1:
        states = count("states", num_states, gathered.num_states, rows.obs)
        actions = count("actions", num_actions, gathered.num_actions, rows.action)
        return _fit_table(rows, states, actions, seed)
    if not discrete:
        return _fit_network(rows, rows.action, layers, settings, seed, progress)
    actions = count("actions", num_actions, gathered.num_actions, rows.action)
    done = jax.nn.one_hot(rows.action, actions)
    return _fit_network(rows, done, layers, settings, seed, progress)


def _fit_network(
    rows: Transitions,
    done: Float[Array, "samples act"],
    layers: Sequence[int],
    settings: ModelSettings,
    seed: int,
    progress: bool,
) -> FittedPolicy:
    discrete, width = rows.action.ndim == 1, done.shape[1]
    data = Transitions(rows.obs, jnp.zeros(len(done), int), jnp.asarray(done))
    rest, unseen = split(data, SHARE, seed)
    alike = Standardise(jnp.zeros(width), jnp.ones(width))
    action_units = alike if discrete else standardise(rest.next_obs)
    assemble = Imitation(standardise(rest.obs), action_units)
    sizes = (rest.obs.shape[1], *layers, width)
    with bars(quiet=not progress) as begin:
        advance = begin("policy", settings.max_steps, "error")
        fit = fit_network(assemble, sizes, rest, action_units, settings, seed, advance)
    policy = _policy(fit.model, done, discrete)
    answers = jax.vmap(policy)(unseen.obs)
    agreement = _share if discrete else _explained
    return FittedPolicy(policy, agreement(answers, unseen.next_obs), fit.steps)


def _policy(imitator: Imitator, done: Array, discrete: bool) -> Callable:
    network, units = imitator.network, imitator.units
    if discrete:
        return GreedyPolicy(network, units)
    low, high = jnp.min(done, axis=0), jnp.max(done, axis=0)
    return ClippedPolicy(network, units, low, high)


def _share(answers: Array, done: Array) -> float:
    return float(jnp.mean(jnp.all(answers == done, axis=1)))


def _explained(answers: Array, done: Array) -> float:
    gaps = jnp.sum(jnp.square(answers - done))
    return float(
        1 - gaps / jnp.sum(jnp.square(done - jnp.mean(done, axis=0, keepdims=True)))
    )


def _fit_table(
    rows: Transitions, num_states: int, num_actions: int, seed: int
) -> FittedPolicy:
    """The most frequent action of each state; none is preferred in unseen ones."""
    training, unseen = split(rows, SHARE, seed)
    counts = np.zeros((num_states, num_actions))
    np.add.at(counts, (np.asarray(training.obs), np.asarray(training.action)), 1)
    seen = counts.sum(axis=1, keepdims=True) > 0
    likeliest = np.eye(num_actions)[np.argmax(counts, axis=1)]
    table = np.where(seen, likeliest, 1.0 / num_actions)
    same = table[unseen.obs, unseen.action] == 1.0
    policy = TablePolicy(jnp.asarray(table, jnp.float32))
    return FittedPolicy(policy, float(np.mean(same)), 0)
