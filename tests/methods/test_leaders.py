"""The bandits that pick who leads an episode."""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from policymix.methods.leaders import UCB1, Alone, Gate, Softmax, merits

ENDED, GOING = jnp.array(True), jnp.array(False)
HALVES = jnp.full(2, 0.5)
remember = eqx.filter_jit(Gate.remember)


def state_of(episode=0, elapsed=0, **more):
    start = Gate().init()
    more = {name: jnp.array(value) for name, value in more.items()}
    return start._replace(
        episode=jnp.array(episode), elapsed=jnp.array(elapsed), **more
    )


def lead(leader, returns, episodes, seed=0, epsilon=0.0):
    """The arms that led episodes of one step, and the state after them.

    `returns` gives the return of an arm in an episode.
    """
    count = leader.advised.size
    uniforms = jax.random.uniform(jax.random.key(seed), (episodes, count))

    def episode(state, given):
        number, uniform = given
        paid = returns(state.arm, number)
        epsilons = jnp.array(epsilon)
        return leader.remember(state, paid, ENDED, epsilons, uniform), state.arm

    state, leaders = jax.lax.scan(
        episode, leader.init(), (jnp.arange(episodes), uniforms)
    )
    return leaders, state


@pytest.mark.parametrize(
    "leader",
    [
        Gate(jnp.ones(5), burden=0.5, keep=0.5),
        UCB1(jnp.ones(5)),
        Softmax(jnp.ones(5), greed=1.0),
    ],
    ids=lambda leader: type(leader).__name__,
)
def test_every_arm_is_tried_once_first(leader):
    leaders, _ = lead(leader, lambda arm, _: -1.0 * arm, 5, epsilon=1.0)
    assert sorted(leaders.tolist()) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("better", [0, 1])
def test_ucb_lets_the_better_arm_lead_nearly_always(better):
    leaders, state = lead(UCB1(jnp.ones(2)), lambda arm, _: 1.0 * (arm == better), 300)
    assert jnp.mean(leaders == better) > 0.9
    assert jnp.sum(leaders != better) > 1
    np.testing.assert_allclose(state.means[better], 1.0, rtol=1e-5)


def test_an_arm_that_gets_worse_is_left_when_the_past_fades():
    """Arm 0 pays 1 at first, then nothing; arm 1 always pays a half."""

    def returns(arm, number):
        return jnp.where(arm == 0, jnp.where(number < 50, 1.0, 0.0), 0.5)

    leaders, _ = lead(Gate(jnp.ones(2), bonus=0.03, keep=0.8), returns, 150)
    assert jnp.mean(leaders[2:50] == 0) > 0.8
    assert jnp.mean(leaders[60:] == 1) > 0.8


def test_a_step_within_an_episode_only_counts():
    leader = Gate()
    state = state_of(3, 4, total=1.5, counts=[2.0, 1.0], option=1)
    after = remember(leader, state, jnp.array(0.25), GOING, jnp.array(0.0), HALVES)
    expected = state._replace(elapsed=jnp.array(5), total=jnp.array(1.75))
    jax.tree.map(np.testing.assert_array_equal, after, expected)


def test_the_past_fades_by_hand():
    leader = Gate(keep=0.5)
    state = state_of(2, 6, total=2.0, means=[4.0, 7.0], counts=[3.0, 1.0])
    state = state._replace(range=jnp.array([-1.0, 7.0]))
    after = remember(leader, state, jnp.array(6.0), ENDED, jnp.array(0.0), HALVES)
    np.testing.assert_allclose(after.counts, [0.5 * 3 + 1, 0.5], rtol=1e-6)
    expected = [(1.5 * 4.0 + 8.0) / 2.5, 7.0]
    np.testing.assert_allclose(after.means, expected, rtol=1e-6)
    np.testing.assert_array_equal(after.range, [-1.0, 8.0])
    numbers = (after.episode, after.elapsed, after.total, after.option)
    assert [float(n) for n in numbers] == [3, 0, 0, -1]


def test_an_episode_counts_as_far_as_its_arm_led_it():
    leader = Gate()
    state = state_of(1, 0, means=[2.0, 0.0], counts=[0.5, 1.0])
    after = remember(leader, state, jnp.array(5.0), ENDED, jnp.array(0.7), HALVES)
    np.testing.assert_allclose(after.counts, [0.5 + 0.3, 1.0], rtol=1e-6)
    expected = (0.5 * 2.0 + 0.3 * 5.0) / 0.8
    np.testing.assert_allclose(after.means[0], expected, rtol=1e-6)


def test_the_first_arm_is_tested_until_another_that_led_is_better_by_the_margin():
    leader = Gate((1.0, 0.0, 0.0), margin=0.2)

    def best(means, counts):
        state = state_of(9, means=means, counts=counts, range=[0.0, 1.0])
        return int(leader.best(state))

    assert best([0.5, 0.9, 0.0], [1.0, 0.9, 1.0]) == 0
    assert best([0.5, 0.69, 0.0], [1.0, 9.0, 1.0]) == 0
    assert best([0.5, 0.71, 0.0], [1.0, 1.0, 1.0]) == 1
    assert best([0.5, 0.71, 0.8], [0.0, 1.0, 1.0]) == 2


