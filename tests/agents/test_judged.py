"""The rule of `mars`: with exact values nowhere worse than the advice."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from policymix.agents.base import Experience
from policymix.agents.dqn import DQN
from policymix.agents.heads import NetworkHeads, SteadyHeads, TableHeads
from policymix.agents.judged import Judged, rule, sure
from policymix.core.types import Transition
from policymix.environments.finite import Tables, solve, values_of
from policymix.methods.rivals import FOLLOW

STATES, ACTIONS, GAMMA = 6, 3, 0.9


def random_task(rng):
    transitions = rng.dirichlet(np.full(STATES, 0.3), (STATES, ACTIONS))
    rewards = rng.normal(size=(STATES, ACTIONS))
    return Tables(transitions, rewards, np.full(STATES, 1 / STATES))


def action_values(task, policy):
    values = values_of(task, policy, GAMMA)
    return task.rewards + GAMMA * task.transitions @ values


def test_with_exact_values_the_rule_is_nowhere_worse_than_the_mixture():
    """On 1,000 random problems; judges and own values know Q of the policy so far."""
    rng = np.random.default_rng(0)
    decide = jax.jit(jax.vmap(ruled_on_all))
    drawn = [
        (random_task(rng), rng.integers(ACTIONS, size=STATES)) for _ in range(1_000)
    ]
    tasks, policies = zip(*drawn, strict=True)

    def values(policies):
        return np.stack(
            [values_of(*pair, GAMMA) for pair in zip(tasks, policies, strict=True)]
        )

    first = reached = values(policies)
    for _ in range(8):
        exact = np.stack(
            [action_values(*pair) for pair in zip(tasks, policies, strict=True)]
        )
        policies = np.asarray(decide(exact, np.stack(policies)))
        reached = values(policies)
        assert np.all(reached >= first - 1e-4)
    # Repeated, it is policy iteration, which settles on the optimum.
    best = np.stack([solve(task, GAMMA).values for task in tasks])
    assert np.max(best - reached) < 1e-3


def ruled_on_all(exact, advised):
    tried, phi = jnp.ones(ACTIONS), jax.nn.one_hot(advised, ACTIONS)
    judged = jnp.broadcast_to(exact[:, None], (STATES, 4, ACTIONS))
    return jax.vmap(lambda o, j, p: rule(o, j, tried, p, 1.5))(exact, judged, phi)


def test_judges_are_sure_beyond_so_many_deviations():
    lead = jnp.array([1.0, 2.0, 3.0])  # mean 2, deviation 1
    assert sure(lead, 1.9)
    assert not sure(lead, 2.1)


def test_who_has_learned_nothing_follows_the_advice():
    """All leads are zero, and zero is not more than zero."""
    network = NetworkHeads(DQN(GAMMA, (2, 8, ACTIONS)))
    agent = Judged(network, network, GAMMA)
    state = agent.init(jax.random.key(0))
    for advised in range(ACTIONS):
        phi = jax.nn.one_hot(advised, ACTIONS)
        assert agent.ruled(state, jnp.array([0.3, -0.2]), phi) == advised


def test_nobody_is_sure_of_an_action_that_was_never_tried():
    own, judged = jnp.array([0.0, 9.0]), jnp.tile(jnp.array([0.0, 9.0]), (4, 1))
    phi = jnp.array([1.0, 0.0])
    assert rule(own, judged, jnp.array([1.0, 0.0]), phi, 1.0) == 0
    assert rule(own, judged, jnp.array([1.0, 1.0]), phi, 1.0) == 1


def test_one_way_follows_sources_that_are_hardly_believed():
    network = NetworkHeads(DQN(GAMMA, (2, 8, ACTIONS)))
    agent, obs = Judged(network, network, GAMMA), jnp.array([0.3, -0.2])
    state = agent.init(jax.random.key(0))
    for advised in range(ACTIONS):
        phi = 0.01 * jax.nn.one_hot(advised, ACTIONS)
        followed = agent.preferences(state, obs, phi, jnp.asarray(FOLLOW))
        assert jnp.argmax(followed) == advised
    nobody = agent.preferences(state, obs, jnp.zeros(ACTIONS), jnp.asarray(FOLLOW))
    np.testing.assert_array_equal(nobody, agent.steady_values(state, obs))


def test_where_the_own_model_is_believed_the_rule_takes_no_advice():
    own, judged = jnp.array([0.0, 1.0]), jnp.zeros((4, 2))
    assert rule(own, judged, jnp.ones(2), jnp.array([0.4, 0.0]), 1.0) == 1
    assert rule(own, judged, jnp.ones(2), jnp.array([0.6, 0.0]), 1.0) == 0


def tables(**options):
    return TableHeads(STATES, ACTIONS, learning_rate=0.5, **options)


def test_a_table_speaks_of_doubts_in_the_unit_of_returns():
    heads = tables(doubt=1.0)
    state = heads.init(jax.random.key(1), 4)
    one, many = (
        heads.values(state, jnp.asarray(u), jnp.asarray(2)) for u in (1.0, 1e2)
    )
    np.testing.assert_allclose(many, 100 * one, rtol=1e-6)


def test_the_mean_of_a_network_is_over_the_latest_twelfth_of_its_lessons():
    """After n lessons the newest weights count 1 in 1 + n/12: twelve times so far."""
    heads = SteadyHeads(NetworkHeads(DQN(GAMMA, (2, 4, ACTIONS), learning_rate=0.1)), 2)
    state, obs = heads.init(jax.random.key(0), 2), jnp.array([[0.3, -0.2]])
    means, taught = state.means, jnp.ones((1, ACTIONS))
    learn = eqx.filter_jit(heads.fit)
    for lesson in range(1, 13):
        targets = jnp.full((1, 2, ACTIONS), float(lesson))
        state, _ = learn(state, jnp.ones(()), obs, targets, taught)
        newest = state.newest.online.parameters
        share = 1.0 / (1.0 + lesson / 12.0)
        means = jax.tree.map(lambda m, n, w=share: (1 - w) * m + w * n, means, newest)
    for kept, expected in zip(state.means.weights, means.weights, strict=True):
        np.testing.assert_allclose(kept, expected, rtol=1e-5, atol=1e-7)
    by_mean = heads.steady(state, jnp.asarray(3.0), obs[0])
    one = jax.tree.map(lambda x: x[1], state.means)
    np.testing.assert_allclose(by_mean[1], 3.0 * one(obs[0]), rtol=1e-5)


def test_what_is_remembered_counts_less_than_what_is_new():
    heads = tables(doubt=0.0, initial=0.0)
    state = heads.init(jax.random.key(0), 1)
    obs = jnp.array([0, 1])
    taught = jax.nn.one_hot(jnp.array([0, 0]), ACTIONS)
    targets = taught[:, None]
    state, _ = heads.fit(state, jnp.ones(()), obs, targets, taught)
    np.testing.assert_allclose(state.entries[0, :2, 0], [0.5, 0.5**3], rtol=1e-6)
    np.testing.assert_allclose(state.left[:2, 0], [0.5, 1 - 0.5**3], rtol=1e-6)


@pytest.mark.parametrize("unit", [2.0**-7, 2.0**7])
def test_the_unit_of_reward_does_not_matter(unit):
    """A batch in another unit: values in that unit, the same actions."""
    network = NetworkHeads(DQN(GAMMA, (2, 8, ACTIONS), double=True, huber=True))
    agent = Judged(network, network, GAMMA)
    learn = eqx.filter_jit(agent.update)

    def learned(unit):
        state = agent.init(jax.random.key(0))
        for seed in range(20):
            keys = jax.random.split(jax.random.key(seed), 4)
            batch = Transition(
                jax.random.normal(keys[0], (8, 2)),
                jax.random.randint(keys[1], (8,), 0, ACTIONS),
                unit * jax.random.normal(keys[2], (8,)),
                jax.random.normal(keys[3], (8, 2)),
                jnp.zeros(8, bool),
                jnp.zeros(8, bool),
            )
            phi = jnp.full((8, ACTIONS), 1 / ACTIONS)
            latest = jax.tree.map(lambda x: x[:1], batch)
            state = agent.note(state, latest)
            state, _ = learn(
                state, Experience(batch, phi=phi, next_phi=phi, best=jnp.asarray(1))
            )
        return agent.steady_values(state, jnp.array([0.5, 0.1]))

    np.testing.assert_allclose(learned(unit) / unit, learned(1.0), rtol=1e-4, atol=1e-7)
