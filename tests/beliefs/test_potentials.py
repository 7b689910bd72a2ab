"""Shaping: what telescopes, what leaves the optimal policy alone, and what does not."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from policymix.beliefs.dirichlet import DirichletMixture
from policymix.beliefs.potentials import (
    EXPLICIT,
    LOOKAHEAD,
    NONE,
    REWARD,
    action_potential,
    decision_values,
    potential,
    shaping,
    td_target,
)
from policymix.core.encoders import OneHot
from policymix.core.kernels import Gaussian
from policymix.core.types import Discrete, TaskSpec
from policymix.sources.experts import SourceTask
from policymix.sources.library import SourceLibrary

from support.finite_mdps import phi_of, random_mdp, solve

episodes = st.sampled_from([1, 20]).flatmap(
    lambda n: st.lists(st.floats(0, 1), min_size=n, max_size=n)
)
discounts = st.floats(0.5, 1.0)


@jax.jit
def shaped_return(phi, discount, terminated):
    """The discounted sum of what shaping pays along an episode, and after it 0.7."""
    next_phi = jnp.append(phi[1:], 0.7)
    rewards = jax.vmap(shaping, (0, 0, None, 0))(phi, next_phi, discount, terminated)
    return jnp.sum(rewards * discount ** jnp.arange(phi.size))


@given(episodes, discounts)
def test_shaping_telescopes_over_a_terminated_episode(potentials, discount):
    with jax.enable_x64(True):
        phi = np.array(potentials)
        terminated = np.arange(phi.size) == phi.size - 1
        total = shaped_return(phi, np.array(discount), terminated)
        np.testing.assert_allclose(total, -phi[0], atol=1e-6)


@given(episodes, discounts)
def test_a_truncated_episode_keeps_its_last_potential(potentials, discount):
    with jax.enable_x64(True):
        phi = np.array(potentials)
        total = shaped_return(phi, np.array(discount), np.zeros(phi.size, bool))
        expected = discount**phi.size * 0.7 - phi[0]
        np.testing.assert_allclose(total, expected, atol=1e-6)


def changed_policies(form, scale, count=1_000):
    """On how many random MDPs the greedy policy is no longer optimal."""

    def changed(key):
        mdp = random_mdp(key)
        optimum, _ = solve(mdp, NONE, jnp.array(0.0))
        _, decision = solve(mdp, form, scale)
        chosen = jnp.argmax(decision, axis=1)
        loss = jnp.max(optimum, axis=1) - jnp.take_along_axis(
            optimum, chosen[:, None], axis=1
        ).squeeze(1)
        return jnp.any(loss > 1e-3)

    keys = jax.random.split(jax.random.key(0), count)
    return int(jax.jit(lambda keys: jnp.sum(jax.vmap(changed)(keys)))(keys))


@pytest.mark.parametrize("scale", [0.1, 1.0, 5.0])
def test_lookahead_leaves_the_optimal_policy_and_reward_does_not(scale, capsys):
    counts = {
        name: changed_policies(form, jnp.array(scale))
        for name, form in (("lookahead", LOOKAHEAD), ("reward", REWARD))
    }
    with capsys.disabled():
        print(f"\nscale {scale}: optimal policy changed on 1,000 MDPs by {counts}")
    assert counts["lookahead"] == 0
    assert counts["reward"] > 50


def test_lookahead_learns_the_true_values_minus_the_potential():
    mdp = random_mdp(jax.random.key(3))
    truth, _ = solve(mdp, NONE, jnp.array(0.0))
    values, decision = solve(mdp, LOOKAHEAD, jnp.array(1.5))
    np.testing.assert_allclose(values, truth - 1.5 * phi_of(mdp), atol=1e-4)
    np.testing.assert_allclose(decision, truth, atol=1e-4)


def test_explicit_learns_the_true_values_and_follows_advice_by_its_scale():
    mdp = random_mdp(jax.random.key(4))
    truth, _ = solve(mdp, NONE, jnp.array(0.0))
    values, decision = solve(mdp, EXPLICIT, jnp.array(100.0))
    np.testing.assert_array_equal(values, truth)
    np.testing.assert_array_equal(jnp.argmax(decision, axis=1), mdp.advised)


def test_explicit_without_scale_is_plain_q_learning():
    @jax.jit
    def both(key):
        mdp = random_mdp(key)
        return solve(mdp, NONE, jnp.array(1.0)), solve(mdp, EXPLICIT, jnp.array(0.0))

    solved = jax.vmap(both)(jax.random.split(jax.random.key(5), 200))
    (plain, greedy), (values, decision) = solved
    np.testing.assert_array_equal(values, plain)
    np.testing.assert_array_equal(decision, greedy)


def test_potential_is_the_probability_of_being_advised():
    weights = jnp.array([0.5, 0.3, 0.2])
    advice = jnp.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])
    np.testing.assert_allclose(potential(weights, advice), [0.6, 0.4], rtol=1e-6)


def test_the_own_model_gives_no_advice():
    advice = jnp.eye(2)
    with_own = potential(jnp.array([0.2, 0.1, 0.7]), advice)
    np.testing.assert_allclose(with_own, [0.2, 0.1], rtol=1e-6)
    nobody_fits = potential(jnp.array([0.0, 0.0, 1.0]), advice)
    values = jnp.array([0.3, 0.4])
    left_alone = decision_values(EXPLICIT, values, nobody_fits, jnp.array(100.0))
    np.testing.assert_array_equal(left_alone, values)


def test_one_deterministic_source_is_single_policy_shaping():
    """MARS with n = 1 is Brys et al.'s advice of one policy, whatever was seen."""
    spec = TaskSpec(Discrete(4), Discrete(3))
    recommended = jnp.array([2, 0, 1, 2])
    source = SourceTask("only", lambda obs: recommended[obs], lambda obs, action: obs)
    library = SourceLibrary([source], spec, OneHot(4))
    mixture = DirichletMixture(4, 1)
    state = mixture.init(jax.random.key(0))
    for obs in jnp.arange(4):
        phi = potential(mixture.weights(state, obs), library.advise(obs))
        np.testing.assert_allclose(phi, jax.nn.one_hot(recommended[obs], 3), atol=1e-6)


