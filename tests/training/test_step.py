"""One step of a trial: what is chosen, what is remembered and what is learned."""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from policymix.methods.method import Method
from policymix.methods.recipes import always
from policymix.methods.trust import Fixed
from policymix.training.greedy import greedy
from policymix.training.recall import shaping_of
from policymix.training.setup import build_setup
from policymix.training.step import Outcome, choose, learn, observe
from policymix.training.stops import faults
from policymix.training.trial import begin

from support.probes import HELPFUL, LONG, MIXED, QUICK, RIGHT, WRONG, calm

watch, start = eqx.filter_jit(observe), eqx.filter_jit(begin)


def outcome_of(next_obs=1, reward=0.5, terminated=False, truncated=False, obs=None):
    return Outcome(
        jnp.array(next_obs),
        jnp.array(reward),
        jnp.array(terminated),
        jnp.array(truncated),
        jnp.array(next_obs if obs is None else obs),
    )


def begun(method, task=MIXED, obs=0):
    problem = build_setup(task, method, QUICK)
    return problem, start(problem, jax.random.key(1), jnp.array(obs))


def see(problem, trial, outcome, action=1, step=0):
    noise = calm(problem.method.leader.advised.size)
    choice = jnp.array(action), jnp.array(-1)
    return watch(problem, trial, choice, outcome, noise, jnp.array(step))


def test_an_arm_without_advice_acts_on_values_alone():
    """Advice is right, by 1; the values are left, by 0.1."""
    problem, trial = begun("phi1", HELPFUL)
    trial = trial._replace(agent=trial.agent.at[:, 0].set(0.1))
    alone = trial._replace(behaviour=trial.behaviour._replace(arm=jnp.array(1)))
    assert int(choose(problem, trial, calm(2))[0]) == 1
    assert int(choose(problem, alone, calm(2))[0]) == 0


def test_a_test_goes_by_the_arm_that_proved_better_not_by_the_one_that_leads():
    problem, trial = begun("phi1", HELPFUL)
    trial = trial._replace(agent=trial.agent.at[:, 0].set(0.1))
    memory = trial.behaviour._replace(
        means=jnp.array([0.0, 1.0]),
        counts=jnp.array([2.0, 2.0]),
        range=jnp.array([0.0, 1.0]),
    )
    assert int(memory.arm) == 0
    assert int(greedy(problem, trial, jnp.array(3))) == 1
    proved = trial._replace(behaviour=memory)
    assert int(greedy(problem, proved, jnp.array(3))) == 0


def test_a_row_holds_the_transition_and_what_sources_said_of_it():
    """The bad source expects another next state, so its likelihood is its floor."""
    problem, trial = begun("mars-lookahead", obs=2)
    _, row = see(problem, trial, outcome_of(3, 0.5, truncated=True, obs=0))
    step, (likelihoods, advice, next_advice) = problem.layout.unpack(row)
    facts = [float(part) for part in step]
    assert facts == [2, 1, 0.5, 3, False, True]
    np.testing.assert_allclose(likelihoods, np.log([1.0, 1e-3]), rtol=1e-5)
    np.testing.assert_array_equal(advice, [0, 1, 1, 0])
    np.testing.assert_array_equal(next_advice, [0, 1, 1, 0])


@pytest.mark.parametrize(
    ("terminated", "truncated"), [(False, False), (True, False), (False, True)]
)
def test_a_trial_goes_on_at_the_next_state_or_at_a_new_start(terminated, truncated):
    problem, trial = begun("caps", obs=2)
    over = terminated or truncated
    told = outcome_of(3, 0.5, terminated, truncated, obs=0 if over else 3)
    after, row = see(problem, trial, told)
    assert int(after.obs) == (0 if over else 3)
    assert int(problem.layout.unpack(row)[0].next_obs) == 3
    memory = after.behaviour
    assert (int(memory.episode), int(memory.elapsed)) == ((1, 0) if over else (0, 1))


def test_the_first_fault_is_kept_and_named():
    problem, trial = begun("mars")
    trial, _ = see(problem, trial, outcome_of(), step=6)
    assert int(trial.fault.code) == 0
    trial, _ = see(problem, trial, outcome_of(reward=np.nan), step=7)
    names = faults(MIXED.sources.names)
    assert int(trial.fault.step) == 7
    assert names[int(trial.fault.code)] == "the reward is not a finite number"
    row = jnp.full(problem.layout.width, jnp.nan)
    later = learn(problem, trial, row[None], row[None], jnp.array(8))
    assert int(later.fault.step) == 7
    fresh = begun("mars")[1]
    lost = learn(problem, fresh, row[None], row[None], jnp.array(8)).fault
    assert int(lost.step) == 8
    assert names[int(lost.code)] == "the learner's loss is not a finite number"


