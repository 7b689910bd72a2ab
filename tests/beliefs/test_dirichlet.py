"""The exact mixture: conjugate cases, and the network checked against it."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from policymix.beliefs.dirichlet import DirichletMixture, resolution, simplex_lattice
from policymix.beliefs.mixture import Evidence
from policymix.beliefs.network import NetworkMixture
from policymix.core.encoders import OneHot
from policymix.core.errors import PolicymixError

update = jax.jit(lambda mixture, state, evidence: mixture.update(state, evidence))
weights = jax.jit(lambda mixture, state, obs: mixture.weights(state, obs))


def as_evidence(obs, log_likelihoods):
    obs = jnp.asarray(obs)
    return Evidence(obs, jnp.zeros_like(obs), obs, jnp.asarray(log_likelihoods, float))


@pytest.mark.parametrize("n", [1, 2, 3, 4, 7])
def test_lattice_covers_the_simplex(n):
    steps = resolution(n)
    lattice = simplex_lattice(n, steps)
    np.testing.assert_allclose(lattice.sum(axis=1), 1)
    assert lattice.min() > 0
    assert len(np.unique(lattice, axis=0)) == len(lattice)
    assert (lattice > 1 - 0.5 / steps).sum() == n, "each source alone is a point"


@pytest.mark.parametrize("concentration", [1.0, 2.0])
def test_identifying_likelihoods_give_the_dirichlet_mean(concentration):
    """With one-hot likelihoods the posterior is Dir(α + counts)."""
    mixture = DirichletMixture(2, 3, concentration)
    state = mixture.init(jax.random.key(0))
    counts = np.array([5, 2, 0])
    rows = np.repeat(np.eye(3), counts, axis=0)
    evidence = as_evidence(np.ones(7, int), np.where(rows == 1, 0, -50.0))
    state, _ = update(mixture, state, evidence)
    expected = (concentration + counts) / (3 * concentration + counts.sum())
    seen, unseen = (weights(mixture, state, jnp.array(obs)) for obs in (1, 0))
    np.testing.assert_allclose(seen, expected, atol=0.01)
    np.testing.assert_allclose(unseen, 1 / 3, atol=1e-5)


def test_batches_and_single_transitions_agree(keys):
    mixture = DirichletMixture(4, 3)
    obs = jax.random.randint(keys(), (20,), 0, 4)
    evidence = as_evidence(obs, 3 * jax.random.normal(keys(), (20, 3)))
    at_once, _ = update(mixture, mixture.init(keys()), evidence)
    one_by_one = mixture.init(keys())
    for i in range(20):
        single = jax.tree.map(lambda x, i=i: np.asarray(x)[i : i + 1], evidence)
        one_by_one, _ = update(mixture, one_by_one, single)
    np.testing.assert_allclose(at_once, one_by_one, rtol=1e-4, atol=1e-4)


def test_many_surprises_stay_finite():
    mixture = DirichletMixture(1, 2)
    evidence = as_evidence(np.zeros(1000, int), np.tile([-1e6, -1e6 + 1], (1000, 1)))
    state, metrics = update(mixture, mixture.init(jax.random.key(0)), evidence)
    assert weights(mixture, state, jnp.array(0))[1] > 0.99
    assert np.isfinite(metrics.log_evidence)


def random_problem(seed, states=3, samples=6_000, sources=3, outcomes=6):
    """Sources with random outcome distributions; the target mixes them per state."""
    rng = np.random.default_rng(seed)
    models = rng.dirichlet(np.full(outcomes, 0.3), (sources, states))
    truth = rng.dirichlet(np.ones(sources), states)
    obs = rng.integers(states, size=samples)
    target = np.einsum("sn,nso->so", truth, models)
    cumulative = np.cumsum(target, axis=1)[obs]
    outcome = (rng.random(samples)[:, None] > cumulative).sum(axis=1)
    log_likelihoods = np.log(np.maximum(models[:, obs, outcome], 1e-3)).T
    return as_evidence(obs, log_likelihoods), truth


@partial(jax.jit, static_argnames="updates")
def fit(network, state, evidence, updates):
    """Many updates with the same rows."""
    step = lambda state, _: network.update(state, evidence)  # noqa: E731
    return jax.lax.scan(step, state, length=updates)[0]


@pytest.mark.parametrize("seed", range(3))
def test_network_comes_within_two_hundredths_of_the_exact_mixture(seed):
    evidence, truth = random_problem(seed)
    states, sources = truth.shape
    exact = DirichletMixture(states, sources)
    posterior, _ = update(exact, exact.init(jax.random.key(seed)), evidence)
    fast, slow = (
        NetworkMixture(OneHot(states), sources, states, learning_rate=rate)
        for rate in (1e-2, 1e-3)
    )
    state = slow.init(jax.random.key(seed))
    for network in (fast, slow):
        state = fit(network, state, evidence, 200)
    for obs in jnp.arange(states):
        gap = weights(slow, state, obs) - weights(exact, posterior, obs)
        assert np.max(np.abs(gap)) < 0.02


def test_exact_mixture_finds_the_truth():
    evidence, truth = random_problem(seed=11, samples=10_000)
    exact = DirichletMixture(*truth.shape)
    state, _ = update(exact, exact.init(jax.random.key(0)), evidence)
    found = [weights(exact, state, jnp.array(obs)) for obs in range(len(truth))]
    assert np.max(np.abs(np.stack(found) - truth)) < 0.06


def test_too_many_states_are_refused():
    with pytest.raises(PolicymixError, match="Use NetworkMixture"):
        DirichletMixture(1_000_000, 3)
