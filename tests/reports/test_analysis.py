"""Measures of transfer: by hand, and the same whichever way scores are better."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from policymix.reports.analysis import (
    SHARES,
    Scale,
    across,
    areas,
    ends,
    gain,
    measure,
    measure_one,
    normalised,
    profiles,
    scale_of,
)
from policymix.reports.statistics import Interval, interquartile_mean
from policymix.storage.runs import Curve

from support.made_runs import results_of, spread, toward

HAND = {
    "mars": np.array([[10.0, 30.0], [6.0, 10.0], [2.0, 2.0]]),
    "scratch": np.array([[20.0, 40.0], [20.0, 30.0], [20.0, 10.0]]),
}
"""Steps to the goal of two trials, tested after 0, 100 and 200 samples."""


@pytest.fixture(scope="module")
def hand():
    return results_of("maze", HAND, times=[0, 100, 200])


@pytest.fixture(scope="module")
def noisy():
    """Five methods on the maze that learn at random."""
    rng = np.random.default_rng(1)
    falling = np.linspace(100, 40, 21)[:, None]
    curves = {
        name: falling - 5 * place + rng.normal(scale=8, size=(21, 10))
        for place, name in enumerate(["scratch", "ucb", "phi1", "oracle", "mars"])
    }
    return results_of("maze", curves)


def mirrored(results):
    """The same with every score negated, so that the other direction is better."""
    flip = {"lower": "higher", "higher": "lower"}[results.facts["better"]]
    curves = {
        name: Curve(name, curve.steps, -curve.scores, -curve.alone, curve.seeds)
        for name, curve in results.curves.items()
    }
    return replace(results, facts=results.facts | {"better": flip}, curves=curves)


# By hand


def test_areas_and_ends_by_hand(hand):
    """Trapezoids over 200 samples: (10/2 + 6 + 2/2)/2 = 6; the last of three tests."""
    np.testing.assert_allclose(areas(hand)["mars"], [6, 13])
    np.testing.assert_allclose(areas(hand)["scratch"], [20, 27.5])
    np.testing.assert_array_equal(ends(hand)["mars"], [2, 2])
    np.testing.assert_array_equal(ends(hand)["scratch"], [20, 10])


@pytest.mark.parametrize("better", [True, False])
def test_a_swept_method_is_shown_at_its_best_too(hand, better):
    """On the maze lower is better; the domain's own value has no second row."""
    own, curve = hand.facts["settings"]["mapse_reuse"], hand.curves["mars"]
    other = replace(curve, scores=curve.scores + (-1 if better else 1))
    sweeps = {("mapse", "mapse_reuse"): {own: curve, 0.5: other}}
    swept = replace(hand, curves=hand.curves | {"mapse": curve}, sweeps=sweeps)
    rows = {row.method: row.area_mean for row in measure(swept)}
    shown = {name for name in rows if name.startswith("mapse")}
    assert shown == {"mapse"} | ({"mapse, best mapse_reuse 0.5"} if better else set())
    if better:
        assert rows["mapse, best mapse_reuse 0.5"] == rows["mapse"] - 1


def test_a_row_of_the_table_by_hand(hand):
    row = measure_one(hand, "mars")
    assert row.method == "mars"
    assert row.area.estimate == row.area_mean == 9.5
    assert row.area_error == pytest.approx(3.5), "|13 − 6|/2"
    assert row.end == (2, 2, 2)
    assert row.jumpstart is not None
    assert row.jumpstart.estimate == 10, "30 without transfer, 20 with it"
    assert row.beats_scratch is not None
    assert row.harms is not None
    assert (row.beats_scratch.estimate, row.harms.estimate) == (1, 0)


def test_arrivals_by_hand(hand):
    """From 30 to 2 the shares are at 23, 16, 9 and 4.8 steps to the goal."""
    scale = scale_of(hand)
    assert scale == (30, 2)
    np.testing.assert_allclose([scale.at(s) for s in SHARES], [23, 16, 9, 4.8])
    assert measure_one(hand, "mars").arrivals == ((50, 2), (50, 2), (150, 2), (200, 2))
    assert measure_one(hand, "scratch").arrivals == (
        (100, 2),
        (200, 1),  # the other never arrives and counts with the budget
        (200, 0),
        (200, 0),
    )


