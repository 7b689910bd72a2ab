"""Beliefs: the paper's gradient, safe numbers, and sources told apart."""

from functools import partial

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

logits_and_likelihoods = st.sampled_from([1, 4]).flatmap(
    lambda n: st.tuples(
        st.lists(st.floats(-8, 8, width=32), min_size=n, max_size=n),
        st.lists(st.floats(-1e3, 10, width=32), min_size=n, max_size=n),
    )
)
init = jax.jit(lambda mixture, key: mixture.init(key))
update = jax.jit(lambda mixture, state, evidence: mixture.update(state, evidence))
weights_of = jax.jit(
    lambda mixture, state, obs: jax.vmap(mixture.weights, (None, 0))(state, obs)
)


def as_evidence(obs, log_likelihoods):
    action = jnp.zeros(len(obs), int)
    return Evidence(obs, action, obs, log_likelihoods)


posterior_of = jax.jit(lambda *case: jnp.exp(log_posterior(*case)))


@jax.jit
def both_gradients(logits, log_lik):
    """That of the loss, and that of equation (4)."""
    gradient = jax.grad(lambda z: -log_evidence(z, log_lik))(logits)
    return gradient, jax.nn.softmax(logits) - jnp.exp(log_posterior(logits, log_lik))


@given(logits_and_likelihoods)
def test_gradient_is_prior_minus_posterior(case):
    """Equation (4), in double precision as promised: 1e-5 relative."""
    with jax.enable_x64(True):
        gradient, expected = both_gradients(*(np.asarray(part) for part in case))
        assert gradient.dtype == np.float64
        np.testing.assert_allclose(gradient, expected, rtol=1e-5, atol=1e-12)


def test_gradient_of_the_network_is_the_papers(keys):
    """The whole of equation (4): Σᵢ (aᵢ − pᵢ) ∇z_i."""
    with jax.enable_x64(True):
        mixture = NetworkMixture(Identity(), num_sources=3, num_inputs=2)
        obs, log_lik = jnp.array([0.3, -0.8]), jnp.array([-3.0, -1.0, -7.0])
        evidence = Evidence(obs, jnp.array(0), obs, log_lik)

        @jax.jit
        def gradients(state):
            ours = jax.grad(mixture.loss)(state.parameters, evidence).network
            network = state.parameters.network
            jacobian = jax.jacobian(lambda network: network(obs))(network)
            posterior = mixture.posterior(state, obs, log_lik)
            difference = mixture.weights(state, obs) - posterior
            product = lambda z: jnp.tensordot(difference, z, axes=1)  # noqa: E731
            return ours, jax.tree.map(product, jacobian)

        both = map(jax.tree.leaves, gradients(init(mixture, keys())))
        for a, b in zip(*both, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-14)


@given(logits_and_likelihoods)
def test_posterior_is_bayes_rule(case):
    logits, log_lik = (np.asarray(part, np.float64) for part in case)
    joint = np.exp(logits + log_lik - np.max(logits + log_lik))
    actual = posterior_of(*(np.asarray(part, np.float32) for part in case))
    np.testing.assert_allclose(actual, joint / joint.sum(), atol=1e-4)


@given(st.floats(-1e3, 10))
def test_equal_likelihoods_leave_the_prior_unchanged(likelihood):
    logits = np.array([0.3, -1.0, 2.0], np.float32)
    posterior = posterior_of(logits, np.full(3, likelihood, np.float32))
    prior = np.exp(logits) / np.exp(logits).sum()
    np.testing.assert_allclose(posterior, prior, rtol=1e-3)


@given(st.sampled_from([1, 12]), st.integers(0, 2**31 - 1))
def test_weights_are_a_distribution(num_sources, seed):
    mixture = NetworkMixture(Identity(), num_sources, num_inputs=4)
    state = init(mixture, jax.random.key(seed))
    rows = np.random.default_rng(seed).normal(size=(16, 4))
    weights = weights_of(mixture, state, (100 * rows).astype(np.float32))
    assert np.all(weights >= 0)
    np.testing.assert_allclose(np.sum(weights, axis=1), 1, atol=1e-6)


