"""Both loops: repeatable, independent of company, and the same."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from policymix.training.lessons import updates_due
from policymix.training.lockstep import Plan
from policymix.training.run import new_run
from policymix.training.train import train

from support.probes import (
    LONG,
    MIXED,
    QUICK,
    Endless,
    best_return,
    on_host,
    source,
    task_of,
)


def run(task, method, steps=300, seed=0, trials=1, cores=2, **changes):
    settings = replace(QUICK, **changes)
    return train(
        task,
        method,
        steps=steps,
        seed=seed,
        trials=trials,
        settings=settings,
        cores=cores,
        progress=False,
    )


def outcome(result, trial):
    """Steps and scores of one trial."""
    return [(row.step, row.score) for row in result.rows if row.trial == trial]


def state(result, trial):
    return result.agents[trial].trial


def differ(one, other):
    """Whether anything in two trees does."""
    pairs = zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True)
    return any(np.any(np.asarray(a) != np.asarray(b)) for a, b in pairs)


def test_the_same_seed_gives_the_same_rows():
    first, again, other = (run(MIXED, "mars", seed=s, trials=2) for s in (0, 0, 7))
    assert first.rows == again.rows
    jax.tree.map(np.testing.assert_array_equal, state(first, 1), state(again, 1))
    assert differ(state(first, 0).agent, state(other, 0).agent)
    assert differ(state(first, 0).agent, state(first, 1).agent)


def test_a_trial_does_not_depend_on_those_beside_it():
    alone, beside = (run(MIXED, "mars", seed=s, trials=n) for s, n in ((3, 1), (2, 2)))
    assert outcome(alone, 0) == outcome(beside, 1)
    one, other = (
        jax.tree.leaves((trial.agent, trial.mixture, trial.behaviour))
        for trial in (state(alone, 0), state(beside, 1))
    )
    for mine, same in zip(one, other, strict=True):
        np.testing.assert_allclose(mine, same, rtol=1e-5, atol=1e-5)


def test_trials_need_not_be_a_multiple_of_the_cores():
    three, four = (run(MIXED, "scratch", 1_000, trials=n) for n in (3, 4))
    assert len(three.agents) == 3
    assert {row.trial for row in three.rows} == {0, 1, 2}
    for trial in range(3):
        assert outcome(three, trial) == outcome(four, trial)
        np.testing.assert_array_equal(
            state(three, trial).agent, state(four, trial).agent
        )


@pytest.mark.parametrize("task", [MIXED, on_host(MIXED)], ids=["compiled", "host"])
def test_nothing_depends_on_the_number_of_cores(task):
    one, two = (run(task, "scratch", trials=7, cores=n) for n in (1, 2))
    assert one.rows == two.rows
    for trial in range(7):
        jax.tree.map(
            np.testing.assert_array_equal, state(one, trial), state(two, trial)
        )


SHARDS = """
from dataclasses import replace
import jax, numpy as np
from policymix.core.progress import silent
from policymix.training.run import carry_out, new_run
from support.probes import MIXED, QUICK

def learned(every=100, **told):
    settings = replace(QUICK, evaluate_every=every, steps=300)
    run = new_run(MIXED, "mars", settings, lanes=2, **told)
    carry_out(run, silent, "mars")
    return [jax.tree.leaves(agent.trial.agent) for agent in run.agents()]

def same(one, other):
    jax.tree.map(np.testing.assert_array_equal, one, other)