def test_gains_by_hand(hand):
    assert gain(hand, "mars", "scratch").estimate == 23.75 - 9.5
    assert gain(hand, "mars", "scratch", at_end=True).estimate == 15 - 2
    assert gain(hand, "scratch", "mars", at_end=True).estimate == 2 - 15


def test_the_interval_of_a_gain_is_welchs():
    """θ̂ ± t(n − 1)·√(s²/n + s²/n); 2,000 resamples know σ to 1.6 %."""
    results = results_of("cartpole", {"mars": spread(80), "ucb": spread(70, width=3)})
    error = np.hypot(
        stats.sem(np.linspace(-1, 1, 10)), stats.sem(np.linspace(-3, 3, 10))
    )
    for level in (0.95, 0.99):
        _, low, high = gain(results, "mars", "ucb", level=level)
        reach = stats.t.ppf((1 + level) / 2, 9) * error
        assert float(high - low) / 2 == pytest.approx(reach, rel=0.05)


# Direction


def test_a_mirrored_domain_has_the_same_table(noisy):
    other = mirrored(noisy)
    assert (noisy.sign, other.sign) == (-1, 1)
    table, same = measure(noisy), measure(other)
    assert [row.method for row in table] == [row.method for row in same]
    for ours, theirs in zip(table, same, strict=True):
        assert ours.area_mean == -theirs.area_mean
        end = float(theirs.end.estimate)
        assert float(ours.end.estimate) == pytest.approx(-end, rel=1e-12)
        assert ours.area_error == theirs.area_error
        assert ours.arrivals == theirs.arrivals
        assert ours.jumpstart == theirs.jumpstart
        assert ours.beats_scratch == theirs.beats_scratch
        assert ours.harms == theirs.harms


@pytest.mark.parametrize("at_end", [False, True])
def test_a_mirrored_domain_has_the_same_gains(noisy, at_end):
    for ours, theirs in (("mars", "scratch"), ("ucb", "phi1")):
        here = gain(noisy, ours, theirs, at_end=at_end)
        assert here == gain(mirrored(noisy), ours, theirs, at_end=at_end)


def test_a_mirrored_domain_has_the_same_scale_and_profiles(noisy):
    scale, other = scale_of(noisy), scale_of(mirrored(noisy))
    assert scale == (-other.floor, -other.goal)
    thresholds = np.linspace(-0.5, 1.5, 41)
    here, there = (profiles(r, thresholds) for r in (noisy, mirrored(noisy)))
    assert here.keys() == there.keys()
    for name, share in here.items():
        np.testing.assert_array_equal(share, there[name])
    np.testing.assert_allclose(
        list(normalised(noisy).values()), list(normalised(mirrored(noisy)).values())
    )


def test_a_better_score_is_a_gain_in_either_direction():
    curves = {"mars": spread(40), "scratch": spread(60)}
    fewer, more = results_of("maze", curves), results_of("cartpole", curves)
    assert gain(fewer, "mars", "scratch").low > 0
    assert gain(more, "mars", "scratch").high < 0


@pytest.mark.parametrize("at_end", [False, True])
def test_what_one_gains_the_other_loses(noisy, at_end):
    """Both resample by their own draws, so widths agree as two estimates of σ do."""
    forth = gain(noisy, "mars", "ucb", at_end=at_end)
    back = gain(noisy, "ucb", "mars", at_end=at_end)
    assert forth.estimate == -back.estimate
    mirror = Interval(-back.estimate, -back.high, -back.low)
    assert mirror.low < mirror.estimate < mirror.high
    three_sigma = (
        3 * np.sqrt(2) / np.sqrt(2 * 2000) * float(forth.high - forth.estimate)
    )
    np.testing.assert_allclose(forth.low, mirror.low, atol=three_sigma)
    np.testing.assert_allclose(forth.high, mirror.high, atol=three_sigma)


# Scale, profiles and order


