"""The spread of returns: known moments, and a unit that follows the rewards'."""

import jax
import jax.numpy as jnp
import numpy as np

from policymix.core.returns import no_returns, note_reward, spread

REWARDS = np.array([1.0, -2.0, 0.5, 3.0, 0.0, 1.5], np.float32)
ENDS = np.array([False, False, True, False, False, True])


def noted(rewards):
    returns = no_returns()
    for reward, ended in zip(rewards, ENDS, strict=True):
        returns = note_reward(returns, jnp.asarray(reward), jnp.asarray(ended), 0.5)
    return returns


def test_the_spread_is_the_deviation_of_discounted_returns():
    totals, total = [], 0.0
    for reward, ended in zip(REWARDS, ENDS, strict=True):
        total = 0.5 * total + reward
        totals.append(total)
        total = 0.0 if ended else total
    np.testing.assert_allclose(spread(noted(REWARDS)), np.std(totals), rtol=1e-5)


def test_rewards_of_another_unit_have_that_much_more_spread():
    np.testing.assert_allclose(
        spread(noted(128.0 * REWARDS)), 128.0 * spread(noted(REWARDS)), rtol=1e-6
    )


def test_what_is_always_alike_has_the_unit_one():
    assert spread(no_returns()) == 1.0
    assert spread(jax.tree.map(jnp.asarray, noted(np.zeros(6, np.float32)))) == 1.0
