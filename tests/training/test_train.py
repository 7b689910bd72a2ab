"""The rows that training gives, and the errors that stop it."""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array, Int

from policymix.core.errors import PolicymixError
from policymix.core.types import Discrete, TaskSpec
from policymix.environments.base import AbstractDomain, Step
from policymix.methods.recipes import phi
from policymix.sources.dynamics import LogDensity
from policymix.sources.experts import SourceTask
from policymix.sources.policies import TablePolicy
from policymix.storage.runs import Row
from policymix.training.run import TrialError
from policymix.training.train import train

from support.probes import LONG, MIXED, QUICK, Corridor, best_return, source, task_of

GREEDY = replace(QUICK, epsilon_start=0.0, epsilon_floor=0.0)


@pytest.fixture(scope="module")
def result():
    return train(
        MIXED, "phi1", steps=200, seed=40, trials=2, settings=QUICK, progress=False
    )


def test_a_row_for_every_trial_and_evaluation_from_step_zero_on(result):
    expected = [
        ("probe", "phi1", trial, 40 + trial, step)
        for step in (0, 100, 200)
        for trial in (0, 1)
    ]
    assert [row[:5] for row in result.rows] == expected
    scores = ("score", "alone", "training")
    assert Row._fields == ("domain", "method", "trial", "seed", "step", *scores)


def test_scores_are_the_measure_of_the_domain(result):
    scores = [row.score for row in result.rows]
    np.testing.assert_allclose(scores, best_return(LONG), rtol=1e-5)


def test_a_curve_has_a_row_for_each_evaluation_and_a_column_for_each_trial(result):
    marked = [row._replace(score=row.step + row.trial) for row in result.rows]
    steps, scores = replace(result, rows=tuple(marked)).curve()
    np.testing.assert_array_equal(steps, [0, 100, 200])
    np.testing.assert_array_equal(scores, [[0, 1], [100, 101], [200, 201]])


def test_seeds_beyond_32_bits_are_seeds_of_their_own():
    def curve(seed):
        rows = train(
            MIXED, "scratch", steps=100, seed=seed, settings=QUICK, progress=False
        ).rows
        return [(row.seed, row.training) for row in rows]

    far = curve(2**32)
    assert far[-1][0] == 2**32
    assert far[-1][1] != curve(0)[-1][1]


def test_a_recipe_of_ones_own_gives_its_name_to_the_rows():
    def mine(given):
        return phi(1)(given)

    trained = train(MIXED, mine, steps=100, trials=2, settings=QUICK, progress=False)
    assert {row.method for row in trained.rows} == {"mine"}


@pytest.mark.parametrize(
    ("field", "given"),
    [
        ("steps", {"steps": 0}),
        ("trials", {"trials": 0}),
        ("batch", {"settings": replace(QUICK, batch=0)}),
        ("capacity", {"settings": replace(QUICK, capacity=0)}),
        ("evaluate_every", {"settings": replace(QUICK, evaluate_every=0)}),
        ("evaluation_episodes", {"settings": replace(QUICK, evaluation_episodes=0)}),
        ("refresh_every", {"settings": replace(QUICK, refresh_every=-1)}),
    ],
)
def test_numbers_that_make_no_run_are_named(field, given):
    with pytest.raises(PolicymixError, match=rf"^{field} is (0|-1): .* at least 1"):
        train(MIXED, "phi1", **{"settings": QUICK, "progress": False, **given})


def test_a_table_for_vectors_is_refused():
    with pytest.raises(PolicymixError, match=r"layers=\(64, 64\)"):
        train("cartpole", "scratch", settings=QUICK, progress=False)


class Trap(AbstractDomain):
    """Two starts by chance: 0, where action 0 stays, and 3, where it meets a NaN."""

    horizon: int = eqx.field(static=True, default=200)

    @property
    def spec(self):
        return TaskSpec(Discrete(4), Discrete(2))

    def initial(self, key):
        return 3 * jax.random.bernoulli(key).astype(int)

    def step(self, key, obs, action):
        del key, action
        reward = jnp.where(obs == 2, jnp.nan, 0.0)
        return Step(jnp.maximum(obs - 1, 0), reward, jnp.array(False))


SEED = 20
"""Of a trial that starts at 0, followed by some that do not."""


def failure(task, method, **more):
    with pytest.raises(TrialError) as caught:
        train(task, method, steps=100, settings=GREEDY, progress=False, **more)
    return caught.value


def test_a_reward_that_is_no_number_names_trial_seed_and_step():
    """From 3 to 2 and from 2 to 1: step 0 is sound, step 1 is not."""
    domain = Trap()
    task = task_of(domain, [source("only", [0] * 4, domain)])
    error = failure(task, "scratch", seed=SEED, trials=4)
    place = int(str(error).split("trial ")[1][0])
    assert place > 0
    expected = (
        f"scratch, trial {place} (seed {SEED + place}), step 1: the reward is not"
    )
    assert str(error).startswith(expected)
    reached = [row[2:5] for row in error.rows[-4:]]
    assert reached == [(trial, SEED + trial, 100) for trial in range(4)]
    later = failure(task, "scratch", seed=SEED + place, trials=4)
    assert str(later).startswith(f"scratch, trial 0 (seed {SEED + place}), step 1: the")


class Odd(eqx.Module):
    """A density that is no number where another state leads to this one."""

    state: Int[Array, ""]

    def __call__(self, obs, action, next_obs):
        del action
        return jnp.where((next_obs == self.state) & (obs != next_obs), jnp.nan, 0.0)


def odd_task(predicts, advises):
    """Source "odd" is no number on the way to one state, and in another.

    The checks of a library do not see it: they ask for densities of transitions from a
    state to itself, and try 64 of the 100 states.
    """
    domain = Corridor(length=100, horizon=200)
    sound = source("sound", [1] * 100, domain)
    table = sound.policy.probabilities.at[advises].set(jnp.nan)  # pyright: ignore[reportFunctionMemberAccess]
    density = LogDensity(Odd(jnp.array(predicts)))
    return task_of(domain, [sound, SourceTask("odd", TablePolicy(table), density)])


LATER = 98
"""A state, not probed, that is reached long after the first fault."""


@pytest.mark.parametrize(
    ("predicts", "advises", "what"),
    [(2, LATER, "the prediction"), (LATER, 2, "the advice")],
)
def test_a_source_that_gives_no_number_is_named(predicts, advises, what):
    """Both sources go right, so that step 1 leads from state 1 to state 2."""
    error = failure(odd_task(predicts, advises), "mars")
    assert str(error).startswith(
        f"mars, trial 0 (seed 0), step 1: {what} of source 'odd' is no"
    )
    assert {row.step for row in error.rows} >= {100}
