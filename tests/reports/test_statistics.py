"""Statistics of learning curves: known values, identities, and how often they hold."""

import numpy as np
import pytest
from scipy import stats

from policymix.reports.statistics import (
    area,
    asymptote,
    difference,
    head_start,
    interquartile_mean,
    interval,
    mean,
    negative_transfer,
    performance_profile,
    probability_of_improvement,
    restricted_mean,
    samples_to,
    standard_error,
    stratified_interval,
)

STATISTICS = pytest.mark.parametrize("statistic", [mean, interquartile_mean])


def normal(seed, *shape):
    return np.random.default_rng(seed).normal(size=shape)


# Statistics of trials


def test_the_interquartile_mean_is_of_the_middle_half():
    """Of 1 … 8 the middle is 3 … 6; of six trials ⌊6/4⌋ = 1 goes at either end."""
    assert interquartile_mean(np.array([8.0, 1, 7, 2, 6, 3, 5, 4])) == 4.5
    assert interquartile_mean(np.array([0.0, 1, 2, 3, 4, 100])) == 2.5
    assert interquartile_mean(np.array([0.0, 1, 5])) == 2, "nothing to cut"


def test_the_interquartile_mean_ignores_one_outlier_in_four():
    for outlier in (4.0, 1e9, np.inf):
        assert interquartile_mean(np.array([1.0, 2, 3, outlier])) == 2.5


def test_the_interquartile_mean_is_scipys_trimmed_mean():
    values = normal(1, 4, 5, 21)
    for axis in (0, 1, -1):
        expected = stats.trim_mean(values, 0.25, axis=axis)
        np.testing.assert_array_equal(interquartile_mean(values, axis), expected)


def test_the_standard_error_is_scipys():
    values = normal(2, 3, 7)
    np.testing.assert_allclose(standard_error(values), stats.sem(values, axis=-1))
    assert standard_error(np.array([1.0, 3.0])) == pytest.approx(1), "s = √2, n = 2"


def test_one_trial_says_nothing_of_the_spread():
    assert np.isnan(standard_error(np.ones((3, 1)))).all()
    estimate, low, high = interval(np.array([2.0]), mean)
    assert estimate == 2
    assert np.isnan([low, high]).all()
    assert np.isnan(probability_of_improvement(np.ones(1), np.zeros(1))[1:]).all()


# Intervals


def test_the_interval_of_a_mean_is_students():
    values = normal(3, 12) ** 2
    estimate, low, high = interval(values, mean, resamples=100_000)
    expected = stats.t.interval(0.95, 11, values.mean(), stats.sem(values))
    assert estimate == pytest.approx(values.mean())
    np.testing.assert_allclose(
        [low - estimate, high - estimate], expected - values.mean(), rtol=0.01
    )


def test_two_trials_by_hand():
    """Means of (0, 2) resampled are 0, 1, 1, 2: σ* = √½, and √(n/(n − 1)) undoes it."""
    _, low, high = interval(np.array([0.0, 2.0]), mean, resamples=100_000)
    assert float(high - low) / 2 == pytest.approx(12.706, rel=0.01), "t of one degree"


@STATISTICS
def test_the_interval_holds_its_estimate_and_grows_with_the_level(statistic):
    values = normal(4, 6, 20)
    inner = interval(values, statistic, level=0.8)
    outer = interval(values, statistic, level=0.95)
    np.testing.assert_array_equal(inner.estimate, statistic(values))
    assert np.all(outer.low < inner.low)
    assert np.all(inner.low < inner.estimate)
    assert np.all(inner.estimate < inner.high)
    assert np.all(inner.high < outer.high)


@STATISTICS
def test_the_order_of_trials_says_nothing(statistic):
    values, other = normal(5, 6, 20), normal(6, 6, 15)
    order = np.random.default_rng(7).permutation(20)
    for measure in (
        lambda values: interval(values, statistic),
        lambda values: difference(values, other, statistic),
        lambda values: probability_of_improvement(values, other),
    ):
        np.testing.assert_allclose(
            measure(values[:, order]), measure(values), atol=1e-12
        )


@STATISTICS
def test_units_do_not_matter(statistic):
    values = normal(8, 20)
    scaled = interval(100 * values - 7, statistic)
    expected = [100 * bound - 7 for bound in interval(values, statistic)]
    np.testing.assert_allclose(scaled, expected)


def test_evaluations_share_their_resamples():
    """So the band of a curve in other units is the band in other units."""
    values = normal(9, 20)
    band = interval(np.stack([values, 3 * values + 1]), interquartile_mean)
    for bound in band:
        assert bound.shape == (2,)
        assert bound[1] == pytest.approx(3 * bound[0] + 1)


