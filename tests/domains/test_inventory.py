"""Inventory: its tables, its likelihood and its optimum, by other ways to the same."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import policymix as pm
from policymix.domains.inventory.sources import forecast_source
from policymix.domains.inventory.task import (
    FORECASTS,
    TRUTH,
    Inventory,
    Sales,
    inventory_family,
    poisson,
    unforeseen_family,
)
from policymix.environments.domain import score_of
from policymix.environments.finite import regret_in, solve
from policymix.sources.policies import policy_of
from policymix.training.source_library import train_library

FAMILIES = {"foreseen": inventory_family(), "unforeseen": unforeseen_family()}
SIZE = 21


@pytest.fixture(scope="module")
def task():
    return pm.load_task("inventory")


def cost(store, stock, order, demand):
    """In plain Python, as one would tell it."""
    available = min(stock + order, store.capacity)
    left = max(available - demand, 0)
    spent = store.fixed_cost if available > stock else 0.0
    spent += store.holding_cost * left + store.lost_cost * max(demand - available, 0)
    return left, spent


@pytest.mark.parametrize(
    ("stock", "order", "demand"),
    [(0, 0, 0), (0, 0, 3), (5, 0, 5), (4, 6, 3), (18, 9, 30), (20, 5, 2), (3, 14, 17)],
)
def test_a_month_costs_what_it_should(stock, order, demand):
    store = inventory_family().target
    left, spent = store.sell(*(jnp.asarray(n) for n in (stock, order, demand)))
    assert (int(left), float(spent)) == cost(store, stock, order, demand)


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
def test_tables_tell_what_steps_do(family):
    store, draws = family.target, 4_000
    tables = store.tables()
    np.testing.assert_allclose(tables.transitions.sum(axis=-1), 1.0, rtol=1e-12)
    step = jax.jit(jax.vmap(store.step, (0, None, None)))
    for state, order in ((0, 9), (5 * SIZE + 3, 0), (11 * SIZE + 12, 14)):
        keys = jax.random.split(jax.random.key(state), draws)
        found = step(keys, jnp.asarray(state), jnp.asarray(order))
        shares = np.bincount(np.asarray(found.next_obs), minlength=12 * SIZE) / draws
        likely = tables.transitions[state, order]
        spread = np.sqrt(likely * (1 - likely) / draws)
        assert np.all(np.abs(shares - likely) <= 5 * spread)
        rewards = np.asarray(found.reward)
        off = rewards.mean() - tables.rewards[state, order]
        assert abs(off) <= 5 * rewards.std() / draws**0.5
        assert not np.any(np.asarray(found.terminated))


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
def test_a_forecasts_likelihood_is_the_probability(family):
    """All 952,560 transitions, those that cannot be included."""
    for store in (family.target, family.sources["summer"]):
        sales, states = Sales(store.demand, store.capacity), jnp.arange(12 * SIZE)
        call = jax.vmap(sales, (None, None, 0))
        call = jax.vmap(jax.vmap(call, (None, 0, None)), (0, None, None))
        found = np.exp(jax.jit(call)(states, jnp.arange(15), states))
        expected = store.tables().transitions
        np.testing.assert_allclose(found, expected, rtol=2e-5, atol=1e-7)
        assert np.all(found[expected == 0.0] == 0.0)


def test_the_optimum_is_the_newsvendors_where_that_is_known():
    """Free orders: fill up to the smallest S with P(D ≤ S) ≥ lost/(lost + holding)."""
    store = Inventory(demand=poisson([4.0]), fixed_cost=0.0)
    ratio = store.lost_cost / (store.lost_cost + store.holding_cost)
    level = int(np.argmax(np.cumsum(store.demand[0]) >= ratio))
    best = solve(store.tables(), store.discount).policy
    assert best[: level + 1].tolist() == list(range(level, -1, -1))


def test_an_order_has_a_point_and_a_level():
    """With a fixed cost: order up to S when the stock is at most s (Scarf 1960)."""
    store = inventory_family().sources["steady"]
    january = solve(store.tables(), store.discount).policy[:SIZE]
    point = int(np.flatnonzero(january).max())
    levels = {stock + int(january[stock]) for stock in range(point + 1)}
    assert len(levels) == 1
    assert 0 < point < levels.pop()


def test_the_target_follows_a_forecast_in_every_month(task):
    family = inventory_family()
    for month, name in enumerate(TRUTH):
        own = family.sources[name].demand[month]
        np.testing.assert_array_equal(family.target.demand[month], own)
        others = [means[month] for other, means in FORECASTS.items() if other != name]
        assert min(abs(m - FORECASTS[name][month]) for m in others) >= 3.5
        for stock in (0, 20):
            place = task.right_source(jnp.asarray(month * SIZE + stock))
            assert task.sources.names[int(place)] == name


def test_no_forecast_suffices_but_each_in_its_months_nearly_does():
    family = inventory_family()
    regret = regret_in(family.target)
    tables = family.target.tables()
    values = solve(tables, family.target.discount).values
    least = -(1 - family.target.discount) * values @ tables.start
    policies = {
        name: solve(store.tables(), store.discount).policy.reshape(12, SIZE)
        for name, store in family.sources.items()
    }
    for policy in policies.values():
        assert regret(policy.ravel()) > 0.5 * least
    right = np.concatenate([policies[name][month] for month, name in enumerate(TRUTH)])
    assert 0 <= regret(right) < 0.01 * least


def test_no_forecast_describes_the_unforeseen():
    """Each finds it less likely than a guess among the months' stocks would."""
    target = unforeseen_family().target
    assert pm.load_task("inventory-unforeseen").right_source is None
    moments = np.asarray(target.demand[0])
    assert moments[0] == moments[12] == 0.5
    for store in unforeseen_family().sources.values():
        surprise = -0.5 * np.log(np.asarray(store.demand)[:, [0, 12]]).sum(axis=1)
        assert surprise.min() > np.log(SIZE)


