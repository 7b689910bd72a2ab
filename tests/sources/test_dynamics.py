"""Models: tables remember what was visited, networks stay within their bounds."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from policymix.core.encoders import Clip, Identity
from policymix.core.kernels import Gaussian
from policymix.core.networks import init_mlp
from policymix.core.types import Box, Discrete, TaskSpec
from policymix.domains.cartpole.task import CartPole
from policymix.sources.dynamics import (
    UNKNOWN,
    BoundedDynamics,
    CoverageAlone,
    CoverageApart,
    CoveredDynamics,
    NetworkDynamics,
    fit_table,
)
from policymix.sources.experts import SourceTask
from policymix.sources.fitting.data import SHARE, Transitions, split
from policymix.sources.fitting.fit import ModelSettings, errors, fit_network
from policymix.sources.library import SourceLibrary


def test_table_knows_visited_pairs_only():
    obs, action = jnp.array([0, 2, 2]), jnp.array([1, 0, 1])
    table = fit_table(obs, action, jnp.array([2, 0, 2]), num_states=3, num_actions=2)
    expected = [[UNKNOWN, 2], [UNKNOWN, UNKNOWN], [0, 2]]
    np.testing.assert_array_equal(table.next_obs, expected)
    assert int(table(jnp.array(0), jnp.array(1))) == 2


def test_table_holds_the_most_frequent_next_state_and_of_equals_the_lowest():
    obs, action = jnp.array([0, 0, 0, 1, 1, 1, 1]), jnp.zeros(7, int)
    next_obs = jnp.array([2, 2, 1, 2, 0, 2, 0])
    table = fit_table(obs, action, next_obs, num_states=3, num_actions=1)
    np.testing.assert_array_equal(table.next_obs[:, 0], [2, 0, UNKNOWN])


def test_network_sees_the_encoded_observation_and_the_action(keys):
    model = NetworkDynamics(init_mlp(keys(), (5, 8, 2)), Clip())
    obs, action = jnp.array([3.0, -0.5]), jnp.array(1)
    np.testing.assert_array_equal(model.inputs(obs, action), [1, -0.5, 0, 1, 0])
    clipped = jnp.array([1.0, -0.5])
    np.testing.assert_array_equal(model(obs, action), model(clipped, action))


def test_network_sees_a_continuous_action_as_it_is(keys):
    model = NetworkDynamics(init_mlp(keys(), (4, 8, 2)), Clip())
    obs, action = jnp.array([3.0, -0.5]), jnp.array([7.0, -0.1])
    np.testing.assert_array_equal(
        model.inputs(obs, action), jnp.array([1, -0.5, 7, -0.1])
    )
    bounded = BoundedDynamics(model, -jnp.ones(2), jnp.ones(2))
    expected = 2 * jax.nn.sigmoid(model(obs, action)) - 1
    np.testing.assert_allclose(bounded(obs, action), expected, rtol=1e-5)


def test_bounded_predictions_stay_within_bounds(keys):
    low, high = jnp.array([-1.0, 0.0]), jnp.array([1.0, 1.0])
    network = NetworkDynamics(init_mlp(keys(), (4, 8, 2)), Identity())
    model = BoundedDynamics(network, low, high)
    obs = 100 * jax.random.normal(keys(), (64, 2))
    predictions = jax.vmap(model)(obs, jnp.zeros(64, int))
    assert np.all((predictions >= low[None]) & (predictions <= high[None]))
    raw = network(obs[0], jnp.array(0))
    tanh, sigmoid = jnp.tanh(raw[0] / 2), jax.nn.sigmoid(raw[1])
    np.testing.assert_allclose(predictions[0], [tanh, sigmoid], rtol=1e-4, atol=1e-6)


def drift(obs, action):
    return obs + 0.1


def likelihood(dynamics, obs, next_obs, normalised=False):
    spec = TaskSpec(Box((-1.0,) * 3, (1.0,) * 3), Discrete(2))
    source = SourceTask("s", lambda obs: 0, dynamics, Gaussian(50.0, normalised))
    library = SourceLibrary([source], spec, Clip())
    return float(library.log_likelihoods(obs, jnp.array(0), next_obs)[0])


@pytest.mark.parametrize("normalised", [False, True])
def test_a_covered_model_is_itself_where_it_has_been(keys, normalised):
    """A density of s' in as many dimensions as s' has."""
    seen = jax.random.uniform(keys(), (40, 3), minval=-1, maxval=1)
    next_obs = seen[0] + jnp.array([0.1, 0.3, 0.1])
    covered, plain = (
        likelihood(model, seen[0], next_obs, normalised)
        for model in (CoveredDynamics(drift, Clip(), seen), drift)
    )
    np.testing.assert_allclose(covered, plain, atol=1e-3)


def test_distance_is_to_the_nearest_seen_state(keys):
    seen = jax.random.uniform(keys(), (40, 3), minval=-1, maxval=1)
    covered = CoveredDynamics(drift, Clip(), seen)
    for obs in jax.random.uniform(keys(), (10, 3), minval=-2, maxval=2):
        gaps = np.asarray(seen) - np.clip(obs, -1, 1)
        nearest = np.min(np.linalg.norm(gaps, axis=1))
        np.testing.assert_allclose(covered.distance(obs), nearest, rtol=1e-3)


def test_models_that_agree_are_told_apart_by_where_they_have_been(keys):
    """Both are exact everywhere; each vouches for its own side."""
    obs = jnp.array([-0.5, 0.0, 0.0])
    offsets = jnp.array([0.1, 0.9])
    found = [
        likelihood(
            CoveredDynamics(drift, Clip(), jnp.array([[-0.5 + offset, 0.0, 0.0]])),
            obs,
            obs + 0.1,
        )
        for offset in offsets
    ]
    np.testing.assert_allclose(found, -50 * offsets**2, rtol=1e-3)


@pytest.mark.parametrize(
    ("kind", "missed"),
    [(CoveredDynamics, 0.5), (CoverageAlone, 0.4), (CoverageApart, 0.3)],
)
def test_error_and_distance_count_together_or_one_of_them(kind, missed):
    """The prediction is wrong by 0.3, the nearest seen state 0.4 away: 0.3² + 0.4²."""
    obs = jnp.zeros(3)
    model = kind(drift, Clip(), jnp.array([[0.0, 0.4, 0.0], [1.0, 1.0, 1.0]]))
    found = likelihood(model, obs, drift(obs, 0) + jnp.array([0.0, 0.0, 0.3]))
    np.testing.assert_allclose(found, -50 * missed**2, rtol=1e-3)


def cart_transitions(samples, seed=0):
    cart, (obs_key, action_key) = CartPole(), jax.random.split(jax.random.key(seed))
    obs = jax.random.uniform(obs_key, (samples, 4), minval=-0.2, maxval=0.2)
    action = jax.random.randint(action_key, (samples,), 0, 4)
    return Transitions(obs, action, jax.vmap(cart.transition)(obs, action))


def test_the_true_dynamics_have_no_error():
    data = cart_transitions(64)
    error, still = errors(CartPole().transition, data, Identity())
    assert error == 0
    assert still > 0


def test_fitting_beats_standing_still_on_unseen_data():
    def assemble(network):
        return NetworkDynamics(network, Identity())

    seen = []
    training, unseen = split(cart_transitions(4000), SHARE, seed=1)
    fit = fit_network(
        assemble,
        (8, 32, 4),
        training,
        Identity(),
        ModelSettings(max_steps=3000, patience=None, batch=64, learning_rate=3e-3),
        seed=1,
        advance=lambda steps, loss: seen.append((steps, loss)),
    )
    error, still = errors(fit.model, unseen, Identity())
    assert error < still / 20
    assert fit.steps == sum(steps for steps, _ in seen) == 3000
    assert seen[-1][1] < seen[0][1]


def test_split_is_a_partition():
    data = cart_transitions(100)
    training, unseen = split(data, held_out=0.2, seed=3)
    assert (len(training.obs), len(unseen.obs)) == (80, 20)
    together = np.concatenate([training.obs, unseen.obs])
    np.testing.assert_array_equal(
        np.unique(together, axis=0), np.unique(np.asarray(data.obs), axis=0)
    )
