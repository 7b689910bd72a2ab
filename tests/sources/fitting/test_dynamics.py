"""Dynamics learned from rows: true to unseen ones, in any units."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np

import policymix as pm
from policymix.core.networks import init_mlp
from policymix.sources.fitting.data import Transitions, split

from support.turning import (
    PUSHES,
    SETTINGS,
    TURN,
    fit,
    turning,
)


def predict(model, data):
    action = jnp.asarray(data.action)
    obs = jnp.asarray(data.obs, float)
    return np.asarray(jax.vmap(model)(obs, action), np.float64)


def test_a_linear_system_is_learned(turned):
    assert turned.error < 1e-3 < turned.still / 500
    assert turned.steps == SETTINGS.max_steps
    np.testing.assert_allclose(
        turned.model(jnp.array([0.5, -1.0]), jnp.array(1)),
        TURN @ [0.5, -1.0] + PUSHES[1],
        atol=0.1,
    )


def test_the_model_carries_the_spread_of_its_data(turned):
    encoder, data = turned.model.encoder, turning()
    np.testing.assert_allclose(encoder.centre, data.obs.mean(axis=0), atol=0.1)
    np.testing.assert_allclose(encoder.spread, data.obs.std(axis=0), rtol=0.05)


def test_units_do_not_matter(turned):
    scales = np.array([1e-9, 1e4])
    scaled = fit(turning(scales))
    assert scaled.error < 1e-3
    np.testing.assert_allclose(scaled.still, turned.still, rtol=1e-3)
    assert np.all(scaled.components < 0.03 * turning(scales).obs.std(axis=0))
    np.testing.assert_allclose(scaled.model.encoder.spread[1] / scales[1], 2, atol=1)


def test_the_error_is_that_of_unseen_rows(turned):
    data = turning()
    _, unseen = split(Transitions(*map(jnp.asarray, data)), 0.1, seed=0)
    spread = np.asarray(turned.model.encoder.spread, np.float64)
    gaps = predict(turned.model, unseen) - np.asarray(unseen.next_obs)
    moves = np.asarray(unseen.obs - unseen.next_obs)
    assert len(gaps) == len(data.obs) // 10
    for found, expected in (
        (turned.error, np.square(gaps / spread).sum(axis=1).mean()),
        (turned.still, np.square(moves / spread).sum(axis=1).mean()),
        (turned.components, np.sqrt(np.square(gaps).mean(axis=0))),
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-3)


def test_nothing_of_unseen_rows_is_learned(turned):
    """Nor do they stop the training, which on the others improves at every check."""
    data = turning()
    index = jnp.arange(len(data.obs))
    _, unseen = split(Transitions(index, index, index), 0.1, seed=0)  # pyright: ignore[reportArgumentType]
    garbled = data.next_obs.copy()
    garbled[unseen.obs] += 100.0
    impatient = replace(SETTINGS, patience=1)
    other = fit(data._replace(next_obs=garbled), settings=impatient)
    assert jax.tree.all(jax.tree.map(np.array_equal, turned.model, other.model))
    assert other.error > 1_000 * turned.error


def test_continuous_actions_of_any_size():
    data, rng = turning(), np.random.default_rng(1)
    action = rng.uniform(-50, 50, (len(data.obs), 2))
    next_obs = data.obs @ TURN.T + action / 10
    found = fit((data.obs, action, next_obs))
    assert found.error < found.still / 300
    assert found.model.network.sizes == (4, 32, 2)


def test_mappings_and_other_arrays_give_the_same(turned):
    columns = dict(zip(("obs", "action", "next_obs"), turning(), strict=True))
    other = fit({name: jnp.asarray(column) for name, column in columns.items()})
    assert other.error == turned.error


def test_seeds_repeat_and_differ(turned):
    assert fit(turning(), seed=1).error != turned.error == fit(turning()).error


def test_models_survive_saving(turned, keys, tmp_path):
    policy = pm.policies.GreedyPolicy(
        init_mlp(keys(), (2, 4, 3)), pm.encoders.Identity()
    )
    source = pm.SourceTask("turning", policy, turned.model)
    spec = pm.TaskSpec(pm.Box((-5.0,) * 2, (5.0,) * 2), pm.Discrete(3))
    pm.SourceLibrary([source], spec, turned.model.encoder).save(tmp_path / "library")
    loaded = pm.SourceLibrary.load(tmp_path / "library")
    found = predict(loaded.sources[0].dynamics, turning())
    np.testing.assert_array_equal(found, predict(turned.model, turning()))
    assert jax.tree.all(
        jax.tree.map(np.array_equal, loaded.encoder, turned.model.encoder)
    )
