"""Beliefs: the paper's gradient, safe numbers, and sources told apart."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from policymix.beliefs.mixture import Evidence, entropy, log_evidence, log_posterior
from policymix.beliefs.network import (
    GaussianPrior,
    LaplacePrior,
    NetworkMixture,
    UniformPrior,
)
from policymix.beliefs.precisions import LearnedPrecision, temper
from policymix.core.encoders import Identity
from policymix.core.kernels import Gaussian
from policymix.core.networks import OptimiserState

logits_and_likelihoods = st.integers(1, 6).flatmap(
    lambda n: st.tuples(
        st.lists(st.floats(-8, 8, width=32), min_size=n, max_size=n),
        st.lists(st.floats(-1e3, 10, width=32), min_size=n, max_size=n),
    )
)
update = jax.jit(lambda mixture, state, evidence: mixture.update(state, evidence))


def as_evidence(obs, log_likelihoods):
    action = jnp.zeros(len(obs), int)
    return Evidence(obs, action, obs, log_likelihoods)


@given(logits_and_likelihoods)
def test_gradient_is_prior_minus_posterior(case):
    """Equation (4), in double precision as promised: 1e-5 relative."""
    with jax.enable_x64(True):
        logits, log_lik = (jnp.asarray(part, jnp.float64) for part in case)
        gradient = jax.grad(lambda z: -log_evidence(z, log_lik))(logits)
        expected = jax.nn.softmax(logits) - jnp.exp(log_posterior(logits, log_lik))
        np.testing.assert_allclose(gradient, expected, rtol=1e-5, atol=1e-12)


def test_gradient_of_the_network_is_the_papers(keys):
    """The whole of equation (4): Σᵢ (aᵢ − pᵢ) ∇z_i."""
    with jax.enable_x64(True):
        mixture = NetworkMixture(Identity(), num_sources=3, num_inputs=2)
        state = mixture.init(keys())
        obs, log_lik = jnp.array([0.3, -0.8]), jnp.array([-3.0, -1.0, -7.0])
        evidence = Evidence(obs, jnp.array(0), obs, log_lik)
        ours = jax.grad(mixture.loss)(state.parameters, evidence).network
        jacobian = jax.jacobian(lambda network: network(obs))(state.parameters.network)
        difference = mixture.weights(state, obs) - mixture.posterior(
            state, obs, log_lik
        )
        paper = jax.tree.map(lambda z: jnp.tensordot(difference, z, axes=1), jacobian)
        for a, b in zip(jax.tree.leaves(ours), jax.tree.leaves(paper), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-14)


@given(logits_and_likelihoods)
def test_posterior_is_bayes_rule(case):
    logits, log_lik = (np.asarray(part, np.float64) for part in case)
    joint = np.exp(logits + log_lik - np.max(logits + log_lik))
    actual = jnp.exp(log_posterior(jnp.asarray(case[0]), jnp.asarray(case[1])))
    np.testing.assert_allclose(actual, joint / joint.sum(), atol=1e-4)


@given(st.floats(-1e3, 10))
def test_equal_likelihoods_leave_the_prior_unchanged(likelihood):
    logits = jnp.array([0.3, -1.0, 2.0])
    posterior = jnp.exp(log_posterior(logits, jnp.full(3, likelihood, float)))
    np.testing.assert_allclose(posterior, jax.nn.softmax(logits), rtol=1e-3)


@given(st.sampled_from([1, 3, 12]), st.integers(0, 2**31 - 1))
def test_weights_are_a_distribution(num_sources, seed):
    init_key, obs_key = jax.random.split(jax.random.key(seed))
    mixture = NetworkMixture(Identity(), num_sources, num_inputs=4)
    state = mixture.init(init_key)
    obs = 100 * jax.random.normal(obs_key, (16, 4))
    weights = jax.vmap(mixture.weights, in_axes=(None, 0))(state, obs)
    assert np.all(weights >= 0)
    np.testing.assert_allclose(weights.sum(axis=1), 1, atol=1e-6)


@given(st.permutations(range(4)))
def test_permuting_the_sources_permutes_the_weights(order):
    order = np.array(order)
    mixture = NetworkMixture(Identity(), num_sources=4, num_inputs=2)
    state = mixture.init(jax.random.key(7))
    network = state.parameters.network
    permuted_network = type(network)(
        (*network.weights[:-1], network.weights[-1][order]),
        (*network.biases[:-1], network.biases[-1][order]),
    )
    parameters = state.parameters._replace(network=permuted_network)
    permuted = OptimiserState(parameters, jax.tree.map(jnp.zeros_like, state.memory))
    obs = jax.random.normal(jax.random.key(8), (32, 2))
    log_lik = jax.random.normal(jax.random.key(9), (32, 4)) * 5
    for _ in range(3):
        state, _ = update(mixture, state, as_evidence(obs, log_lik))
        permuted, _ = update(mixture, permuted, as_evidence(obs, log_lik[:, order]))
    weights = jax.vmap(mixture.weights, in_axes=(None, 0))
    np.testing.assert_allclose(
        weights(state, obs)[:, order], weights(permuted, obs), atol=1e-5
    )


@pytest.mark.parametrize(
    "log_likelihoods",
    [[-1e6, -1e6 + 3, -1e6], [-1e6, -3.0, -1e5], [np.log(1e-3)] * 3, [-1e30, 0.0, 0.0]],
)
def test_loss_and_gradient_are_finite_when_likelihoods_vanish(log_likelihoods, keys):
    mixture = NetworkMixture(Identity(), num_sources=3, num_inputs=2)
    state = mixture.init(keys())
    evidence = as_evidence(jnp.ones((1, 2)), jnp.array([log_likelihoods]))
    loss, gradient = jax.value_and_grad(mixture.batch_loss)(state.parameters, evidence)
    assert np.isfinite(loss)
    assert all(np.all(np.isfinite(leaf)) for leaf in jax.tree.leaves(gradient))


def two_half_planes(key, samples=512):
    """Source 0 is exact left of zero, source 1 right of it; Gaussian kernels."""
    obs = jax.random.uniform(key, (samples, 2), minval=-1, maxval=1)
    wrong = jnp.stack([obs[:, 0] > 0, obs[:, 0] < 0], axis=1)
    return as_evidence(obs, jnp.where(wrong, -1e4, 0.0))


def fit(mixture, evidence, key, updates):
    init_key, batch_key = jax.random.split(key)

    def step(state, key):
        rows = jax.random.randint(key, (32,), 0, len(evidence.obs))
        return mixture.update(state, jax.tree.map(lambda x: x[rows], evidence))

    state = mixture.init(init_key)
    keys = jax.random.split(batch_key, updates)
    return jax.jit(lambda: jax.lax.scan(step, state, keys))()


def test_half_planes_are_told_apart(keys):
    mixture = NetworkMixture(Identity(), 2, 2, epochs=3)
    state, metrics = fit(mixture, two_half_planes(keys()), keys(), updates=300)
    probes = jnp.array([[-0.5, 0.3], [-0.2, -0.9], [0.2, 0.0], [0.9, 0.9]])
    weights = jax.vmap(mixture.weights, in_axes=(None, 0))(state, probes)
    assert np.all(weights[:2, 0] > 0.9)
    assert np.all(weights[2:, 1] > 0.9)
    assert metrics.log_evidence[-1] > metrics.log_evidence[0]
    assert metrics.entropy[-1] < metrics.entropy[0]


def test_more_epochs_are_more_steps_on_the_same_batch(keys):
    evidence = two_half_planes(keys(), samples=32)
    once = NetworkMixture(Identity(), 2, 2, epochs=1)
    thrice = NetworkMixture(Identity(), 2, 2, epochs=3)
    state = once.init(keys())
    expected = state
    for _ in range(3):
        expected, _ = once.update(expected, evidence)
    actual, _ = thrice.update(state, evidence)
    for a, b in zip(jax.tree.leaves(actual), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-7)


def test_priors_penalise_what_they_say():
    parameters = {"w": jnp.array([[3.0, -4.0]]), "b": jnp.array([1.0])}
    assert float(UniformPrior()(parameters)) == 0
    np.testing.assert_allclose(GaussianPrior(0.1)(parameters), 0.1 * 26 / 2, rtol=1e-6)
    np.testing.assert_allclose(LaplacePrior(0.1)(parameters), 0.1 * 8, rtol=1e-6)


@pytest.mark.parametrize("prior", [GaussianPrior(0.05), LaplacePrior(0.01)])
def test_priors_make_beliefs_smoother(prior, keys):
    evidence, key = two_half_planes(keys()), keys()
    plain = NetworkMixture(Identity(), 2, 2, epochs=3)
    smooth = NetworkMixture(Identity(), 2, 2, epochs=3, prior=prior)
    _, sharp = fit(plain, evidence, jax.random.clone(key), updates=300)
    _, soft = fit(smooth, evidence, key, updates=300)
    assert soft.entropy[-1] > 2 * sharp.entropy[-1]


def test_entropy_at_its_ends():
    assert float(entropy(jnp.array([0.0, 1.0, 0.0]))) == 0
    np.testing.assert_allclose(entropy(jnp.full(5, 0.2)), np.log(5), rtol=1e-6)


def test_tempered_likelihood_is_the_sharper_gaussian():
    squares, precision = jnp.array([0.3, 2.0]), jnp.array([4.0, 0.5])
    base = 3.0  # the kernel's own precision, unnormalised
    tempered = temper(-base * squares, precision, dimension=6)
    sharper = base * precision
    exact = -sharper * squares + 3 * jnp.log(sharper / jnp.pi)
    np.testing.assert_allclose(
        tempered - tempered[0], exact - exact[0], rtol=1e-5, atol=1e-5
    )


@pytest.mark.parametrize("normalised", [True, False])
def test_a_tempered_kernel_is_the_kernel_of_that_precision(normalised, keys):
    """Exactly, if it is normalised; else up to the constant that it lacks."""
    errors = jax.random.normal(keys(), (5, 3))
    kernel = Gaussian(40.0, normalised=normalised)
    given = jax.vmap(kernel, (0, None))(errors, jnp.zeros(3))
    tempered = temper(given, jnp.full(5, 0.2), 3, kernel.log_normaliser(3))
    sharper = jax.vmap(Gaussian(8.0), (0, None))(errors, jnp.zeros(3))
    lacks = 0.0 if normalised else 3 / 2 * np.log(40.0 / np.pi)
    np.testing.assert_allclose(tempered + lacks, sharper, rtol=1e-5, atol=1e-4)


def residuals_of_two_sources(key, samples=4096):
    """One source in each half plane, with errors of deviation 0.05 and 0.5."""
    obs_key, noise_key = jax.random.split(key)
    obs = jax.random.uniform(obs_key, (samples, 2), minval=-1, maxval=1)
    noise = jax.random.normal(noise_key, (samples, 2))
    left = obs[:, 0] < 0
    error = jnp.where(left, 0.05, 0.5)[:, None] * noise
    far = jnp.full(samples, 50.0)
    squares = jnp.sum(error**2, axis=1)
    squared_errors = jnp.stack(
        [jnp.where(left, squares, far), jnp.where(left, far, squares)], axis=1
    )
    return as_evidence(obs, -squared_errors)


def test_precision_per_source_is_learned(keys):
    precision = LearnedPrecision(dimension=2)
    mixture = NetworkMixture(
        Identity(), 2, 2, epochs=3, learning_rate=3e-3, precision=precision
    )
    evidence = residuals_of_two_sources(keys())
    state, _ = fit(mixture, evidence, keys(), updates=1500)
    learned = precision.precisions(state.parameters.precision, jnp.zeros(0))
    expected = [1 / (2 * 0.05**2), 1 / (2 * 0.5**2)]
    np.testing.assert_allclose(learned, expected, rtol=0.2)


def test_precision_of_the_network_depends_on_the_state(keys):
    precision = LearnedPrecision(dimension=2, per_state=True)
    mixture = NetworkMixture(
        Identity(), 1, 2, epochs=3, learning_rate=3e-3, precision=precision
    )
    both = residuals_of_two_sources(keys())
    best = jnp.max(both.log_likelihoods, axis=1, keepdims=True)
    evidence = both._replace(log_likelihoods=best)
    state, _ = fit(mixture, evidence, keys(), updates=1500)
    network = state.parameters.network
    probes = jnp.array([[-0.5, 0.0], [0.5, 0.0]])
    left, right = (
        precision.precisions(jnp.zeros(0), network(probe)[1:])[0] for probe in probes
    )
    np.testing.assert_allclose(left, 200, rtol=0.35)
    np.testing.assert_allclose(right, 2, rtol=0.35)
