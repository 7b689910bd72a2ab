"""Theorem 1 on ten thousand random MDPs, and where it is tight."""

import jax
import jax.numpy as jnp
import numpy as np

from policymix.theory import induced_chain, policy_values, value_error_and_bound


def random_case(key, states=5, actions=3):
    names = ("true", "estimate", "mix", "reward", "policy", "discount")
    keys = dict(zip(names, jax.random.split(key, len(names)), strict=True))
    shape = (states, actions, states)
    true = jax.random.dirichlet(keys["true"], jnp.full(states, 0.3), shape[:2])
    other = jax.random.dirichlet(keys["estimate"], jnp.full(states, 0.3), shape[:2])
    mix = jax.random.uniform(keys["mix"])
    return (
        true,
        (1 - mix) * true + mix * other,
        jax.random.normal(keys["reward"], (states,)),
        jax.random.randint(keys["policy"], (states,), 0, actions),
        jax.random.uniform(keys["discount"], maxval=0.97),
    )


def test_bound_holds_on_ten_thousand_random_mdps():
    keys = jax.random.split(jax.random.key(1), 10_000)
    errors, bounds = jax.jit(
        jax.vmap(lambda k: value_error_and_bound(*random_case(k)))
    )(keys)
    assert np.all(np.isfinite(errors))
    assert np.all(errors <= bounds * (1 + 1e-4) + 1e-6)
    assert np.median(errors / bounds) > 0.001, "the bound says something"


def test_a_right_model_has_no_error():
    true, _, reward, policy, _ = random_case(jax.random.key(2))
    error, bound = value_error_and_bound(true, true, reward, policy, 0.9)
    assert float(error) == float(bound) == 0


def test_values_of_a_known_chain():
    """0 → 1 → 1 …: V(1) = 1/(1 − γ), V(0) = γ V(1)."""
    transitions = jnp.array([[[0.0, 1.0], [1.0, 0.0]], [[0.0, 1.0], [0.0, 1.0]]])
    chain = induced_chain(transitions, jnp.array([0, 1]))
    values = policy_values(chain, jnp.array([0.0, 1.0]), 0.5)
    np.testing.assert_allclose(values, [1.0, 2.0], rtol=1e-6)
