"""Who leads: returns decide, and doubt is settled in favour of advice."""

import numpy as np
import pytest

from policymix.bridges.contest import ARMS, RARE, Contest
from policymix.bridges.recall import Recall
from policymix.bridges.spread import Spread


def contest_of(returns):
    contest = Contest(seed=0)
    for arm, totals in returns.items():
        for total in totals:
            contest.tell(arm, float(total), 1)
    return contest


@pytest.mark.parametrize(
    ("returns", "best"),
    [
        ({}, "advice"),
        ({"advice": [1, 2], "own": [90, 91]}, "advice"),  # too few to tell
        ({"advice": [5, 7] * 3, "rule": [6, 6] * 3, "own": [5, 7] * 3}, "advice"),
        ({"advice": [1, 2] * 3, "rule": [5, 7] * 3, "own": [5, 8] * 3}, "rule"),
        ({"advice": [1, 2] * 3, "rule": [1, 2] * 3, "own": [6, 7] * 3}, "own"),
        ({"advice": [1] * 5, "rule": [1] * 5, "own": [1] * 5}, "advice"),
        ({"advice": [1] * 5, "rule": [2] * 5, "own": [2] * 5}, "rule"),
    ],
)
@pytest.mark.parametrize("unit", [1e-3, 1.0, -0.0, 1e3])
def test_a_later_one_must_be_better_by_more_than_chance(returns, best, unit):
    contest = contest_of({arm: [unit * r for r in x] for arm, x in returns.items()})
    assert contest.best == (best if unit else "advice")


def test_each_leads_now_and_then_and_the_best_most():
    contest = contest_of({"advice": [0, 1] * 9, "rule": [8, 9] * 9, "own": [1, 2] * 9})
    lengths, led = {"advice": 5, "rule": 100, "own": 20}, dict.fromkeys(ARMS, 0)
    for _ in range(2_000):
        arm = contest.draw()
        contest.tell(arm, {"advice": 0.5, "rule": 8.5, "own": 1.5}[arm], lengths[arm])
        led[arm] += lengths[arm]
    shares = {arm: samples / sum(led.values()) for arm, samples in led.items()}
    assert shares["advice"] == pytest.approx(RARE, abs=0.01)
    assert shares["own"] == pytest.approx(RARE, abs=0.01)
    assert contest_of({"advice": [3, 4], "rule": [1]}).draw() == "rule"


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