def test_continuous_potential_peaks_at_each_sources_action():
    weights, advice = jnp.array([0.7, 0.3]), jnp.array([[0.0, 0.0], [5.0, 5.0]])
    kernel = Gaussian(1.0, normalised=False)
    at = [action_potential(weights, advice, action, kernel) for action in advice]
    np.testing.assert_allclose(at, weights, rtol=1e-5)
    off = action_potential(weights, advice, jnp.array([1.0, 0.0]), kernel)
    np.testing.assert_allclose(off, 0.7 * np.exp(-1), rtol=1e-5)


def test_termination_stops_the_bootstrap_and_truncation_does_not():
    arguments = dict(
        reward=jnp.array(1.0),
        phi=jnp.array(0.2),
        next_value=jnp.array(10.0),
        next_phi=jnp.array(0.5),
        discount=jnp.array(0.9),
        scale=jnp.array(2.0),
    )
    ended = td_target(LOOKAHEAD, terminated=jnp.array(True), **arguments)
    np.testing.assert_allclose(ended, 1 - 2 * 0.2, rtol=1e-6)
    going_on = td_target(LOOKAHEAD, terminated=jnp.array(False), **arguments)
    np.testing.assert_allclose(going_on, 1 + 2 * (0.45 - 0.2) + 9, rtol=1e-6)


CHAIN = 5


def advice_on_the_chain(obs, action):
    """A walk to the right end; going right is advised in every other state."""
    return jnp.where((action == 1) & (obs % 2 == 0), 1.0, 0.0)


def walk(obs):
    """The policy goes right; the last state ends the episode."""
    next_obs = jnp.minimum(obs + 1, CHAIN - 1)
    return (obs, jnp.array(1), next_obs, jnp.array(1)), next_obs == CHAIN - 1