def test_the_seed_decides():
    values = normal(10, 20)
    first, again, other = (interval(values, mean, seed=seed) for seed in (1, 1, 2))
    assert first == again
    assert first.low != other.low


@STATISTICS
def test_equal_trials_give_no_interval(statistic):
    same = np.full(20, 3.0)
    assert interval(same, statistic) == (3, 3, 3)
    assert stratified_interval([same, same], statistic) == (3, 3, 3)
    assert difference(same, same - 2, statistic) == (2, 2, 2)


@STATISTICS
def test_one_group_is_the_single_form(statistic):
    values = normal(11, 3, 20)
    single = interval(values, statistic, seed=3)
    grouped = stratified_interval([values], statistic, seed=3)
    np.testing.assert_array_equal(single, grouped)


def test_strata_keep_differences_of_domains_out():
    """Easy and hard domains whose trials agree: only a pooled resample is unsure."""
    domains = [np.zeros(20), np.full(20, 100.0)]
    assert stratified_interval(domains, mean) == (50, 50, 50)
    pooled = interval(np.concatenate(domains), mean)
    assert pooled.high - pooled.low > 20


def test_every_domain_counts_the_same():
    """However many trials it has, and however wide or narrow they are."""
    domains = [np.array([1.0, 2.0]), np.array([3.0, 4.0, 5.0, 105.0])]
    assert stratified_interval(domains, mean).estimate == (1.5 + 29.25) / 2
    assert stratified_interval(domains, interquartile_mean).estimate == 3


def test_the_interval_of_a_difference_is_welchs():
    """Of equal sizes; with n − 1 degrees of freedom, the fewest that Welch can have."""
    ours, theirs = normal(12, 15) + 1, 2 * normal(13, 15)
    estimate, low, high = difference(ours, theirs, mean, resamples=100_000)
    error = np.hypot(stats.sem(ours), stats.sem(theirs))
    assert estimate == pytest.approx(ours.mean() - theirs.mean())
    reach = stats.t.ppf(0.975, 14) * error
    assert float(high - low) / 2 == pytest.approx(reach, rel=0.01)


# Probabilities


def test_pairs_won_by_hand():
    """Of the pairs of (1, 3) and (0, 1, 2): five won or tied, one of them a tie."""
    ours, theirs = np.array([1.0, 3.0]), np.array([0.0, 1.0, 2.0])
    estimate = probability_of_improvement(ours, theirs).estimate
    assert float(estimate) == pytest.approx((4 + 1 / 2) / 6)


def test_improvement_is_mann_whitney():
    rng = np.random.default_rng(14)
    ours, theirs = rng.integers(6, size=20) + 1.0, rng.integers(6, size=25) + 0.0
    wins = stats.mannwhitneyu(ours, theirs).statistic / (20 * 25)
    estimate, low, high = probability_of_improvement(ours, theirs)
    assert float(estimate) == pytest.approx(wins)
    assert 0 < low < estimate < high < 1


def test_one_side_or_the_other_improves():
    ours, theirs = normal(15, 4, 20).round(1), normal(16, 4, 15).round(1)
    total = (
        probability_of_improvement(ours, theirs).estimate
        + probability_of_improvement(theirs, ours).estimate
    )
    np.testing.assert_allclose(total, 1)


def test_only_the_order_of_scores_matters_to_improvement():
    ours, theirs = normal(17, 20) + 0.5, normal(18, 20)
    np.testing.assert_allclose(
        probability_of_improvement(np.exp(ours), np.exp(theirs)),
        probability_of_improvement(ours, theirs),
    )


def test_certain_and_even_pairs():
    low, high = np.arange(5.0), np.arange(5.0) + 10
    q = 1 - 0.025 ** (1 / 5)  # Clopper and Pearson's bound for none of five
    assert stats.binomtest(0, 5).proportion_ci().high == pytest.approx(q)
    expected = {(1, 1 - q, 1): (high, low), (0, 0, q): (low, high)}
    expected |= {(0.5, 0.5 - q / 2, 0.5 + q / 2): (np.ones(5), np.ones(5))}
    for bounds, pair in expected.items():
        assert probability_of_improvement(*pair) == pytest.approx(bounds)


def test_trials_that_never_arrive_tie():
    times = np.array([1.0, np.inf])
    assert probability_of_improvement(times, times).estimate == 0.5


def test_negative_transfer_counts_losses_and_no_ties():
    ours, scratch = np.array([1.0, 3.0, 5.0]), np.array([2.0, 3.0, 4.0])
    assert negative_transfer(ours, scratch).estimate == pytest.approx((3 + 1 + 0) / 9)
    assert negative_transfer(scratch - 9, scratch).estimate == 1
    assert negative_transfer(scratch, scratch[:1]).estimate == 0
    apart = scratch + 0.5
    expected = probability_of_improvement(apart, ours, seed=4).estimate
    assert negative_transfer(ours, apart, seed=4).estimate == pytest.approx(expected)


