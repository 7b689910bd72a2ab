"""Kernels are densities, agree in their limits and never leave log space."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from policymix.core.kernels import Gaussian, Indicator, StudentT

precisions = st.floats(1e-2, 1e6)
vectors = st.lists(st.floats(-3, 3, width=32), min_size=1, max_size=6)


def integral_over_the_plane(kernel, width: float) -> float:
    axis = jnp.linspace(-width, width, 801)
    points = jnp.stack(jnp.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    densities = jnp.exp(jax.vmap(kernel, in_axes=(None, 0))(jnp.zeros(2), points))
    return float(jnp.sum(densities) * (axis[1] - axis[0]) ** 2)


@pytest.mark.parametrize("precision", [0.5, 2.0, 30.0])
def test_normalised_kernels_integrate_to_one(precision):
    width = 8 / np.sqrt(precision)
    assert integral_over_the_plane(Gaussian(precision), width) == pytest.approx(
        1, abs=1e-4
    )
    heavy = StudentT(precision, freedom=9.0)
    assert integral_over_the_plane(heavy, 2 * width) == pytest.approx(1, abs=1e-3)


@given(precisions, vectors)
def test_gaussian_is_the_normal_density(precision, residual):
    residual = jnp.asarray(residual, jnp.float32)
    expected = norm.logpdf(residual, scale=1 / np.sqrt(2 * precision)).sum()
    actual = Gaussian(precision)(jnp.zeros_like(residual), residual)
    np.testing.assert_allclose(actual, expected, rtol=1e-3, atol=1e-3)


@given(precisions, vectors)
def test_unnormalised_form_is_the_papers(precision, residual):
    residual = jnp.asarray(residual, jnp.float32)
    actual = Gaussian(precision, normalised=False)(residual, jnp.zeros_like(residual))
    np.testing.assert_allclose(
        actual, -precision * float(np.sum(np.square(residual))), rtol=1e-5
    )


def test_student_t_tends_to_the_gaussian():
    residual = jnp.array([0.3, -0.2, 0.5])
    gaussian = Gaussian(2.0)(jnp.zeros(3), residual)
    gaps = [
        abs(float(StudentT(2.0, freedom)(jnp.zeros(3), residual) - gaussian))
        for freedom in (10.0, 100.0, 1000.0)
    ]
    assert gaps[0] > gaps[1] > gaps[2]
    assert gaps[2] < 0.01


def test_student_t_forgives_outliers():
    near, far = jnp.array([0.1]), jnp.array([10.0])
    gaussian, student = (
        float(kernel(jnp.zeros(1), near) - kernel(jnp.zeros(1), far))
        for kernel in (Gaussian(5.0), StudentT(5.0))
    )
    assert student < gaussian / 10


@given(st.floats(1e-6, 0.5), vectors)
def test_indicator_has_two_values(floor, prediction):
    prediction = jnp.asarray(prediction, jnp.float32)
    kernel = Indicator(floor)
    assert float(kernel(prediction, prediction)) == 0
    missed = kernel(prediction, prediction.at[0].add(1.0))
    np.testing.assert_allclose(missed, np.log(np.float32(floor)), rtol=1e-6)


def test_log_likelihoods_stay_finite_where_likelihoods_vanish():
    kernel = Gaussian(5e5, normalised=False)
    log_likelihood = kernel(jnp.zeros(4), jnp.full(4, 0.05))
    np.testing.assert_allclose(log_likelihood, -5000, rtol=1e-5)
    assert float(jnp.exp(log_likelihood)) == 0


def test_precision_per_source_is_a_stacked_kernel():
    kernels = jax.vmap(Gaussian)(jnp.array([1.0, 4.0]))
    predictions, next_obs = jnp.zeros((2, 3)), jnp.ones(3)
    together = jax.vmap(lambda k, p: k(p, next_obs))(kernels, predictions)
    alone = [Gaussian(p)(jnp.zeros(3), next_obs) for p in (1.0, 4.0)]
    np.testing.assert_allclose(together, alone, rtol=1e-6)