@pytest.mark.parametrize(("domain", "end"), [("maze", 40), ("cartpole", 90)])
def test_the_scale_goes_from_no_transfers_first_test_to_the_best_end(domain, end):
    curves = {
        "scratch": toward(spread(60), 70),
        "mars": toward(spread(40), 10),
        "caps": toward(spread(90), 120),
    }
    scale = scale_of(results_of(domain, curves))
    assert scale == (70, end)
    assert (scale.at(0.0), scale.at(1.0), scale.at(0.5)) == (70, end, (70 + end) / 2)


@pytest.mark.parametrize(("domain", "worst"), [("maze", 120), ("cartpole", 10)])
def test_without_no_transfer_the_scale_starts_at_the_worst_first_test(domain, worst):
    curves = {"mars": toward(spread(40), 10), "caps": toward(spread(90), 120)}
    assert scale_of(results_of(domain, curves)).floor == worst


def test_the_best_end_is_an_interquartile_mean():
    lucky = spread(50)
    lucky[:, 0] = 1e6
    results = results_of("cartpole", {"scratch": toward(lucky, 0), "mars": spread(55)})
    assert scale_of(results) == Scale(0, 55)
    assert interquartile_mean(lucky[-1]) < 55 < lucky[-1].mean()


def test_no_transfer_has_0_and_the_oracle_1(noisy):
    values = normalised(noisy)
    assert values["scratch"].mean() == pytest.approx(0, abs=1e-12)
    assert values["oracle"].mean() == pytest.approx(1)
    halfway = (noisy.curves["scratch"].scores + noisy.curves["oracle"].scores) / 2
    curves = {name: noisy.curves[name].scores for name in ("scratch", "oracle")}
    with_middle = results_of("maze", curves | {"mars": halfway})
    assert normalised(with_middle)["mars"].mean() == pytest.approx(0.5)


def test_domains_are_averaged_and_each_counts_the_same(noisy):
    other = mirrored(noisy)
    averaged = across([noisy, other])
    assert list(averaged)[-1] == "scratch"
    expected = interquartile_mean(normalised(noisy)["mars"])
    assert averaged["mars"].estimate == pytest.approx(expected)
    alone = across([noisy])["mars"]
    assert averaged["mars"].high - averaged["mars"].low < alone.high - alone.low
    levels = {"scratch": spread(0, 40), "oracle": spread(10, 40), "mars": spread(9, 40)}
    clear = results_of("cartpole", levels)
    middles = [interquartile_mean(normalised(r)["mars"]) for r in (noisy, clear)]
    both = across([noisy, clear])["mars"]
    assert both.estimate == pytest.approx(np.mean(middles))
    fewer = replace(other, curves={n: c for n, c in other.curves.items() if n != "ucb"})
    assert "ucb" not in across([noisy, fewer])


@pytest.mark.parametrize(
    ("domain", "floor", "goal", "levels"),
    [("cartpole", 0, 100, [20, 60, 80, 80]), ("maze", 100, 0, [80, 40, 20, 20])],
)
def test_profiles_by_hand(domain, floor, goal, levels):
    """Of a scale from 0 to 1 the trials lie at 0.2, 0.6, 0.8 and 0.8."""
    curves = {
        "scratch": np.full((2, 4), float(floor)),
        "ucb": np.tile(np.array(levels, float), (2, 1)),
        "mars": np.full((2, 4), float(goal)),
    }
    thresholds = np.array([-1, 0, 0.1, 0.2, 0.5, 0.7, 0.9, 1])
    share = profiles(results_of(domain, curves), thresholds)
    np.testing.assert_array_equal(share["ucb"].estimate, [1, 1, 1, 1, 0.75, 0.5, 0, 0])
    np.testing.assert_array_equal(share["mars"].estimate, 1)
    np.testing.assert_array_equal(share["scratch"].estimate, thresholds <= 0)


def test_a_profile_is_1_up_to_the_worst_trial(noisy):
    scale = scale_of(noisy)
    for name, values in areas(noisy).items():
        places = (values - scale.floor) / (scale.goal - scale.floor)
        share = profiles(noisy, np.array([-9, places.min(), places.max() + 1e-9]))[name]
        np.testing.assert_array_equal(share.estimate, [1, 1, 0])


