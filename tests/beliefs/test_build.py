"""Mixtures by settings: each kind that is asked for, and what cannot be had."""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from policymix.beliefs.belief import learn_belief
from policymix.beliefs.build import make_global_mixture, make_mixture
from policymix.beliefs.dirichlet import DirichletMixture
from policymix.beliefs.mixture import Evidence
from policymix.beliefs.network import GaussianPrior, LaplacePrior, NetworkMixture
from policymix.beliefs.own_model import OwnSoftmax, OwnTable, WithOwnModel
from policymix.beliefs.precisions import LearnedPrecision
from policymix.core.encoders import Identity
from policymix.core.errors import PolicymixError
from policymix.core.kernels import Gaussian, StudentT
from policymix.core.settings import Settings
from policymix.core.types import Box, Discrete, TaskSpec
from policymix.sources.dynamics import CoverageApart, LogDensity
from policymix.sources.experts import SourceTask
from policymix.sources.library import SourceLibrary

from support.probes import MIXED, QUICK

PLANE = TaskSpec(Box((-np.inf,) * 2, (np.inf,) * 2), Discrete(2))
LEARNED = Settings(precision="learned", mixture_rate=3e-3, epochs=1)


def first_action(obs):
    return jnp.zeros((), int)


def standstill(obs, action):
    return obs


def still_library(*kernels, dynamics=standstill):
    """Sources that expect nothing to happen."""
    sources = [
        SourceTask(f"source {place}", first_action, dynamics, kernel)
        for place, kernel in enumerate(kernels)
    ]
    return SourceLibrary(sources, PLANE, Identity())


def jitter(deviation, samples=4096):
    """Transitions of a target in which only noise happens."""
    rng = np.random.default_rng(3)
    obs = rng.uniform(-1, 1, (samples, 2))
    after = obs + deviation * rng.standard_normal((samples, 2))
    action = np.zeros(samples, int)
    return obs.astype(np.float32), action, after.astype(np.float32)


@pytest.mark.parametrize("normalised", [True, False])
@pytest.mark.parametrize("own", [20.0, 5e3])
def test_the_true_precision_is_learned_from_any_gaussian_kernel(own, normalised):
    """Errors of deviation 0.05 have the precision 1/(2 · 0.05²) = 200."""
    library = still_library(Gaussian(own, normalised=normalised))
    mixture = make_mixture(library, LEARNED)
    belief = learn_belief(
        library, jitter(0.05), mixture=mixture, updates=1500, batch=256
    )
    assert isinstance(mixture, NetworkMixture)
    assert isinstance(mixture.precision, LearnedPrecision)
    raw = belief.state.parameters.precision
    (learned,) = own * mixture.precision.precisions(raw, jnp.zeros(0))
    assert 180 < float(learned) < 220


@pytest.mark.parametrize("own", [False, True])
def test_a_global_mixture_learns_but_cannot_tell_states_apart(own):
    library = still_library(Gaussian(200.0), Gaussian(1.0))
    settings = Settings(own_model=own, mixture_rate=1e-2)
    mixture = make_global_mixture(library, settings)
    state = mixture.init(jax.random.key(0))
    places = jax.random.normal(jax.random.key(1), (16, 2))
    told = jax.vmap(library.experts.log_likelihoods)(places, jnp.zeros(16, int), places)
    seen = Evidence(places, jnp.zeros(16, int), places, told)
    before = mixture.weights(state, places[0])
    after = mixture.update(state, seen)[0]
    assert mixture.weights(after, places[0])[0] > before[0]
    for place in places[1:3]:
        np.testing.assert_array_equal(
            mixture.weights(after, place), mixture.weights(after, places[0])
        )


def test_a_learned_precision_begins_at_the_kernels_own():
    """The handicap of an own model is no part of its error either."""
    library = still_library(Gaussian(40.0), Gaussian(5.0))
    obs, action, after = map(jnp.asarray, jitter(0.3, 16))
    likely = jax.vmap(library.log_likelihoods)(obs, action, after)
    evidence = Evidence(obs, action, after, likely)

    def explained(precision):
        settings = replace(LEARNED, own_model=True, precision=precision)
        mixture = make_mixture(library, settings)
        start = eqx.filter_jit(mixture.init)(jax.random.key(1))
        return eqx.filter_jit(mixture.update)(start, evidence)[1].log_evidence

    np.testing.assert_allclose(explained("learned"), explained("fixed"), rtol=1e-5)


