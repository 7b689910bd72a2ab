"""Advice, rule and own values: who leads how much, and who is best."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from policymix.methods.behaviours import Epsilon
from policymix.methods.rivals import (
    AROUND,
    AROUND_MOST,
    BEATEN,
    EXPLORE,
    FOLLOW,
    OWN,
    PORTIONS,
    RULE,
    Rivals,
)

RIVALS = Rivals()
NOTHING = jnp.zeros(5)
REMEMBER = eqx.filter_jit(Rivals.remember)


def played(returns, lengths, episodes):
    """Every arm has its return and the length of its episodes."""
    state = RIVALS.init()
    for _ in range(episodes):
        arm = int(state.arm)
        for step in range(lengths[arm]):
            last = step == lengths[arm] - 1
            reward = jnp.asarray(returns[arm] if last else 0.0)
            state = REMEMBER(
                RIVALS, state, reward, jnp.asarray(last), jnp.zeros(()), NOTHING
            )
    return state


def test_steps_are_shared_out_whatever_the_length_of_episodes():
    state = played([0.0] * 5, [7, 1, 3, 2, 5], 400)
    np.testing.assert_allclose(
        state.steps / state.steps.sum(), PORTIONS / PORTIONS.sum(), atol=0.02
    )


def test_half_of_the_steps_are_led_by_the_own_values():
    assert PORTIONS[[OWN, EXPLORE]].sum() == PORTIONS.sum() / 2


def test_who_is_beaten_by_a_learner_leads_less_and_never_who_is_beaten_by_advice():
    advice, own = ([9.0, 1.0, 1.0, 0.0, 0.0], [1.0, 2.0, 3.0, 0.0, 0.0])
    np.testing.assert_allclose(RIVALS.portions(played(advice, [2] * 5, 99)), PORTIONS)
    np.testing.assert_allclose(RIVALS.portions(played(own, [2] * 5, 30)), PORTIONS)
    state = played(own, [7, 1, 3, 2, 5], 600)
    portions = PORTIONS * [BEATEN, BEATEN, 1.0, 1.0, 1.0]
    np.testing.assert_allclose(
        state.steps / state.steps.sum(), portions / portions.sum(), atol=0.02
    )
    assert portions[[OWN, EXPLORE]].sum() >= portions.sum() / 2


def test_the_memory_grows_with_the_episodes_of_an_arm():
    state = RIVALS.init()._replace(tries=jnp.array([0.0, 12.0, 36.0, 0.0, 0.0]))
    keeps = [
        RIVALS.shares(state._replace(arm=jnp.asarray(arm)), jnp.zeros(()))[0][arm]
        for arm in (FOLLOW, RULE, OWN)
    ]
    np.testing.assert_allclose(keeps, [1 / 2, 1 / 2, 3 / 4])


def test_the_best_has_the_highest_mean_and_advice_wins_ties():
    assert RIVALS.best(played([1.0, 1.0, 1.0, 9.0, 9.0], [2] * 5, 30)) == FOLLOW
    assert RIVALS.best(played([1.0, 2.0, 1.0, 9.0, 9.0], [2] * 5, 30)) == RULE
    assert RIVALS.best(played([1.0, 2.0, 3.0, 0.0, 0.0], [2] * 5, 30)) == OWN


def test_one_episode_proves_nothing():
    assert RIVALS.best(played([1.0, 9.0, 9.0, 0.0, 0.0], [2] * 5, 5)) == FOLLOW


def test_only_two_of_five_explore():
    epsilon = Epsilon(1.0, 1.0, 0.0)
    explored = [
        float(RIVALS.explored(RIVALS.init()._replace(arm=jnp.asarray(arm)), epsilon))
        for arm in (FOLLOW, RULE, OWN, EXPLORE, AROUND)
    ]
    np.testing.assert_allclose(explored, [0.0, 0.0, 0.0, 1.0, AROUND_MOST])


def test_what_is_explored_around_is_the_best():
    state = played([1.0, 2.0, 3.0, 0.0, 0.0], [2] * 5, 30)
    assert RIVALS.way(state._replace(arm=jnp.asarray(AROUND))) == OWN
    assert RIVALS.way(state._replace(arm=jnp.asarray(EXPLORE))) == OWN