def test_every_source_has_a_fault_of_its_own():
    """Codes count the learner's faults, then predictions, then advice."""
    names = faults(("good", "bad"))
    begins = [
        "the prediction of source 'good'",
        "the prediction of source 'bad'",
        "the advice of source 'good'",
        "the advice of source 'bad'",
    ]
    for name, begun_with in zip(names[4:], begins, strict=True):
        assert name.startswith(begun_with)


def test_learning_is_one_update_from_the_latest_row():
    """A table learns from each transition as it comes, whatever is replayed."""
    problem, trial = begun("scratch")
    after, row = see(problem, trial, outcome_of(1, 0.5))
    other = see(problem, trial, outcome_of(0, -9.0), action=0)[1]
    learned = learn(problem, after, other[None], row[None], jnp.array(0))
    expected = np.zeros((LONG.length, 2))
    expected[0, 1] = QUICK.learning_rate * 0.5
    np.testing.assert_allclose(learned.agent, expected, rtol=1e-6)


def test_a_table_with_replay_learns_the_newest_row_first_and_then_the_others():
    problem, trial = begun("scratch-replay")
    after, row = see(problem, trial, outcome_of(1, 0.5))
    other = see(problem, trial, outcome_of(0, -9.0), action=0)[1]
    rows = jnp.stack([other, other])
    learned = learn(problem, after, rows, row[None], jnp.array(0))
    expected = np.zeros((LONG.length, 2))
    expected[0] = QUICK.learning_rate * np.array([-9.0, 0.5])
    np.testing.assert_allclose(learned.agent, expected, rtol=1e-6)


def test_replayed_transitions_are_shaped_by_the_beliefs_of_today():
    problem, before = begun("mars-lookahead")
    seen, row = see(problem, before, outcome_of(1, 0.0))
    rows = jnp.repeat(row[None], QUICK.batch, axis=0)

    def sure(_, trial):
        return learn(problem, trial, rows, row[None], jnp.array(0))

    after = jax.jit(lambda trial: jax.lax.fori_loop(0, 300, sure, trial))(seen)
    step, (_, advice, next_advice) = problem.layout.unpack(row)
    given = step, advice.reshape(2, 2), next_advice.reshape(2, 2)
    assert problem.mixture is not None
    for trial in (seen, after):
        shaping = shaping_of(problem, trial, *given)
        good = problem.mixture.weights(trial.mixture, step.obs)[0]
        np.testing.assert_allclose(shaping.phi, good, rtol=1e-6)
    assert float(shaping_of(problem, seen, *given).phi) < 0.8
    assert float(shaping_of(problem, after, *given).phi) > 0.95


def test_guided_exploration_does_what_its_source_does():
    """Half of all exploration is led: by a source that keeps leading for a while."""

    def recipe(given):
        return Method(Fixed([0.5, 0.5]), leader=always())

    settings = replace(QUICK, epsilon_start=1.0, guidance=0.5)
    problem = build_setup(MIXED, recipe, settings)
    trial = begin(problem, jax.random.key(0), jnp.array(3))
    noise = calm()._replace(anything=jnp.array(0.99), guide=jnp.array(0.9))
    epsilon = float(problem.epsilon(trial.behaviour.episode))
    led = noise._replace(explore=jnp.array(0.49 * epsilon), follow=jnp.array(0.5))
    action, option = choose(problem, trial, led)
    assert (int(action), int(option)) == (WRONG[3], 1)
    free = noise._replace(explore=jnp.array(0.51 * epsilon))
    assert int(choose(problem, trial, free)[0]) == 1
    led_on = led._replace(guide=jnp.array(0.1))
    running = trial._replace(behaviour=trial.behaviour._replace(option=option))
    assert int(choose(problem, running, led_on)[1]) == 1
    changed = led_on._replace(leave=jnp.array(0.001))
    assert [int(x) for x in choose(problem, running, changed)] == [RIGHT[3], 0]


@pytest.mark.parametrize("method", ["mapse", "oracle", "phi1", "phi2"])
def test_every_method_that_listens_to_sources_explores_by_them(method):
    """A single source leads by itself; of several the first does here."""
    settings = replace(QUICK, epsilon_floor=1.0, guidance=1.0)
    problem = build_setup(MIXED, method, settings)
    trial = begin(problem, jax.random.key(0), jnp.array(3))
    advised = jnp.argmax(problem.method.leader.advised)
    trial = trial._replace(behaviour=trial.behaviour._replace(arm=advised))
    source = 1 if method == "phi2" else 0
    expected = (RIGHT, WRONG)[source][3]
    noise = calm()._replace(
        explore=jnp.array(0.5),
        anything=jnp.array(0.99 * (1 - expected)),
        guide=jnp.array(0.1),
        follow=jnp.array(0.5),
        reuse=jnp.array(1.0),
    )
    assert [int(x) for x in choose(problem, trial, noise)] == [expected, source]