@pytest.mark.parametrize(
    ("kernel", "dynamics", "complaint"),
    [
        (StudentT(), standstill, "StudentT has no precision .*Gaussian kernels"),
        (
            Gaussian(),
            LogDensity(lambda obs, action, after: -jnp.sum((after - obs) ** 2)),
            "'source 0' has a density of its own .*\"fixed\"",
        ),
    ],
)
def test_a_precision_that_cannot_be_learned_says_so(kernel, dynamics, complaint):
    library = still_library(kernel, dynamics=dynamics)
    with pytest.raises(PolicymixError, match=complaint):
        make_mixture(library, LEARNED)
    make_mixture(library, Settings())


def test_an_own_model_of_states_has_no_precision():
    settings = replace(QUICK, own_model=True, precision="learned")
    with pytest.raises(PolicymixError, match=r"Indicator has no precision|own_model"):
        make_mixture(MIXED.sources, settings)


def test_a_precision_per_state_is_an_output_of_the_network():
    mixture = make_mixture(
        still_library(Gaussian(), Gaussian()), replace(LEARNED, precision="per-state")
    )
    network = mixture.init(jax.random.key(0)).parameters.network
    assert network.sizes[-1] == 4


@pytest.mark.parametrize(
    ("name", "prior"), [("gaussian", GaussianPrior), ("laplace", LaplacePrior)]
)
def test_a_prior_has_its_strength(name, prior):
    settings = Settings(mixture_prior=name, prior_strength=0.25)
    mixture = make_mixture(still_library(Gaussian()), settings)
    assert isinstance(mixture, NetworkMixture)
    assert mixture.prior == prior(0.25)


@pytest.mark.parametrize("kind", ["network", "dirichlet"])
def test_an_own_model_goes_with_its_mixture(kind):
    settings = replace(QUICK, mixture=kind, own_model=True)
    mixture = make_mixture(MIXED.sources, settings)
    assert isinstance(mixture, WithOwnModel)
    expected = OwnSoftmax if kind == "network" else OwnTable
    assert isinstance(mixture.model, expected)
    state = eqx.filter_jit(mixture.init)(jax.random.key(0))
    assert mixture.log_weights(state, jnp.array(0)).shape == (3,)


def test_the_exact_mixture_has_its_concentration():
    settings = replace(QUICK, mixture="dirichlet", concentration=0.5)
    mixture = make_mixture(MIXED.sources, settings)
    assert isinstance(mixture, DirichletMixture)
    assert (mixture.num_sources, mixture.concentration) == (2, 0.5)


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"mixture": "exact"}, "mixture is 'exact': choose one of \"network\""),
        ({"mixture_prior": "flat"}, "mixture_prior is 'flat': choose one of"),
        ({"precision": "free"}, "precision is 'free': choose one of"),
        (
            {"mixture": "dirichlet", "updates": "episode"},
            "updates is 'episode', but .*updates=\"step\"",
        ),
        (
            {"mixture": "dirichlet", "mixture_prior": "laplace"},
            'belong to mixture="network"',
        ),
    ],
)
def test_settings_that_make_no_mixture_say_what_to_do(changes, complaint):
    with pytest.raises(PolicymixError, match=complaint):
        make_mixture(MIXED.sources, replace(QUICK, **changes))


def test_the_exact_mixture_needs_states_that_can_be_counted():
    with pytest.raises(PolicymixError, match=r'observations are vectors.*"network"'):
        make_mixture(still_library(Gaussian()), Settings(mixture="dirichlet"))


def test_coverage_is_what_weights_begin_with_and_the_own_model_is_at_home_everywhere():
    """Log-weights of two sources differ by strength times their squared distances."""
    places = jnp.array([[[0.0, 0.0]], [[0.3, 0.4]]])
    sources = [
        SourceTask(name, first_action, CoverageApart(standstill, Identity(), seen))
        for name, seen in zip("ab", places, strict=True)
    ]
    library = SourceLibrary(sources, PLANE, Identity())
    settings = Settings(mixture_prior="coverage", prior_strength=8.0, own_model=True)
    mixture, plain = (
        make_mixture(library, replace(settings, mixture_prior=prior))
        for prior in ("coverage", "uniform")
    )
    found, before = (
        each.log_weights(each.init(jax.random.key(0)), jnp.zeros(2))
        for each in (mixture, plain)
    )
    gained = found - before
    np.testing.assert_allclose(gained[0] - gained[1], 8 * 0.25, rtol=1e-4)
    np.testing.assert_allclose(gained[2], gained[0], rtol=1e-4)
