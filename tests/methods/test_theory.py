"""Theorem 1 on ten thousand random MDPs, and where it is tight."""

import numpy as np
import pytest

from policymix.environments.finite import induced_chain, policy_values
from policymix.methods.theory import value_error_and_bound


def random_cases(rng, count, states=5, actions=3):
    true, other = rng.dirichlet(np.full(states, 0.3), (2, count, states, actions))
    mix = rng.uniform(size=(count, 1, 1, 1))
    return (
        true,
        (1 - mix) * true + mix * other,
        rng.normal(size=(count, states)),
        rng.integers(actions, size=(count, states)),
    )


@pytest.mark.parametrize("discount", [0.1, 0.5, 0.9, 0.97])
def test_bound_holds_on_random_mdps(discount):
    """4 × 2,500 MDPs."""
    cases = random_cases(np.random.default_rng(1), 2_500)
    errors, bounds = value_error_and_bound(*cases, discount)
    assert errors.shape == bounds.shape == (2_500,)
    assert np.all(errors <= bounds * (1 + 1e-12))
    assert np.max(errors / bounds) > 0.02, "the bound says something"


def test_the_bound_can_be_reached_to_first_order():
    """Staying against leaving: for small γ the two sides meet."""
    transitions = np.array([[[1.0, 0.0]], [[0.0, 1.0]]])
    estimate = np.array([[[0.0, 1.0]], [[0.0, 1.0]]])
    reward, policy = np.array([1.0, -1.0]), np.array([0, 0])
    error, bound = value_error_and_bound(transitions, estimate, reward, policy, 1e-4)
    assert float(error / bound) == pytest.approx(1, abs=1e-3)


def test_a_right_model_has_no_error():
    true, _, reward, policy = random_cases(np.random.default_rng(2), 1)
    error, bound = value_error_and_bound(true, true, reward, policy, 0.9)
    assert float(error[0]) == float(bound[0]) == 0


def test_values_of_a_known_chain():
    """0 → 1 → 1 …: V(1) = 1/(1 − γ), V(0) = γ V(1)."""
    transitions = np.array([[[0.0, 1.0], [1.0, 0.0]], [[0.0, 1.0], [0.0, 1.0]]])
    chain = induced_chain(transitions, np.array([0, 1]))
    values = policy_values(chain, np.array([0.0, 1.0]), 0.5)
    np.testing.assert_allclose(values, [1.0, 2.0])