def test_a_profile_by_hand():
    values, thresholds = np.array([0.0, 1.0, 2.0, 2.0]), np.array([-1, 0, 1, 2, 3])
    share, low, high = performance_profile(values, thresholds)
    np.testing.assert_array_equal(share, [1, 1, 0.75, 0.5, 0])
    for place, count in enumerate((4, 4, 3, 2, 0)):
        wilson = stats.binomtest(count, 4).proportion_ci(method="wilson")
        np.testing.assert_allclose((low[place], high[place]), wilson, atol=1e-12)


@pytest.mark.parametrize(("n", "truth"), [(10, 0.5), (10, 0.9), (20, 0.7), (20, 0.9)])
def test_a_profile_holds_the_truth_as_often_as_it_says(n, truth):
    """Summed over all outcomes, so nothing is left to chance."""
    counts = np.arange(n + 1)
    held = []
    for count in counts:
        values = (np.arange(n) < count).astype(float)
        _, low, high = performance_profile(values, np.array([0.5]))
        held.append(low[0] <= truth <= high[0])
    coverage = stats.binom.pmf(counts, n, truth) @ np.array(held)
    assert 0.92 <= coverage <= 0.985


def test_a_profile_never_rises():
    share, low, high = performance_profile(normal(19, 30), np.linspace(-3, 3, 50))
    assert np.all(np.diff(share) <= 0)
    assert np.all((low >= 0) & (low <= share) & (share <= high) & (high <= 1))


# Measures of transfer


def test_the_area_of_a_line_is_its_middle():
    """However unevenly it is evaluated."""
    steps = np.array([0, 10, 15, 100])
    slopes = np.array([1.0, -2.0])
    scores = 5 + steps[:, None] * slopes
    np.testing.assert_allclose(area(steps, scores), 5 + 50 * slopes)


def test_the_area_by_hand():
    """0 → 4 over two steps and 4 → 4 over six: (4 + 24)/8; one evaluation is itself."""
    scores = np.array([[0.0], [4.0], [4.0]])
    np.testing.assert_allclose(area(np.array([2, 4, 10]), scores), [3.5])
    np.testing.assert_array_equal(area(np.array([7]), scores[1:2]), [4])


def test_the_asymptote_is_the_mean_of_the_last():
    scores = np.arange(25.0)[:, None] * np.array([1.0, 2.0])
    np.testing.assert_array_equal(asymptote(scores), [23, 46])  # ⌈2.5⌉ = 3
    np.testing.assert_array_equal(asymptote(scores, 1.0), [12, 24])
    np.testing.assert_array_equal(asymptote(scores[:1]), [0, 0])
    np.testing.assert_array_equal(asymptote(np.arange(100.0)[:, None], 0.07), [96])


def test_the_jumpstart_is_at_the_first_evaluation():
    ours = np.array([[3.0, 5.0], [0.0, 0.0]])
    theirs = np.array([[0.0, 1.0, 2.0], [9.0, 9.0, 9.0], [9.0, 9.0, 9.0]])
    assert head_start(ours, theirs).estimate == 3
    assert head_start(ours, theirs) == difference(ours[0], theirs[0], mean)


STEPS = np.array([0, 10, 20, 30, 40])


@pytest.mark.parametrize(
    ("scores", "stay", "expected"),
    [
        ([0, 0, 1, 1, 0], 2, 20),
        ([1, 1, 0, 0, 0], 2, 0),
        ([0, 1, 0, 1, 1], 2, 30),
        ([0, 1, 0, 1, 1], 1, 10),
        ([0, 1, 0, 1, 0], 2, np.inf),
        ([0, 0, 0, 0, 0], 1, np.inf),
        ([0, 0, 0, 0, 1], 2, 40),  # all that are left
        ([0, 0, 0, 1, 1], 9, 30),
        ([1, 1, 1, 1, 0], 5, np.inf),
    ],
)
def test_samples_to_a_threshold(scores, stay, expected):
    scores = np.array(scores, float)[:, None]
    np.testing.assert_array_equal(samples_to(STEPS, scores, 1.0, stay), [expected])


def test_trials_are_timed_apart():
    scores = np.array([[0.0, 2.0, 0], [2, 2, 0], [2, 2, 0], [2, 2, 0], [2, 2, 0]])
    np.testing.assert_array_equal(samples_to(STEPS, scores, 1.5), [10, 0, np.inf])