@given(st.permutations(range(4)))
def test_permuting_the_sources_permutes_the_weights(order):
    order = np.array(order)
    mixture = NetworkMixture(Identity(), num_sources=4, num_inputs=2)
    state = init(mixture, jax.random.key(7))
    network = state.parameters.network
    permuted_network = type(network)(
        (*network.weights[:-1], network.weights[-1][order]),
        (*network.biases[:-1], network.biases[-1][order]),
    )
    parameters = state.parameters._replace(network=permuted_network)
    permuted = OptimiserState(parameters, jax.tree.map(np.zeros_like, state.memory))
    rng = np.random.default_rng(8)
    obs = rng.normal(size=(32, 2)).astype(np.float32)
    log_lik = (5 * rng.normal(size=(32, 4))).astype(np.float32)
    for _ in range(3):
        state, _ = update(mixture, state, as_evidence(obs, log_lik))
        permuted, _ = update(mixture, permuted, as_evidence(obs, log_lik[:, order]))
    one, other = (weights_of(mixture, each, obs) for each in (state, permuted))
    np.testing.assert_allclose(np.asarray(one)[:, order], other, atol=1e-5)


loss_and_gradient = jax.jit(
    lambda mixture, *rest: jax.value_and_grad(mixture.batch_loss)(*rest)
)


@pytest.mark.parametrize(
    "log_likelihoods",
    [[-1e6, -1e6 + 3, -1e6], [-1e6, -3.0, -1e5], [np.log(1e-3)] * 3, [-1e30, 0.0, 0.0]],
)
def test_loss_and_gradient_are_finite_when_likelihoods_vanish(log_likelihoods, keys):
    mixture = NetworkMixture(Identity(), num_sources=3, num_inputs=2)
    state = init(mixture, keys())
    evidence = as_evidence(jnp.ones((1, 2)), jnp.array([log_likelihoods]))
    loss, gradient = loss_and_gradient(mixture, state.parameters, evidence)
    assert np.isfinite(loss)
    assert all(np.all(np.isfinite(leaf)) for leaf in jax.tree.leaves(gradient))


def two_half_planes(key, samples=512):
    """Source 0 is exact left of zero, source 1 right of it; Gaussian kernels."""
    obs = jax.random.uniform(key, (samples, 2), minval=-1, maxval=1)
    wrong = jnp.stack([obs[:, 0] > 0, obs[:, 0] < 0], axis=1)
    return as_evidence(obs, jnp.where(wrong, -1e4, 0.0))


@partial(jax.jit, static_argnames="updates")
def fit(mixture, evidence, key, updates):
    init_key, batch_key = jax.random.split(key)

    def step(state, key):
        rows = jax.random.randint(key, (32,), 0, len(evidence.obs))
        return mixture.update(state, jax.tree.map(lambda x: x[rows], evidence))

    state = mixture.init(init_key)
    keys = jax.random.split(batch_key, updates)
    return jax.lax.scan(step, state, keys)


def test_half_planes_are_told_apart(keys):
    mixture = NetworkMixture(Identity(), 2, 2, epochs=3)
    state, metrics = fit(mixture, two_half_planes(keys()), keys(), updates=300)
    probes = jnp.array([[-0.5, 0.3], [-0.2, -0.9], [0.2, 0.0], [0.9, 0.9]])
    weights = weights_of(mixture, state, probes)
    assert np.all(weights[:2, 0] > 0.9)
    assert np.all(weights[2:, 1] > 0.9)
    assert metrics.log_evidence[-1] > metrics.log_evidence[0]
    assert metrics.entropy[-1] < metrics.entropy[0]


def test_more_epochs_are_more_steps_on_the_same_batch(keys):
    evidence = two_half_planes(keys(), samples=32)
    once = NetworkMixture(Identity(), 2, 2, epochs=1)
    thrice = NetworkMixture(Identity(), 2, 2, epochs=3)
    state = init(once, keys())
    expected = state
    for _ in range(3):
        expected, _ = update(once, expected, evidence)
    actual, _ = update(thrice, state, evidence)
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
