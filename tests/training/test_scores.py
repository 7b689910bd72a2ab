"""Tests of trials: episodes that nobody else has, and as many as were asked for."""

from dataclasses import replace

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from policymix.core.types import Discrete, TaskSpec
from policymix.environments.base import AbstractDomain, Step
from policymix.training.run import new_run
from policymix.training.train import train

from support.probes import QUICK, source, task_of

TICKETS = 2**14
FEW = replace(QUICK, steps=20, evaluate_every=10, evaluation_episodes=4)


class Lottery(AbstractDomain):
    """Episodes of a step that pays the number of the start, which chance has drawn."""

    horizon: int = 1

    @property
    def spec(self):
        return TaskSpec(Discrete(TICKETS), Discrete(2))

    def initial(self, key):
        return jax.random.randint(key, (), 0, TICKETS)

    def step(self, key, obs, action):
        del key, action
        return Step(obs, obs.astype(float), jnp.array(True))


class HostLottery(gymnasium.Env):
    """The same for Gymnasium, with chances of its own."""

    observation_space = gymnasium.spaces.Discrete(TICKETS)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self._ticket = int(self.np_random.integers(TICKETS))
        return self._ticket, {}

    def step(self, action):
        return self._ticket, float(self._ticket), True, False, {}


TASK = task_of(Lottery(), [source("only", [0] * TICKETS, Lottery())])
ELSEWHERE = replace(TASK.domain.family(), target=HostLottery)
HOST = replace(TASK, target=replace(TASK.domain, family=lambda: ELSEWHERE))
LOOPS = pytest.mark.parametrize("task", [TASK, HOST], ids=["compiled", "host"])


def loop_of(task, seed=0, trials=2):
    return new_run(task, "scratch", FEW, seed, trials).loop


def starts(loop, episodes=40, alone=False):
    """Those of a test, one row for each trial."""
    lengths, totals = loop.evaluate(episodes, alone)
    assert lengths.shape == totals.shape
    assert (lengths == 1).all()
    return totals


def shared(*tests):
    """How many starts two tests have in common."""
    return len(np.intersect1d(*tests))


@LOOPS
def test_no_two_trials_are_tested_on_the_same_starts(task):
    """Of 40 tickets out of 16,384, a pair of tests shares 0.1 by chance."""
    tuned, reported = starts(loop_of(task, 1_000)), starts(loop_of(task, 0))
    everyone = [*tuned, *reported]
    assert [shared(one, one) for one in everyone] == pytest.approx([40] * 4, abs=1)
    pairs = [(i, j) for i in range(4) for j in range(i)]
    assert sum(shared(everyone[i], everyone[j]) for i, j in pairs) <= 3


@LOOPS
def test_tests_are_a_trials_own_whatever_runs_beside_it(task):
    beside, alone = starts(loop_of(task, 3, trials=3)), starts(loop_of(task, 4, 1))
    np.testing.assert_array_equal(beside[1], alone[0])


@LOOPS
def test_a_longer_test_begins_with_a_shorter_one(task):
    loop = loop_of(task)
    longer, shorter = starts(loop, 10), starts(loop, 3)
    assert (longer.shape, shorter.shape) == ((2, 10), (2, 3))
    np.testing.assert_array_equal(longer[:, :3], shorter)


@LOOPS
def test_every_test_is_new_but_for_the_one_without_sources(task):
    loop = loop_of(task)
    first = starts(loop)
    np.testing.assert_array_equal(starts(loop, alone=True), first)
    loop.advance(10)
    assert shared(starts(loop), first) <= 3


@LOOPS
def test_the_last_test_has_its_own_number_of_episodes(task):
    settings, run = replace(FEW, final_episodes=10), new_run(task, "scratch", FEW)
    result = train(task, "scratch", settings=settings, progress=False)
    expected = []
    for episodes in (4, 4, 10):
        expected.append(starts(run.loop, episodes).mean())
        run.loop.advance(10)
    np.testing.assert_allclose([row.score for row in result.rows], expected)
