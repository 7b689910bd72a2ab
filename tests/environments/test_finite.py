"""Exact values: known chains, Bellman's equation, and what regret is made of."""

import numpy as np
import pytest

from policymix.domains.inventory.task import inventory_family
from policymix.environments.finite import Tables, regret_in, solve, values_of

DISCOUNT = 0.9


def random_tables(rng, states=6, actions=4):
    transitions = rng.dirichlet(np.full(states, 0.5), (states, actions))
    return Tables(
        transitions,
        rng.normal(size=(states, actions)),
        rng.dirichlet(np.ones(states)),
    )


def every_policy(states, actions):
    return np.stack(np.meshgrid(*[np.arange(actions)] * states), -1).reshape(-1, states)


def test_a_chain_that_ends_is_worth_what_is_left():
    """Two states: one pays 1 and ends half the time, the other pays 2 and stays."""
    transitions = np.array([[[0.5, 0.0]], [[0.0, 1.0]]])
    tables = Tables(transitions, np.array([[1.0], [2.0]]), np.array([1.0, 0.0]))
    values = values_of(tables, np.zeros(2, int), DISCOUNT)
    np.testing.assert_allclose(values, [1 / (1 - 0.45), 2 / 0.1], rtol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_the_solution_is_the_best_of_all_policies(seed):
    tables = random_tables(np.random.default_rng(seed), states=4, actions=3)
    best = solve(tables, DISCOUNT)
    everything = values_of(tables, every_policy(4, 3), DISCOUNT)
    np.testing.assert_allclose(best.values, everything.max(axis=0), rtol=1e-10)
    np.testing.assert_allclose(best.action_values.max(axis=1), best.values, rtol=1e-10)


def test_equal_actions_do_not_go_round_in_circles():
    transitions = np.full((3, 2, 3), 1 / 3)
    best = solve(Tables(transitions, np.ones((3, 2)), np.ones(3) / 3), 0.99)
    assert best.policy.tolist() == [0, 0, 0]


@pytest.mark.parametrize("seed", range(3))
def test_regret_is_the_sum_of_what_each_action_gives_away(seed):
    """The performance-difference lemma, over the states that a policy visits."""
    target = inventory_family().target
    tables, discount = target.tables(), target.discount
    best = solve(tables, discount)
    policy = np.random.default_rng(seed).integers(15, size=target.num_states)
    states = np.arange(target.num_states)
    chain = tables.transitions[states, policy]
    visits = np.linalg.solve(np.eye(len(states)) - discount * chain.T, tables.start)
    given_away = best.values - best.action_values[states, policy]
    expected = (1 - discount) * visits @ given_away
    np.testing.assert_allclose(regret_in(target)(policy), expected, rtol=1e-9)
