"""Who leads: returns decide as in compiled loops, and copies share the samples out."""

from collections import Counter

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from policymix.bridges.contest import ARMS, Contest
from policymix.bridges.recall import Recall
from policymix.bridges.spread import Spread
from policymix.methods.rivals import Rivals


def contest_of(returns):
    contest = Contest()
    for arm, totals in returns.items():
        for total in totals:
            contest.tell(arm, float(total), 1)
    return contest


@pytest.mark.parametrize(
    ("returns", "best"),
    [
        ({}, "advice"),
        ({"advice": [1, 2], "own": [90]}, "advice"),  # too few to tell
        ({"advice": [6, 6], "rule": [6, 6], "own": [6, 6]}, "advice"),
        ({"advice": [1, 2] * 3, "rule": [5, 8] * 3, "own": [5, 7] * 3}, "rule"),
        ({"advice": [9] * 3, "own": [1] * 20 + [10] * 5}, "own"),  # it has learned
        ({"advice": [1], "explore": [9] * 9, "around": [9] * 9}, "advice"),
    ],
)
@pytest.mark.parametrize("unit", [2.0**-9, 1.0, 2.0**9])
def test_the_best_of_late_is_best_and_advice_if_in_doubt(returns, best, unit):
    contest = contest_of({arm: [unit * r for r in x] for arm, x in returns.items()})
    assert contest.best == best


def test_samples_are_shared_out_as_in_compiled_loops():
    """The same returns and lengths: the same arms, one after the other."""
    leader, rng = Rivals(), np.random.default_rng(0)
    state, contest = leader.init(), Contest()
    remember = jax.jit(lambda *told: leader.remember(*told))
    for _ in range(60):
        arm = contest.draw()
        assert arm == ARMS[int(state.arm)]
        assert contest.best == ARMS[int(leader.best(state))]
        length, total = int(rng.integers(1, 9)), float(rng.normal(len(arm)))
        contest.tell(arm, total, length)
        for step in range(1, length + 1):
            paid = jnp.array(total if step == length else 0.0)
            ends = jnp.array(step == length)
            state = remember(state, paid, ends, jnp.zeros(()), jnp.zeros(5))
    assert contest.means() == pytest.approx(
        dict(zip(ARMS, state.means.tolist(), strict=True))
    )


def test_copies_that_run_beside_each_other_have_other_leaders():
    contest, running = Contest(), []
    for _ in range(6):
        running.append((contest.draw(running), 10))
    led = Counter(arm for arm, _ in running)
    assert led == {arm: 1 + (arm == "explore") for arm in ARMS}


def test_the_spread_is_that_of_discounted_sums():
    rng = np.random.default_rng(0)
    rewards, ended = rng.normal(1.0, 2.0, (50, 2)), rng.random((50, 2)) < 0.1
    spreads, sums, total = [Spread(), Spread()], [], np.zeros(2)
    for reward, end in zip(rewards, ended, strict=True):
        spreads[0].add(reward, end, 0.9)
        spreads[1].add(128.0 * reward, end, 0.9)
        total = 0.9 * total + reward
        sums.append(total)
        total = np.where(end, 0.0, total)
    assert spreads[0].value == pytest.approx(np.std(sums))
    assert spreads[1].value == 128.0 * spreads[0].value
    assert Spread().value == 1.0


def test_what_was_answered_is_not_asked_again():
    asked = []

    def double(rows):
        asked.append(len(rows))
        return 2.0 * rows

    recall, rows = Recall(double, capacity=4), np.arange(5.0)[:, None]
    np.testing.assert_array_equal(recall(rows[[1, 1, 2, 3]]), 2.0 * rows[[1, 1, 2, 3]])
    np.testing.assert_array_equal(recall(rows[[3, 1]]), 2.0 * rows[[3, 1]])
    np.testing.assert_array_equal(recall(rows), 2.0 * rows)
    assert asked == [4, 2]
    recall(rows[[1]])  # the oldest was forgotten
    assert asked == [4, 2, 1]
