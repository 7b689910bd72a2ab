"""How large is each component of an observation? Source data tell.

Kernels compare predictions component by component, so metres and milliradians must be
brought to like units first. The target's samples are dear: the spread comes from the
data that models were fitted to, or else from what the sources imagine.
"""

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from policymix.core.encoders import Standardise, standardise
from policymix.core.types import Discrete, Observation, Space
from policymix.sources.adapt import some_actions
from policymix.sources.dynamics import LogDensity, NetworkDynamics
from policymix.sources.experts import Experts, SourceTask
from policymix.sources.foreign import is_foreign

DEPTH = 32
"""Steps that a source imagines from each start."""
CHANCE = 0.3
"""Share of random actions among them."""
REACH = 100.0
"""Spreads of the starts beyond which what is imagined counts as diverged."""
FAR = 1e9
"""The same for a component that is constant near the start."""
TAIL = 0.01
"""Share of the lowest and of the highest values that do not count."""


def measure_scale(
    sources: Sequence[SourceTask], experts: Experts, starts: Array
) -> Standardise:
    """Units of the source data's spread.

    Args:
        sources: of a library.
        experts: the same, for compiled code; observations are vectors.
        starts: observations of the target to imagine from.
    """
    units = [
        source.dynamics.encoder
        for source in sources
        if isinstance(source.dynamics, NetworkDynamics)
        and isinstance(source.dynamics.encoder, Standardise)
    ]
    if units:
        return pool(units)
    imagined = [np.asarray(starts)]
    for source in sources:
        if not isinstance(source.dynamics, LogDensity) and not is_foreign(
            source.dynamics
        ):
            imagined += imagine(source, experts, starts)
    rows = np.concatenate(imagined)
    low, high = np.quantile(rows, [TAIL, 1 - TAIL], axis=0)
    return standardise(jnp.asarray(np.clip(rows, low, high), jnp.float32))


def pool(units: Sequence[Standardise]) -> Standardise:
    """The spread of several sets of data together, each of the same weight.

    A component that never varied in one of them has the spread 1 there, as if it had
    been left in its unit; it counts as 0 if it varied in another.
    """
    centres = jnp.stack([unit.centre for unit in units])
    spreads = jnp.stack([unit.spread for unit in units])
    constant = (spreads == 1.0) & jnp.any(spreads != 1.0, axis=0, keepdims=True)
    within = jnp.mean(jnp.where(constant, 0.0, spreads**2), axis=0)
    between = jnp.var(centres, axis=0)
    return Standardise(jnp.mean(centres, axis=0), jnp.sqrt(within + between))


@eqx.filter_jit
def _step(
    policy: Any,
    dynamics: Any,
    experts: Experts,
    rows: Array,
    anything: Array,
    explores: Array,
) -> Array:
    """Where a source's policy or some other action leads, by its own dynamics."""

    def one(obs: Observation, anything: Array, explores: Array) -> Observation:
        advice = experts.advice_of(policy, obs)
        finite = isinstance(experts.spec.action, Discrete)
        action = jnp.argmax(advice) if finite else advice
        return dynamics(obs, jnp.where(explores, anything, action))

    return jax.vmap(one)(rows, anything, explores)


def imagine(source: SourceTask, experts: Experts, starts: Array) -> list[np.ndarray]:
    """Where a source's policy leads by its own dynamics, with some random actions."""
    spec, rng = experts.spec, np.random.default_rng(0)
    parts, rows, seen = (source.policy, source.dynamics), starts, []
    random_actions = some_actions(spec.action, DEPTH * len(starts))
    centre, reach = _surroundings(np.asarray(starts))
    for anything in np.split(random_actions, DEPTH):
        try:
            explores = rng.random(len(starts)) < CHANCE
            chances = map(jnp.asarray, (rows, anything, explores))
            rows = _step(*parts, experts, *chances)
            rows = np.clip(np.asarray(rows), *_bounds(spec.observation))
        except Exception:  # what is imagined need not be what a source can deal with
            break
        near = np.all(np.abs(rows - centre) <= reach, axis=1, keepdims=True)
        rows = np.where(near, rows, starts)
        seen.append(rows)
    return seen


def _surroundings(starts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where the target starts, and how far from there imagination is believed."""
    spread = np.std(starts, axis=0)
    reach = np.where(spread > 0, REACH * spread, FAR)
    return np.mean(starts, axis=0), reach


def _bounds(space: Space) -> tuple[np.ndarray, np.ndarray]:
    assert not isinstance(space, Discrete)
    return np.array(space.low, np.float32), np.array(space.high, np.float32)
