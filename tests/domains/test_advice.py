"""Imperfect advice is spoilt as it says, and in nothing else."""

from dataclasses import replace
from functools import cache
from itertools import pairwise

import jax.numpy as jnp
import numpy as np
import pytest

import policymix as pm
from policymix.domains.cartpole.advice import WEAK_RANGE
from policymix.domains.inventory.advice import BELIEVED_COST
from policymix.environments.episodes import play
from policymix.environments.finite import regret_in
from policymix.environments.registry import GROUPS, find_domain
from policymix.experiments.plans import plan
from policymix.sources.fingerprint import fingerprint
from policymix.sources.policies import policy_of

KINDS = GROUPS["advice"]
ALTERED = [name for name in KINDS if find_domain(name).alter is not None]


@cache
def task_of(name):
    """Each is read once."""
    if name.startswith("lander"):
        pytest.importorskip("Box2D")
    return pm.load_task(name)


def parts(task, part):
    return [getattr(source, part) for source in task.sources.sources]


def actions_of(task, states):
    return [policy_of(policy)(states) for policy in parts(task, "policy")]


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_loads_and_is_compared_with_the_baselines_at_their_best(name):
    task = pm.prepare(task_of(name))
    assert not task.is_own
    assert task.domain.name == name
    experiment = plan(task, seed=0, quick=False)
    methods = [part.name for part in experiment.parts]
    replayed = () if experiment.settings.layers else ("scratch-replay",)
    assert methods == ["mars", "follow", "vote", "scratch", "mars-explicit", *replayed]
    assert experiment.trials == (10 if name == "lander-weak" else 20)
    assert len(set(map(fingerprint, task.sources.sources))) == len(task.sources)


@pytest.mark.parametrize("percent", [0, 5, 20, 50, 100])
def test_a_share_of_the_cells_is_spoilt_and_the_others_are_not(percent):
    states = np.arange(841)
    clean = actions_of(task_of("maze"), states)
    spoilt = actions_of(task_of(f"maze-spoilt-{percent}"), states)
    all_random = actions_of(task_of("maze-spoilt-100"), states)
    for before, after, anything in zip(clean, spoilt, all_random, strict=True):
        changed = before != after
        np.testing.assert_array_equal(after[changed], anything[changed])
        # A random action is by chance the old one in a quarter of the cells.
        cells = round(percent / 100 * 841)
        assert changed.sum() <= cells
        assert abs(changed.sum() - 0.75 * cells) <= 4 * np.sqrt(0.19 * cells)


def test_a_larger_share_spoils_the_same_cells_and_more():
    states = np.arange(841)
    clean = np.array(actions_of(task_of("maze"), states))
    changed = [
        np.array(actions_of(task_of(f"maze-spoilt-{percent}"), states)) != clean
        for percent in (0, 5, 20, 50, 100)
    ]
    for fewer, more in pairwise(changed):
        assert np.all(fewer <= more)
        assert fewer.sum() < more.sum()


def test_in_the_wrong_rooms_policies_are_one_place_further():
    states = np.arange(841)
    clean = actions_of(task_of("maze"), states)
    moved = actions_of(task_of("maze-wrong-rooms"), states)
    np.testing.assert_array_equal(moved, [*clean[1:], clean[0]])


@pytest.mark.parametrize("name", ALTERED)
def test_nothing_but_policies_is_changed_unless_all_is_wrong(name):
    usual = task_of(name.partition("-")[0]).sources.sources
    for ours, theirs in zip(task_of(name).sources.sources, usual, strict=True):
        mended = fingerprint(replace(ours, policy=theirs.policy))
        assert (mended == fingerprint(theirs)) == (name != "cartpole-useless")


def test_a_useless_model_moves_by_its_shift_times_the_action():
    for model in parts(task_of("cartpole-useless"), "dynamics"):
        obs = jnp.array([0.1, -0.2, 0.05, 0.3])
        moves = [np.asarray(model(obs, action) - obs) for action in jnp.arange(4)]
        for action, move in enumerate(moves):
            np.testing.assert_allclose(move, (action + 1) * moves[0], atol=1e-5)
        assert np.abs(moves[0]).max() > 0.1


def test_weak_sources_are_worth_something_but_not_much():
    facts = task_of("cartpole-weak").facts["sources"]
    assert len(facts) == len(task_of("cartpole-weak").sources)
    for source in facts.values():
        assert WEAK_RANGE[0] <= source["zero_shot"] <= WEAK_RANGE[1]


def test_unselected_sources_differ_from_the_shipped_in_their_policies_alone():
    ours, usual = task_of("cartpole-unselected"), task_of("cartpole")
    for mine, known in zip(ours.sources.sources, usual.sources.sources, strict=True):
        assert fingerprint(mine) != fingerprint(known)
        mended = replace(mine, policy=known.policy)
        assert fingerprint(mended) == fingerprint(known)
        home, selected = (t.facts["sources"][mine.name] for t in (ours, usual))
        assert home["samples"] == selected["samples"]
        assert home["own_score"] < selected["own_score"]


def test_the_weak_lander_differs_in_one_policy():
    weak, usual = task_of("lander-weak"), task_of("lander")
    prints = [list(map(fingerprint, t.sources.sources)) for t in (weak, usual)]
    same = [one == other for one, other in zip(*prints, strict=True)]
    assert dict(zip(weak.sources.names, same, strict=True)) == {
        "hover": True,
        "land": False,
        "low-mass": True,
    }
    land, finished = (t.sources.sources[1] for t in (weak, usual))
    mended = replace(land, policy=finished.policy)
    assert fingerprint(mended) == fingerprint(finished)
    ours, theirs = (task.facts["sources"]["land"] for task in (weak, usual))
    assert ours["samples"] == 160_000
    assert ours["own_score"] < theirs["own_score"]


def test_orders_for_the_wrong_cost_are_the_best_for_it_and_smaller():
    worlds = find_domain("inventory-wrong-cost").family().sources
    states = np.arange(252)
    wrong = actions_of(task_of("inventory-wrong-cost"), states)
    right = actions_of(task_of("inventory"), states)
    for orders, usual, world in zip(wrong, right, worlds.values(), strict=True):
        assert world.lost_cost == BELIEVED_COST
        regrets = regret_in(world)(np.stack([orders, usual]))
        assert regrets[0] == pytest.approx(0.0, abs=1e-9)
        assert regrets[1] > 0.1
        assert orders.sum() < usual.sum()


@pytest.mark.parametrize(("name", "pay"), [("cents", 0.01), ("dollars", 100.0)])
def test_another_pay_scales_returns_and_leaves_lengths_and_scores(name, pay):
    usual, paid = (find_domain(f"cartpole-{n}") for n in ("ones", name))
    assert usual.score is not None
    assert paid.score is not None

    def push(obs):
        return np.zeros(len(obs), int)

    pairs = [play(domain.target, push, 4, seed=0) for domain in (usual, paid)]
    for one, other in zip(*pairs, strict=True):
        assert one.length == other.length
        assert other.total == pytest.approx(pay * one.total, rel=1e-5)
        scores = usual.score(one), paid.score(other)
        assert scores == pytest.approx((one.total, one.total), rel=1e-5)
    assert {episode.terminated for episode in pairs[0]} == {True}
