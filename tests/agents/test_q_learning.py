"""Q-learning with a table: each update by hand, and the known values of small tasks."""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from policymix.agents.base import Experience
from policymix.agents.q_learning import QLearning
from policymix.beliefs.potentials import EXPLICIT, LOOKAHEAD, REWARD, Shaping, td_target
from policymix.training.setup import build_setup

from support.probes import (
    QUICK,
    Corridor,
    Endless,
    batch_of,
    best_value,
    source,
    task_of,
    transitions_of,
)

GAMMA = 0.9


def step(obs, action, reward, next_obs, terminated=False, truncated=False):
    return batch_of(
        (jnp.array(obs), action, reward, jnp.array(next_obs), terminated, truncated)
    )


def learned(agent, batch, updates=300):
    """The table after that many updates from one batch."""

    @eqx.filter_jit
    def train(table):
        def update(table, _):
            return agent.update(table, Experience(batch))[0], None

        return jax.lax.scan(update, table, None, updates)[0]

    return np.asarray(train(agent.init(jax.random.key(0))))


def test_an_update_is_a_step_of_the_learning_rate_towards_the_target(keys):
    agent = QLearning(GAMMA, 3, 2, learning_rate=0.25)
    table = jax.random.normal(keys(), (3, 2))
    after, loss = agent.update(table, Experience(step(1, 0, 0.7, 2)))
    error = 0.7 + GAMMA * float(table[2].max()) - float(table[1, 0])
    expected = np.array(table)
    expected[1, 0] += 0.25 * error
    np.testing.assert_allclose(after, expected, rtol=1e-6)
    np.testing.assert_allclose(loss, error**2, rtol=1e-5)


@pytest.mark.parametrize("length", [1, 2, 5])
@pytest.mark.parametrize("cost", [0.0, -0.3])
def test_values_of_the_corridor(length, cost):
    domain = Corridor(length=length, cost=cost)
    table = learned(QLearning(GAMMA, length, 2), transitions_of(domain))
    best = np.array([best_value(domain, GAMMA, s) for s in range(length)])
    back = cost + GAMMA * best[np.maximum(np.arange(length) - 1, 0)]
    np.testing.assert_allclose(table, np.stack([back, best], axis=1), atol=1e-5)


def test_truncation_bootstraps_and_termination_does_not():
    """Reward 1 for ever: worth 1/(1 − γ) when the horizon cuts it, 1 when it ends."""
    agent = QLearning(GAMMA, 1, 2)
    cut = learned(agent, transitions_of(Endless(), truncated=True))
    np.testing.assert_allclose(cut, 1 / (1 - GAMMA), rtol=1e-5)
    ended = learned(agent, transitions_of(Endless(ends=True)))
    np.testing.assert_allclose(ended, 1.0, rtol=1e-6)


def test_untried_actions_have_the_initial_value_and_are_bootstrapped_with_it():
    domain = Corridor()
    task = task_of(domain, [source("only", [1, 1, 1], domain)])
    agent = build_setup(task, "scratch", replace(QUICK, initial_value=7.0)).agent
    table = agent.init(jax.random.key(0))
    np.testing.assert_array_equal(table, np.full((3, 2), 7.0))
    after, _ = agent.update(table, Experience(step(0, 1, 1.0, 1)))
    np.testing.assert_allclose(after[0], [7.0, 7 + 0.5 * (1 + GAMMA * 7 - 7)])


TABLE = jnp.array([[0.2, 0.4], [1.0, 0.5]])
NEXT_PHI = jnp.array([0.1, 0.9])


@pytest.mark.parametrize(
    ("form", "then", "by_hand"),
    [
        (REWARD, 0, 0.3 + 2 * (GAMMA * 0.1 - 0.6) + GAMMA * 1.0),
        (LOOKAHEAD, 1, 0.3 + 2 * (GAMMA * 0.9 - 0.6) + GAMMA * 0.5),
    ],
)
def test_shaped_targets_by_hand(form, then, by_hand):
    """Q(s') = (1, 0.5) prefers action 0; with 2 Φ(s') added it prefers action 1."""
    agent = QLearning(GAMMA, 2, 2, learning_rate=0.5)
    one = jax.tree.map(lambda x: x[0], step(0, 1, 0.3, 1))
    shaping = Shaping(form, 2.0, jnp.array(0.6), NEXT_PHI)
    target = agent.target(TABLE, one, shaping)
    np.testing.assert_allclose(target, by_hand, rtol=1e-6)
    by_formula = td_target(
        *(form, one.reward, jnp.array(0.6), TABLE[1, then], NEXT_PHI[then]),
        *(GAMMA, one.terminated, 2.0),
    )
    np.testing.assert_allclose(target, by_formula, rtol=1e-6)
    ended = agent.target(TABLE, one._replace(terminated=jnp.array(True)), shaping)
    np.testing.assert_allclose(ended, 0.3 - 2 * 0.6, rtol=1e-6)


def test_explicit_learns_the_values_of_no_shaping(keys):
    agent = QLearning(GAMMA, 5, 2)
    batch = transitions_of(Corridor(length=5, cost=-0.2))
    table = jax.random.normal(keys(), (5, 2))
    phi, next_phi = (jax.random.uniform(keys(), shape) for shape in ((10,), (10, 2)))

    def shaped_by(form):
        forms = jax.tree.map(lambda part: jnp.full(10, part), form)
        shaping = Shaping(forms, jnp.full(10, 3.0), phi, next_phi)
        return agent.update(table, Experience(batch, shaping))[0]

    plain = agent.update(table, Experience(batch))[0]
    np.testing.assert_array_equal(shaped_by(EXPLICIT), plain)
    assert np.all(np.abs(shaped_by(REWARD) - plain).max(axis=1) > 1e-3)


def test_a_batch_that_repeats_a_transition_teaches_no_further_than_its_target():
    """Replayed batches hold a transition several times."""
    agent = QLearning(GAMMA, 3, 2, learning_rate=0.8)
    once = step(0, 1, 1.0, 1, terminated=True)
    often = jax.tree.map(lambda x: jnp.repeat(x, 8, axis=0), once)
    after, _ = agent.update(jnp.zeros((3, 2)), Experience(often))
    assert 0.0 < float(after[0, 1]) <= 1.0