@pytest.mark.parametrize("domain", ["maze", "cartpole"])
@pytest.mark.parametrize("ahead", [-5, 0, 5])
def test_better_trials_never_lie_lower_in_a_profile(domain, ahead):
    """Also when the best end is where no transfer starts, or worse."""
    sign = -1 if domain == "maze" else 1
    level = spread(50, width=0)
    curves = {
        "scratch": toward(level, 50 + sign * ahead),
        "mars": level + 3 * sign * np.array([[1], [1], [1], [1], [0]]),
        "caps": level - 3 * sign,
    }
    results = results_of(domain, curves)
    share = profiles(results, np.linspace(-9, 9, 181))
    assert np.all(share["mars"].estimate >= share["scratch"].estimate)
    assert np.all(share["scratch"].estimate >= share["caps"].estimate)


@pytest.mark.parametrize("domain", ["maze", "cartpole"])
def test_the_best_area_comes_first(domain):
    levels = {"mars": 50, "caps": 40, "ucb": 60, "scratch": 55}
    curves = {name: spread(level) for name, level in levels.items()}
    order = [row.method for row in measure(results_of(domain, curves))]
    assert order == sorted(levels, key=levels.__getitem__, reverse=domain != "maze")


# Against no transfer


def test_a_method_equal_to_no_transfer_gains_nothing():
    same = toward(spread(60), 90)
    row = measure_one(results_of("maze", {"scratch": same, "mars": same}), "mars")
    assert row.jumpstart == (0, 0, 0)
    assert row.beats_scratch is not None
    assert row.beats_scratch.estimate == 0.5
    assert row.beats_scratch.low < 0.5 < row.beats_scratch.high
    assert row.harms is not None
    assert row.harms.estimate < 0.5, "ties are no harm"


def test_no_transfer_is_not_compared_with_itself(noisy):
    row = measure_one(noisy, "scratch")
    assert (row.jumpstart, row.beats_scratch, row.harms) == (None, None, None)


def test_without_no_transfer_nothing_is_compared_with_it():
    curves = {"mars": spread(40), "caps": spread(60)}
    for row in measure(results_of("maze", curves)):
        assert (row.jumpstart, row.beats_scratch, row.harms) == (None, None, None)
        assert (
            float(row.area.estimate)
            == row.area_mean
            == {
                "mars": pytest.approx(40),
                "caps": pytest.approx(60),
            }[row.method]
        )


@pytest.mark.parametrize("domain", ["maze", "cartpole"])
def test_a_good_run_with_a_bad_end_helps_and_harms(domain):
    """Better all along and worse at the last: both probabilities are 1."""
    sign = -1 if domain == "maze" else 1
    run = spread(50) + sign * np.array([[20], [20], [20], [20], [-20]])
    row = measure_one(results_of(domain, {"scratch": spread(50), "mars": run}), "mars")
    assert row.beats_scratch == row.harms
    assert row.harms is not None
    assert row.harms.estimate == 1
    assert row.jumpstart is not None
    assert row.jumpstart.estimate == 20


# Little data


def test_one_trial_has_no_bounds():
    curves = {"mars": spread(40, 1), "scratch": spread(60, 1)}
    for row in measure(results_of("maze", curves)):
        assert row.area.estimate == row.end.estimate == row.area_mean
        assert np.isnan([row.area[1:], row.end[1:]]).all()
        assert np.isnan(row.area_error)
    row = measure_one(results_of("maze", curves), "mars")
    assert row.jumpstart is not None
    assert row.jumpstart.estimate == 20
    assert np.isnan(row.jumpstart[1:]).all()
    assert row.beats_scratch is not None
    assert row.beats_scratch.estimate == 1
    assert np.isnan(row.beats_scratch[1:]).all()


def test_one_test_is_start_run_and_end():
    curves = {"mars": spread(40, tests=1), "scratch": spread(60, tests=1)}
    results = results_of("maze", curves, times=[500])
    assert scale_of(results) == (pytest.approx(60), pytest.approx(40))
    row = measure_one(results, "mars")
    assert row.area == row.end
    assert row.jumpstart is not None
    assert float(row.jumpstart.estimate) == pytest.approx(20)
    assert row.arrivals[0] == (500, 10)
