"""How large is each component of an observation? Source data tell.

Kernels compare predictions component by component, so metres and milliradians must be
brought to like units first. The target's samples are dear: the spread comes from the
data that models were fitted to, or else from what the sources imagine.
"""

from collections.abc import Sequence
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from policymix.dynamics import LogDensity, NetworkDynamics
from policymix.encoders import AbstractEncoder, OneHot, Standardise, standardise
from policymix.experts import Experts, SourceTask
from policymix.foreign import some_actions
from policymix.sources import SourceLibrary
from policymix.types import Discrete, Observation, Space, TaskSpec

DEPTH = 32
"""Steps that a source imagines from each start."""
CHANCE = 0.3
"""Share of random actions among them."""
TAIL = 0.01
"""Share of the lowest and of the highest values that do not count."""


def prepare(sources: SourceLibrary, spec: TaskSpec, probes: Array) -> SourceLibrary:
    """Sources tried on a target, its observations brought to like units.

    Args:
        sources: as the user has them.
        spec: spaces of the target.
        probes: some of its observations.
    """
    library = sources.for_target(spec, probes)
    if library.encoder is not None:
        return library
    scale = measure_scale(library.sources, library.experts, probes)
    return replace(library, encoder=scale)


def measure_scale(
    sources: Sequence[SourceTask], experts: Experts, starts: Array
) -> AbstractEncoder:
    """Units of the source data's spread; one-hot vectors where states are numbered.

    Args:
        sources: of a library.
        experts: the same, for compiled code.
        starts: observations of the target to imagine from.
    """
    space = experts.spec.observation
    if isinstance(space, Discrete):
        return OneHot(space.n)
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
        if not isinstance(source.dynamics, LogDensity):
            imagined += imagine(source, experts, starts)
    rows = np.concatenate(imagined)
    rows = rows[np.all(np.isfinite(rows), axis=1)]
    low, high = np.quantile(rows, [TAIL, 1 - TAIL], axis=0)
    return standardise(jnp.asarray(np.clip(rows, low, high), jnp.float32))


def pool(units: Sequence[Standardise]) -> Standardise:
    """The spread of several sets of data together, each of the same weight."""
    centres = jnp.stack([unit.centre for unit in units])
    squares = jnp.stack([unit.spread**2 + unit.centre**2 for unit in units])
    centre = jnp.mean(centres, axis=0)
    return Standardise(centre, jnp.sqrt(jnp.mean(squares, axis=0) - centre**2))


def imagine(source: SourceTask, experts: Experts, starts: Array) -> list[np.ndarray]:
    """Where a source's policy leads by its own dynamics, with some random actions."""
    spec, rng = experts.spec, np.random.default_rng(0)

    def step(obs: Observation, anything: Array, explores: Array) -> Observation:
        advice = experts.advice_of(source.policy, obs)
        action = jnp.argmax(advice) if isinstance(spec.action, Discrete) else advice
        return source.dynamics(obs, jnp.where(explores, anything, action))

    advance, rows, seen = jax.jit(jax.vmap(step)), starts, []
    random_actions = some_actions(spec.action, DEPTH * len(starts))
    for anything in np.split(random_actions, DEPTH):
        rows = advance(rows, anything, rng.random(len(starts)) < CHANCE)
        rows = jnp.clip(rows, *_bounds(spec.observation))
        seen.append(np.asarray(rows))
    return seen


def _bounds(space: Space) -> tuple[Array, Array]:
    assert not isinstance(space, Discrete)
    return jnp.array(space.low), jnp.array(space.high)
