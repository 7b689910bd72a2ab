"""Encoders: units, bounds, and cells that are no cells."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from policymix.core.encoders import Clip, Identity, OneHot, OneHotGrid, standardise


def test_identity_and_clip():
    obs = jnp.array([-3.0, 0.25, 1.5])
    np.testing.assert_array_equal(Identity()(obs), obs)
    np.testing.assert_array_equal(Clip()(obs), [-1.0, 0.25, 1.0])


def test_standardised_components_have_unit_spread(keys):
    units = jnp.array([[1e-3, 1.0, 1e4]])
    observations = 5.0 + units * jax.random.normal(keys(), (4000, 3))
    encoded = jax.vmap(standardise(observations))(observations)
    np.testing.assert_allclose(encoded.mean(axis=0), 0, atol=1e-2)
    np.testing.assert_allclose(encoded.std(axis=0), 1, rtol=1e-2)


def test_a_constant_component_keeps_its_unit():
    observations = jnp.stack([jnp.linspace(0, 1, 50), jnp.full(50, 7.0)], axis=1)
    encoder = standardise(observations)
    np.testing.assert_allclose(encoder.spread[1], 1.0)


@pytest.mark.parametrize("unit", [1e-15, 1e-9, 1e-3, 1e9])
def test_no_unit_is_too_small_or_too_large(keys, unit):
    """Charges in coulombs, say; and constants are constant in any unit."""
    varying = 3.0 + jax.random.normal(keys(), (4000, 1))
    observations = jnp.hstack([varying, jnp.full_like(varying, 0.1), 0.0 * varying])
    scaled = unit * observations
    found, expected = standardise(scaled), standardise(observations)
    np.testing.assert_array_equal(found.spread[1:], 1)
    np.testing.assert_allclose(
        jax.vmap(found)(scaled)[:, 0],
        jax.vmap(expected)(observations)[:, 0],
        atol=1e-4,
    )


def test_grid_cells_are_one_hot_row_and_column():
    encoder = OneHotGrid(29, 29)
    cells = jax.vmap(encoder)(jnp.arange(29 * 29))
    assert cells.shape == (841, 58)
    assert len(np.unique(cells, axis=0)) == 841
    np.testing.assert_array_equal(cells.sum(axis=1), 2)
    row, column = np.flatnonzero(encoder(jnp.array(3 * 29 + 5)))
    assert (row, column) == (3, 29 + 5)


def test_an_unknown_cell_equals_no_cell():
    assert not np.any(OneHotGrid(4, 6)(jnp.array(-1)))
    assert not np.any(OneHot(5)(jnp.array(-1)))