alone = learned(trials=4, cores=1)
same(learned(trials=4), alone)
same(learned(trials=2, seed=2), alone[2:])
same(learned(trials=2, every=20), alone[:2])
"""


def test_what_is_learned_depends_neither_on_shards_nor_on_looks():
    """Nor on other shards, to the last bit, with XLA as users have it."""
    folder = Path(__file__).parents[1]
    program = subprocess.run(
        [sys.executable, "-c", SHARDS],
        cwd=folder,
        env={**os.environ, "XLA_FLAGS": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert program.returncode == 0, program.stderr


@pytest.mark.parametrize(
    ("method", "trials"), [("scratch", 3), ("phi1", 1), ("mars", 2)]
)
def test_the_host_loop_learns_what_the_compiled_loop_learns(method, trials):
    compiled = run(MIXED, method, trials=trials)
    host = run(on_host(MIXED), method, trials=trials)
    assert [row[2:5] for row in host.rows] == [row[2:5] for row in compiled.rows]
    scores = [[row[5:] for row in loop.rows] for loop in (host, compiled)]
    np.testing.assert_allclose(*scores, rtol=1e-5)
    for trial in range(trials):
        mine, same = state(host, trial), state(compiled, trial)
        jax.tree.map(np.testing.assert_array_equal, mine.agent, same.agent)
        jax.tree.map(np.testing.assert_array_equal, mine.behaviour, same.behaviour)
        for one, other in zip(*map(jax.tree.leaves, (mine, same)), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
        assert differ(mine.agent, jax.tree.map(jnp.zeros_like, mine.agent))


def test_the_host_loop_reaches_the_optimum():
    rows = run(on_host(MIXED), "phi1", 100).rows
    assert rows[-1].score == pytest.approx(best_return(LONG))


@pytest.mark.parametrize(("ends", "worth"), [(False, 10.0), (True, 1.0)])
def test_truncation_bootstraps_and_termination_does_not(ends, worth):
    domain = Endless(ends=ends)
    task = task_of(domain, [source("only", [0], domain)])
    table = state(run(task, "scratch", 500), 0).agent
    np.testing.assert_allclose(table, np.full((1, 2), worth), rtol=1e-4)


def test_rows_have_the_mean_return_of_training_episodes():
    """Every episode of the endless task returns five, whatever was explored."""
    domain = Endless()
    task = task_of(domain, [source("only", [0], domain)])
    rows = run(task, "scratch", 7, evaluate_every=4).rows
    np.testing.assert_array_equal([row.step for row in rows], [0, 4, 7])
    told = [row.training for row in rows]
    np.testing.assert_array_equal(told, [np.nan, np.nan, 5.0])


def test_updates_after_an_episode_are_its_steps_or_a_number():
    lengths, ended = jnp.array([5, 8, 2]), jnp.array([True, False, True])
    by_length = updates_due(Plan(1, 1, 1, "episode"), lengths, ended)
    np.testing.assert_array_equal(by_length, [5, 0, 2])
    by_number = updates_due(Plan(1, 1, 1, 7), lengths, ended)
    np.testing.assert_array_equal(by_number, [7, 0, 7])


@pytest.mark.parametrize(("updates", "count"), [("episode", 20), (3, 12)])
def test_the_learner_is_updated_as_often_as_was_asked(updates, count):
    """23 steps are four episodes of five steps, and three steps of the next."""
    domain = Endless()
    task = task_of(domain, [source("only", [0], domain)])
    result = run(task, "scratch", 23, updates=updates, layers=(2,), batch=2)
    adam = state(result, 0).agent.online.memory[0]
    assert int(adam.count) == count


def test_a_table_that_learns_after_episodes_reaches_the_optimum():
    result = run(MIXED, "scratch", 1_000, trials=4, updates="episode")
    np.testing.assert_allclose(result.curve()[1][-1], best_return(LONG), rtol=1e-5)


def test_as_printed_rewards_are_shaped_with_the_action_that_was_taken_next():
    """Fifteen steps of the first episode: nothing is learned yet, so Φ is the first."""
    settings = replace(QUICK, steps=15, evaluate_every=15, refresh_every=15)
    training = new_run(MIXED, "mars-printed", settings)
    *_, _ = training.pauses()
    (trial,), setup = training.agents(), training.setup
    rows = jnp.asarray(training.loop.rows[0, :15])
    steps, _ = jax.vmap(setup.layout.unpack)(rows)
    assert not np.any(steps.terminated)
    phi = jax.vmap(lambda s: setup.phi(trial.trial, s, setup.advise(s)))(steps.obs)
    taken = np.asarray(phi)[np.arange(15), np.asarray(steps.action)]
    shaped = QUICK.scale * (QUICK.discount * taken[1:] - taken[:-1])
    np.testing.assert_allclose(steps.reward[:-1], float(LONG.cost) + shaped, atol=1e-5)


def test_options_that_learn_after_episodes_learn_when_to_be_left():
    """From every step of an episode, not only from its end, which is left anyway."""
    exits = state(run(MIXED, "caps", 300, updates="episode"), 0).agent.exits
    assert np.count_nonzero(np.any(np.asarray(exits) != 0.0, axis=0)) > 2


def test_the_last_chunk_may_be_shorter():
    steps, scores = run(MIXED, "scratch", 250, trials=4).curve()
    assert steps.tolist() == [0, 100, 200, 250]
    assert scores.shape == (4, 4)
    assert run(MIXED, "scratch", 50, trials=4).curve()[0].tolist() == [0, 50]


def test_what_is_learned_does_not_depend_on_how_often_one_looks():
    """On the host's loop; for the compiled one see the test of devices above."""
    task = on_host(MIXED)
    often, seldom = (run(task, "mars", evaluate_every=n) for n in (20, 100))
    assert set(outcome(seldom, 0)) < set(outcome(often, 0))
    assert not differ(state(often, 0).agent, state(seldom, 0).agent)


def test_work_pauses_where_it_is_asked_to():
    few = replace(QUICK, steps=200)
    run = new_run(MIXED, "scratch", few, 0, 2, stops=(0, 40, 200))
    moments = [(p.step, p.taken, len(p.rows)) for p in run.pauses()]
    assert moments == [(0, 0, 2), (40, 80, 0), (100, 120, 2), (200, 200, 2)]


def test_targets_are_copied_when_they_are_due():
    domain = Endless()
    task = task_of(domain, [source("only", [0], domain)])
    given = {"updates": 3, "layers": (2,), "batch": 2, "evaluate_every": 23}
    copied, stale = (
        state(run(task, "scratch", 23, refresh_every=every, **given), 0).agent
        for every in (23, 46)
    )
    learned = copied.online.parameters.weights[0]
    np.testing.assert_array_equal(learned, stale.online.parameters.weights[0])
    np.testing.assert_allclose(copied.target.weights[0], learned, rtol=1e-6)
    assert np.all(np.abs(stale.target.weights[0] - learned) > 1e-4)