def test_another_arm_is_tested_only_when_it_is_better_beyond_doubt():
    """With counts 4 and 4 a mean may be off by √(0.04 · ln 9 / 4) = 0.148."""
    leader = Gate(bonus=0.04)

    def best(other):
        state = state_of(means=[0.5, other], counts=[4.0, 4.0], range=[0.0, 1.0])
        return int(leader.best(state))

    assert best(0.64) == 0
    assert best(0.66) == 1


def test_the_first_arm_leads_as_long_as_most_actions_are_random():
    leader = Gate(patience=0.5)
    state = state_of(means=[0.0, 1.0], counts=[5.0, 5.0], range=[0.0, 1.0])
    picks = [int(leader.pick(state, jnp.array(e), HALVES)) for e in (0.6, 0.5, 0.1)]
    assert picks == [0, 1, 1]


def test_the_first_arm_leads_the_first_episodes():
    leader = Gate(start=10.0)

    def pick(episode):
        state = state_of(episode, means=[0.0, 1.0], counts=[5.0, 5.0], range=[0.0, 1.0])
        return int(leader.pick(state, jnp.zeros(()), HALVES))

    picks = [pick(episode) for episode in (0, 9, 10)]
    assert picks == [0, 0, 1]


def test_the_burden_is_how_much_better_the_first_arm_must_be_to_lead():
    leader = Gate(burden=0.1)

    def pick(first):
        state = state_of(means=[first, 0.5], counts=[5.0, 5.0], range=[0.0, 1.0])
        return int(leader.pick(state, jnp.zeros(()), HALVES))

    assert pick(0.59) == 1
    assert pick(0.61) == 0


def test_softmax_draws_in_proportion_to_the_exponentials_of_the_scores(keys):
    leader = Softmax(jnp.ones(3), greed=0.5, growth=0.25)
    state = state_of(
        6, means=[0.0, 1.0, -1.0], counts=[1.0, 1.0, 1.0], range=[-1.0, 1.0]
    )
    uniforms = jax.random.uniform(keys(), (40_000, 3))
    picks = jax.jit(jax.vmap(partial(leader.pick, state, jnp.zeros(()))))(uniforms)
    shares = np.bincount(picks, minlength=3) / len(picks)
    expected = jax.nn.softmax((0.5 + 6 * 0.25) * jnp.array([0.5, 1.0, 0.0]))
    np.testing.assert_allclose(shares, expected, atol=0.01)


def test_merits_lie_between_zero_and_one(keys):
    """Whatever the returns: 300 histories, each of a size and a sign of its own."""
    leader = Gate(jnp.ones(3), bonus=2.0, keep=0.8)
    centres, sizes = jax.random.normal(keys(), (2, 300, 1))
    returns = 10 ** (3 * sizes) * (centres + jax.random.normal(keys(), (300, 30)))

    @jax.jit
    @jax.vmap
    def merits_after(returns):
        state = lead(leader, lambda _, number: returns[number], 30)[1]
        return merits(state)

    found = merits_after(returns)
    assert float(found.min()) >= -1e-6
    assert float(found.max()) <= 1 + 1e-6
    assert float(jnp.ptp(found)) > 0.9


@pytest.mark.parametrize("factor", [1 / 64, 1024.0])
@pytest.mark.parametrize(
    "leader",
    [
        Gate(jnp.ones(3), bonus=0.5, keep=0.9, burden=0.1),
        UCB1(jnp.ones(3), bonus=0.5),
        Softmax(jnp.ones(3), greed=1.0, growth=0.0),
    ],
    ids=lambda leader: type(leader).__name__,
)
def test_scaled_returns_change_no_pick(factor, leader, keys):
    """Powers of two scale without rounding."""
    returns = jax.random.normal(keys(), (200, 3))
    plain, _ = lead(leader, lambda arm, number: returns[number, arm], 200)
    scaled, _ = lead(leader, lambda arm, number: factor * returns[number, arm], 200)
    np.testing.assert_array_equal(scaled, plain)
    assert set(plain.tolist()) == {0, 1, 2}


def test_episodes_that_fail_alike_do_not_make_much_of_little():
    """−100 and −99 are nearly the same share of a range that includes zero."""
    state = state_of(means=[-100.0, -99.0], counts=[5.0, 5.0], range=[-100.0, -99.0])
    np.testing.assert_allclose(merits(state), [0.0, 0.01], atol=1e-6)


def test_alone_there_is_nothing_to_pick():
    state = lead(Alone(), lambda arm, number: -1.0 * number, 5)[1]
    assert int(state.arm) == int(Alone().best(state)) == 0
    np.testing.assert_allclose(state.means, [-2.0], rtol=1e-6)
    np.testing.assert_array_equal(state.counts, [5.0])