def test_shipped_sources_are_what_training_makes(task):
    for shipped in task.sources.sources:
        store = inventory_family().sources[shipped.name]
        assert eqx.tree_equal(forecast_source(shipped.name, store), shipped)
        facts = task.facts["sources"][shipped.name]
        assert facts["samples"] == 0
        assert facts["own_score"] == 0.0 < facts["zero_shot"]
        assert facts["own_error"] < facts["target_error"] < facts["own_still"]


def test_the_unforeseen_has_no_sources_of_its_own():
    with pytest.raises(
        pm.errors.DomainError, match=r"policymix sources train inventory$"
    ):
        train_library("inventory-unforeseen")


@pytest.mark.learning
def test_training_is_scored_by_exact_regret(task):
    trained = pm.train(task, "mars", steps=2_000, trials=2, progress=False)
    store = task.domain.family().target
    for agent, row in zip(trained.agents, trained.rows[-2:], strict=True):
        orders = agent.predict(np.arange(store.num_states))
        assert row.score == pytest.approx(float(regret_in(store)(orders)), abs=1e-12)
        assert agent.evaluate() == pytest.approx(row.score, abs=1e-12)
        assert agent.evaluate(advised=False) == pytest.approx(row.alone, abs=1e-12)
        assert row.alone < 0.5
    scores = {row.step: row.score for row in trained.rows}
    assert scores[2_000] < 0.5 < scores[0]


def test_a_finite_target_of_ones_own_is_judged_by_regret():
    store = Inventory(demand=poisson([2.0, 6.0]), capacity=6, largest_order=6)
    source = forecast_source("itself", store)
    task = pm.prepare(pm.TransferTask(store, pm.SourceLibrary([source])))
    assert (task.domain.measure, task.domain.better) == ("regret per step", "lower")
    assert score_of(task.domain, store, policy_of(source.policy), 1, 0) == 0.0
