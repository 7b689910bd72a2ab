"""Learning once every few samples: when, from what, and wherever chunks end."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from policymix.core.errors import PolicymixError
from policymix.core.returns import no_returns, note_reward, note_rewards
from policymix.training.lockstep import Plan
from policymix.training.train import train

from support.probes import MIXED, QUICK, on_host

ON_HOST = on_host(MIXED)


def learned(task, method="mars", steps=100, **changes):
    settings = replace(QUICK, **{"learn_every": 3, "evaluate_every": 50, **changes})
    told = train(task, method, steps=steps, settings=settings, progress=False)
    return told.agents[0].trial


def test_lessons_are_after_every_kth_sample_wherever_a_chunk_begins():
    plan = Plan(10, 32, 500, "step", learn_every=4)
    whole = [step for step in range(20) if plan.of(20, 0).lesson_after(step)]
    parts = [
        first + step
        for first, length in ((0, 7), (7, 6), (13, 7))
        for step in range(length)
        if plan.of(length, first).lesson_after(step)
    ]
    assert whole == parts == [3, 7, 11, 15, 19]


@pytest.mark.parametrize("task", [MIXED, ON_HOST], ids=["compiled", "host"])
def test_a_lesson_for_every_k_samples(task):
    given = {"layers": (2,), "batch": 4, "learn_every": 4, "evaluate_every": 9}
    adam = learned(task, "scratch", 23, **given).agent.online.memory[0]
    assert int(adam.count) == 5


@pytest.mark.parametrize(
    ("task", "method"), [(MIXED, "scratch-replay"), (ON_HOST, "mars")]
)
def test_what_is_learned_does_not_depend_on_where_chunks_end(task, method):
    often, seldom = (learned(task, method, evaluate_every=n) for n in (20, 50))
    for one, other in zip(*map(jax.tree.leaves, (often, seldom)), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def test_the_host_learns_what_the_compiled_loop_learns():
    host, compiled = learned(ON_HOST), learned(MIXED)
    jax.tree.map(np.testing.assert_array_equal, host.behaviour, compiled.behaviour)
    for one, other in zip(*map(jax.tree.leaves, (host, compiled)), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def test_no_sample_is_passed_over():
    """The returns whose spread is the unit of reward are those of every sample."""
    assert int(learned(MIXED).agent.returns.steps) == 99


@pytest.mark.parametrize("updates", [1, 7, "episode"])
def test_every_step_of_an_episode_is_noted_once_however_many_updates_follow(updates):
    trial = learned(MIXED, updates=updates, learn_every=1)
    assert int(trial.agent.returns.steps) == int(np.sum(trial.behaviour.steps)) > 50
    assert float(trial.agent.returns.total) == 0.0


def test_rewards_noted_together_are_those_noted_one_by_one():
    rewards, ended = jnp.array([1.0, -2.0, 0.5]), jnp.array([False, True, False])
    together = note_rewards(no_returns(), rewards, ended, 0.9)
    one_by_one = no_returns()
    for reward, end in zip(rewards, ended, strict=True):
        one_by_one = note_reward(one_by_one, reward, end, 0.9)
    jax.tree.map(np.testing.assert_allclose, together, one_by_one)


@pytest.mark.parametrize("name", ["batch", "capacity"])
def test_a_lesson_has_room_for_all_samples_since_the_one_before(name):
    small = replace(QUICK, learn_every=9, **{name: 8})
    with pytest.raises(PolicymixError, match=f"learn_every is 9, but {name} is 8"):
        train(MIXED, settings=small, progress=False)
