"""CAPS: who learns from an action, when an option is left, and a task it solves."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from policymix.agents.base import Experience
from policymix.agents.caps import CAPS, CAPSState
from policymix.agents.q_learning import QLearning
from policymix.training.train import train

from support.probes import LONG, MIXED, QUICK, batch_of, best_return, calm

GAMMA, ALPHA = 0.9, 0.5
AGENT = CAPS(QLearning(GAMMA, 3, 4, ALPHA), num_sources=2, exit_rate=0.5)
LEFT, RIGHT = [1.0, 0.0], [0.0, 1.0]
ADVICE = jnp.array([LEFT, RIGHT])
update, targets_of = eqx.filter_jit(AGENT.update), eqx.filter_jit(AGENT.targets)
act_once = eqx.filter_jit(AGENT.act)
mend_exits, leaving = eqx.filter_jit(AGENT.mend_exits), eqx.filter_jit(AGENT.leaving)
NOTHING = jnp.zeros(2)
"""Preferences, which CAPS does not ask for."""


@pytest.fixture
def state(keys):
    """Values and exits like any."""
    exits = jax.random.normal(keys(), (4, 3))
    return CAPSState(jax.random.normal(keys(), (3, 4)), exits)


def step_of(action, terminated=False):
    """From state 0 to state 2, for a reward of 0.3."""
    batch = batch_of((jnp.array(0), action, 0.3, jnp.array(2), terminated, False))
    return jax.tree.map(lambda x: x[0], batch)


def lesson_of(action, terminated=False, advice=ADVICE, option=1):
    step = step_of(action, terminated)
    batch = jax.tree.map(lambda x: x[None], step)
    return Experience(batch, None, advice[None], batch, jnp.array([option]))


def test_options_are_the_sources_and_then_every_action():
    advice = jnp.array([[0.3, 0.7], LEFT])
    expected = [[0.3, 0.7], LEFT, LEFT, RIGHT]
    np.testing.assert_array_equal(
        AGENT.policies(advice), np.array(expected, np.float32)
    )


def test_leaving_begins_at_one_half(keys):
    beta = leaving(AGENT.init(keys()), jnp.array(1))
    np.testing.assert_array_equal(beta, np.full(4, 0.5))


@pytest.mark.parametrize(("action", "agree"), [(0, [0, 2]), (1, [1, 3])])
def test_every_option_that_agrees_with_the_action_learns_and_no_other(
    state, action, agree
):
    after, _ = update(state, lesson_of(action))
    targets = targets_of(state, step_of(action))
    expected = np.array(state.values)
    expected[0, agree] += ALPHA * (targets - state.values[0])[np.array(agree)]
    np.testing.assert_allclose(after.values, expected, rtol=1e-6)


def test_a_source_learns_as_far_as_it_is_likely_to_act_so(state):
    lesson = lesson_of(0, advice=jnp.array([[0.25, 0.75], RIGHT]))
    after, _ = update(state, lesson)
    errors = targets_of(state, step_of(0)) - state.values[0]
    moves = after.values[0] - state.values[0]
    share = ALPHA * np.array([0.25, 0.0, 1.0, 0.0])
    np.testing.assert_allclose(moves, share * errors, atol=1e-6)


def test_targets_by_hand(state):
    values = np.array(state.values)[2]
    beta = 1 / (1 + np.exp(-np.array(state.exits)[:, 2]))
    future = (1 - beta) * values + beta * values.max()
    going_on = targets_of(state, step_of(0))
    np.testing.assert_allclose(going_on, 0.3 + GAMMA * future, rtol=1e-5)
    ended = targets_of(state, step_of(0, terminated=True))
    np.testing.assert_allclose(ended, np.full(4, 0.3), rtol=1e-6)


def with_values(next_values):
    """No option has been left or kept yet, and state 2 has these values."""
    state = AGENT.init(jax.random.key(0))
    return state._replace(values=state.values.at[2].set(jnp.array(next_values)))


def test_exits_descend_by_hand():
    state = with_values([1.0, 0.0, 0.5, 0.2])
    exits = mend_exits(state, step_of(0), jnp.array(1))
    slope = (0.0 - 1.0 + 0.8 * (1.0 - 0.5)) * 0.25
    np.testing.assert_allclose(exits[1], [0, 0, -0.5 * slope], rtol=1e-6)


def test_a_table_learns_in_every_state_by_itself_when_to_leave():
    state = with_values([1.0, 0.0, 0.5, 0.2])
    exits = mend_exits(state, step_of(0), jnp.array(1))
    after = state._replace(exits=exits)
    assert [float(leaving(after, jnp.array(s))[1]) for s in (0, 1)] == [0.5, 0.5]
    assert float(leaving(after, jnp.array(2))[1]) > 0.5


@pytest.mark.parametrize(("option", "rises"), [(0, False), (1, True)])
def test_a_bad_option_is_left_more_often_and_the_best_less(option, rises):
    state = with_values([1.0, 0.0, 0.5, 0.2])
    exits = mend_exits(state, step_of(0), jnp.array(option))
    beta = leaving(state._replace(exits=exits), jnp.array(2))[option]
    assert (float(beta) > 0.5) == rises
    assert float(beta) != 0.5


def test_only_the_exit_of_the_option_that_ran_changes(state):
    after, _ = update(state, lesson_of(0, option=1))
    others = np.array([0, 2, 3])
    np.testing.assert_array_equal(after.exits[others], state.exits[others])
    assert np.any(after.exits[1] != state.exits[1])


def test_an_end_changes_no_exit(state):
    after, _ = update(state, lesson_of(0, terminated=True))
    np.testing.assert_array_equal(after.exits, state.exits)


def act(state, option, epsilon=0.0, **noise):
    noise = calm()._replace(
        follow=jnp.array(0.5), **{k: jnp.array(v) for k, v in noise.items()}
    )
    action, option = act_once(
        state,
        jnp.array(2),
        ADVICE,
        NOTHING,
        jnp.array(option),
        jnp.array(epsilon),
        noise,
    )
    return int(action), int(option)


def test_an_option_runs_until_it_is_left():
    """β = ½ here, and option 3 (go right) is the best to take instead."""
    state = with_values([0.0, 0.1, 0.2, 0.9])
    assert act(state, 0, leave=0.51) == (0, 0)
    assert act(state, 0, leave=0.49) == (1, 3)


def test_an_episode_begins_with_a_fresh_option():
    assert act(with_values([0.9, 0.1, 0.2, 0.3]), -1, leave=1.0) == (0, 0)


def test_any_option_may_be_fresh_when_exploring():
    state = with_values([0.9, 0.1, 0.2, 0.3])
    taken = [act(state, -1, 1.0, explore=0.5, anything=u)[1] for u in (0.1, 0.3, 0.9)]
    assert taken == [0, 1, 3]


def test_a_running_option_is_not_explored_away():
    state = with_values([0.9, 0.1, 0.2, 0.3])
    assert act(state, 1, 1.0, explore=0.0, anything=0.9, leave=0.51) == (1, 1)


def test_an_option_acts_as_often_as_its_source_advises():
    state, advice = with_values([0.9, 0.1, 0.2, 0.3]), jnp.array([[0.3, 0.7], RIGHT])
    uniforms = (jnp.arange(100) + 0.5) / 100

    def follow(u):
        given = (jnp.array(2), advice, NOTHING, jnp.array(-1), 0.0)
        return AGENT.act(state, *given, calm()._replace(follow=u))[0]

    assert float(jnp.mean(jax.vmap(follow)(uniforms) == 0)) == pytest.approx(0.3)


def test_an_action_is_worth_the_best_option_that_takes_it():
    state = with_values([0.9, 0.1, 0.2, 0.3])
    values = AGENT.action_values(state, jnp.array(2), ADVICE)
    np.testing.assert_array_equal(values, np.array([0.9, 0.3], np.float32))
    both_left = AGENT.action_values(state, jnp.array(2), jnp.array([LEFT, LEFT]))
    np.testing.assert_array_equal(both_left, np.array([0.9, 0.3], np.float32))
    swapped = AGENT.action_values(state, jnp.array(2), jnp.array([RIGHT, LEFT]))
    np.testing.assert_array_equal(swapped, np.array([0.2, 0.9], np.float32))
    alone = AGENT.alone_values(state, jnp.array(2))
    np.testing.assert_array_equal(alone, np.array([0.2, 0.3], np.float32))


def test_the_corridor_is_solved_and_the_bad_source_is_left():
    result = train(MIXED, "caps", settings=QUICK, trials=2, progress=False)
    scores = [row.score for row in result.rows if row.step == QUICK.steps]
    np.testing.assert_allclose(scores, best_return(LONG), rtol=1e-5)
    for trained in result.agents:
        agent: CAPS = trained.setup.agent  # pyright: ignore[reportAssignmentType]
        good, bad, *_ = agent.leaving(trained.trial.agent, jnp.array(0))
        assert float(bad) > 0.5
        assert float(bad) > float(good)
