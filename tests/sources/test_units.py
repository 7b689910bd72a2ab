"""Units do not matter: every component counts by its spread in source data."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from policymix.beliefs.belief import learn_belief
from policymix.core.encoders import Identity, Standardise, standardise
from policymix.core.kernels import Gaussian
from policymix.core.networks import init_mlp
from policymix.core.types import Box, Discrete, TaskSpec
from policymix.sources.dynamics import LogDensity, NetworkDynamics
from policymix.sources.experts import SourceTask
from policymix.sources.library import SourceLibrary
from policymix.sources.prepare import prepare_sources
from policymix.sources.units import REACH, pool

from support.own_probes import task
from support.own_probes import unoptimised as unoptimised

pytestmark = pytest.mark.usefixtures("unoptimised")

PLANE = TaskSpec(Box((-np.inf,) * 2, (np.inf,) * 2), Discrete(2))
UNITS = np.array([1e-3, 1e4], np.float32)


def starts(keys, rows=64) -> jax.Array:
    anywhere = jax.random.uniform(keys(), (rows, 2), minval=-1, maxval=1)
    return jnp.asarray(UNITS)[None] * anywhere


def anything(obs):
    return jnp.array(0)


def drifting(by):
    """The tiny component drifts; of the large one every source is a little wrong."""

    def dynamics(obs, action):
        drift = np.array([by, 3e-3], np.float32) * UNITS
        return jnp.clip(0.9 * obs + drift, -2 * UNITS, 2 * UNITS)

    return dynamics


def library(*dynamics, encoder=None, kernel=None):
    sources = [
        SourceTask(f"{i}", anything, model, kernel or Gaussian())
        for i, model in enumerate(dynamics)
    ]
    return SourceLibrary(sources, encoder=encoder)


def spread_of(given):
    assert isinstance(given.encoder, Standardise)
    return np.asarray(given.encoder.spread)


def test_encoded_components_have_a_spread_of_about_one(keys):
    probes = starts(keys)
    ready = prepare_sources(library(drifting(0.2), drifting(-0.2)), PLANE, probes)
    ratio = spread_of(ready) / UNITS
    assert np.all((ratio > 0.1) & (ratio < 3.0)), ratio
    encoded = jax.vmap(ready.experts.encoder)(probes)
    assert np.all((np.std(encoded, axis=0) > 0.3) & (np.std(encoded, axis=0) < 3.0))


def test_a_tiny_component_can_tell_sources_apart(keys):
    """Left of zero source 0 is right, right of it source 1: by the drift alone."""
    obs = starts(keys, 1_000)
    left = (obs[:, 1] < 0)[:, None]
    up, down = (0.9 * obs + (np.array([by, 0.0]) * UNITS)[None] for by in (0.2, -0.2))
    after = np.asarray(jnp.where(left, up, down))
    steps = np.asarray(obs), np.zeros(1_000, int), after
    shares = []
    for encoder in (None, Identity()):
        given = library(
            drifting(0.2), drifting(-0.2), encoder=encoder, kernel=Gaussian(500.0)
        )
        ready = prepare_sources(given, PLANE, obs[:64])
        belief = learn_belief(ready, steps, updates=500)
        probes = UNITS * np.array([[0.3, -0.5], [-0.3, -0.8], [0.3, 0.5], [0.0, 0.8]])
        weights = belief.weights_of(probes)
        shares.append(weights[np.arange(4), [0, 0, 1, 1]])
    scaled, raw = shares
    assert np.all(scaled > 0.9)
    assert np.mean(raw) < 0.7


def fitted(data):
    network = init_mlp(jax.random.key(0), (4, 8, 2))
    return NetworkDynamics(network, standardise(jnp.asarray(data)))


@pytest.mark.parametrize("centre", [0.0, 1e4])
def test_pooled_units_are_the_spread_of_the_pooled_data(centre):
    rng = np.random.default_rng(0)
    data = [
        (centre + rng.normal(mean, spread, (4_000, 2))).astype(np.float32)
        for mean, spread in ((0.0, 1.5), (3.0, 0.3), (-2.0, 4.0))
    ]
    pooled = pool([standardise(jnp.asarray(rows)) for rows in data])
    together = np.concatenate(data).astype(float)
    np.testing.assert_allclose(pooled.spread, together.std(axis=0), rtol=1e-3)
    np.testing.assert_allclose(pooled.centre, together.mean(axis=0), atol=1e-2)


def test_what_varies_in_one_set_of_data_only_has_its_own_unit():
    rng = np.random.default_rng(0)
    still, moving = np.zeros((500, 3)), rng.normal(0, 1e-3, (500, 3))
    still[:, 0], moving[:, 2] = rng.normal(size=500), 0.0
    data = [rows.astype(np.float32) for rows in (still, moving)]
    pooled = pool([standardise(jnp.asarray(rows)) for rows in data])
    expected = np.concatenate(data).std(axis=0)
    np.testing.assert_allclose(pooled.spread[:2], expected[:2], rtol=1e-2)
    assert pooled.spread[2] == 1.0


def test_fitted_models_tell_their_units(keys):
    rng = np.random.default_rng(0)
    data = [rng.normal(0, s * UNITS, (900, 2)).astype(np.float32) for s in (1.0, 2.0)]
    ready = prepare_sources(
        library(*map(fitted, data), drifting(9.0)), PLANE, starts(keys)
    )
    together = np.concatenate(data).std(axis=0)
    np.testing.assert_allclose(spread_of(ready), together, rtol=1e-3)


@pytest.mark.parametrize("factor", [3.0, 1e10])
def test_what_diverges_is_not_believed(keys, factor):
    probes = starts(keys)
    wild = prepare_sources(library(lambda obs, a: factor * obs), PLANE, probes)
    ratio = spread_of(wild) / np.std(probes, axis=0)
    assert np.all((ratio > 0.5) & (ratio < REACH)), ratio


def test_a_source_need_not_stand_its_own_imagination():
    def careful(obs):
        if abs(obs[0]) > 5:
            raise KeyError("never seen")
        return 1

    given = task(careful, lambda obs, action: [2 * obs[0], 1.0])
    assert 0.3 < float(spread_of(given.sources)[0]) < 50


def test_a_constant_component_keeps_its_unit():
    spread = spread_of(task().sources)
    assert spread[1] == 1.0
    assert 0.3 < spread[0] < 10


def test_bounds_hold_what_is_imagined(keys):
    bounded = TaskSpec(Box((-1.0, -np.inf), (1.0, np.inf)), Discrete(2))
    probes = jax.random.uniform(keys(), (64, 2), minval=-0.1, maxval=0.1)
    ready = prepare_sources(library(lambda obs, a: obs + 0.05), bounded, probes)
    spread = spread_of(ready)
    assert 0.1 < spread[0] < 0.5 < spread[1] + 0.2


def test_densities_leave_the_units_of_the_target(keys):
    probes = starts(keys)
    density = LogDensity(lambda obs, action, next_obs: jnp.sum(0.0 * next_obs))
    ready = prepare_sources(library(density), PLANE, probes)
    np.testing.assert_allclose(spread_of(ready), np.std(probes, axis=0), rtol=0.05)