def test_a_trial_that_never_arrives_is_counted():
    times = np.array([10.0, 30.0, np.inf, np.inf])
    assert restricted_mean(times, 40.0) == 30
    assert restricted_mean(times, 20.0) == 17.5


def test_a_restricted_mean_has_an_interval():
    times = np.append(np.arange(18.0), [np.inf, np.inf])
    estimate, low, high = interval(times, lambda times: restricted_mean(times, 40.0))
    assert estimate == restricted_mean(times, 40.0)
    assert 0 < low < estimate < high < 40


# Coverage: in how many of 4,000 experiments the truth lies inside

DRAWS = {
    "normal": lambda rng, *shape: rng.normal(size=shape),
    "skewed": lambda rng, *shape: rng.gamma(4, size=shape),
}
GAMMA_QUARTILES = stats.gamma(4).ppf([0.25, 0.75])
TRUTHS = {
    ("normal", mean): 0,
    ("normal", interquartile_mean): 0,
    ("skewed", mean): 4,
    # x·density of Γ(4) is 4 times the density of Γ(5), and half the mass is inside.
    ("skewed", interquartile_mean): 8 * np.diff(stats.gamma(5).cdf(GAMMA_QUARTILES))[0],
}


def coverage(truth, bounds, experiments=4000, batch=200):
    """The share of experiments whose bounds hold the truth, batch by batch."""
    rng = np.random.default_rng(20)
    held = []
    for seed in range(experiments // batch):
        low, high = bounds(rng, batch, seed)
        held.append((low <= truth) & (truth <= high))
    return np.mean(held)


@STATISTICS
@pytest.mark.parametrize("trials", [10, 20])
@pytest.mark.parametrize("data", DRAWS)
def test_an_interval_covers_what_it_says(data, trials, statistic):
    def bounds(rng, batch, seed):
        values = DRAWS[data](rng, batch, trials)
        return interval(values, statistic, resamples=500, seed=seed)[1:]

    assert 0.93 <= coverage(TRUTHS[data, statistic], bounds) <= 0.97


def test_percentiles_of_five_trials_would_not():
    def bounds(rng, batch, seed):
        values = rng.normal(size=(batch, 5))
        drawn = np.random.default_rng(seed).integers(5, size=(500, 5))
        return np.quantile(values[:, drawn].mean(-1), [0.025, 0.975], axis=-1)

    assert coverage(0, bounds) < 0.93


def test_a_difference_covers_what_it_says_for_unlike_groups():
    """The few trials have the large variance, where pooled degrees cover too little."""

    def bounds(rng, batch, seed):
        ours, theirs = 3 * rng.normal(size=(batch, 10)), rng.normal(size=(batch, 30))
        return difference(ours, theirs, mean, resamples=500, seed=seed)[1:]

    assert 0.93 <= coverage(0, bounds) <= 0.97


def test_strata_cover_what_they_say():
    """Three domains, one above and one below: the mean of their middles is at 0."""
    centres = np.array([-1.0, 0.0, 1.0])

    def bounds(rng, batch, seed):
        groups = [centre + rng.normal(size=(batch, 20)) for centre in centres]
        return stratified_interval(
            groups, interquartile_mean, resamples=200, seed=seed
        )[1:]

    assert 0.93 <= coverage(0, bounds) <= 0.98


def scores_of(rng, batch, fresh):
    """Scores of 10 trials: quality, and the luck of 5 episodes, shared or not."""
    quality, luck = rng.normal(size=(batch, 10)), 3 * rng.normal(size=(batch, 10, 5))
    return quality + (luck if fresh else luck[:, :1]).mean(axis=-1)


def test_trials_with_episodes_of_their_own_have_intervals_that_count_both():
    """With episodes that all trials share, the same interval holds far less."""

    def held(fresh):
        def bounds(rng, batch, seed):
            scores = scores_of(rng, batch, fresh)
            return interval(scores, mean, resamples=500, seed=seed)[1:]

        return coverage(0, bounds)

    assert 0.93 <= held(fresh=True) <= 0.97
    assert held(fresh=False) < 0.7


@pytest.mark.parametrize("truth", [0.5, 0.9])
def test_improvement_covers_what_it_says(truth):
    """For X ~ N(μ, 1) and Y ~ N(0, 1), P(X > Y) = Φ(μ/√2)."""
    shift = np.sqrt(2) * stats.norm.ppf(truth)

    def bounds(rng, batch, seed):
        ours, theirs = (
            shift + rng.normal(size=(batch, 30)),
            rng.normal(size=(batch, 30)),
        )
        return probability_of_improvement(ours, theirs, resamples=200, seed=seed)[1:]

    assert 0.93 <= coverage(truth, bounds, 2000, 50) <= 0.97
