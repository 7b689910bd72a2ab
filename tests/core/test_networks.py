"""Networks are the composition they say they are."""

import jax
import jax.numpy as jnp
import numpy as np

from policymix.core.networks import init_mlp
from policymix.core.scaling import absorb_units


def test_forward_pass_equals_numpy(keys):
    network = init_mlp(keys(), (3, 5, 4, 2))
    x = jax.random.normal(keys(), (3,))
    hidden = np.asarray(x)
    for weight, bias in zip(network.weights[:-1], network.biases[:-1], strict=True):
        hidden = np.maximum(np.asarray(weight) @ hidden + np.asarray(bias), 0)
    expected = np.asarray(network.weights[-1]) @ hidden + np.asarray(network.biases[-1])
    np.testing.assert_allclose(network(x), expected, rtol=1e-5)
    assert network.sizes == (3, 5, 4, 2)


def test_initial_weights_are_glorot_uniform(keys):
    network = init_mlp(keys(), (200, 300, 1))
    weight = np.asarray(network.weights[0])
    limit = np.sqrt(6 / 500)
    assert np.abs(weight).max() <= limit
    np.testing.assert_allclose(weight.std(), limit / np.sqrt(3), rtol=0.02)
    assert not np.any(network.biases[0])


def test_layers_differ(keys):
    network = init_mlp(keys(), (4, 4, 4))
    assert not np.allclose(network.weights[0], network.weights[1])


def test_absorbed_scaling_changes_nothing(keys):
    network = init_mlp(keys(), (3, 8, 2))
    inputs = jnp.array([1.0, -2.0, 0.5]), jnp.array([2.0, 0.1, 30.0])
    outputs = jnp.array([5.0, -1.0]), jnp.array([0.2, 7.0])
    x = jax.random.normal(keys(), (3,))
    expected = outputs[0] + outputs[1] * network((x - inputs[0]) / inputs[1])
    np.testing.assert_allclose(
        absorb_units(network, inputs, outputs)(x), expected, rtol=1e-4
    )
