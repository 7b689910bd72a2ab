"""What learning curves say, and how surely.

`scores` of one method on one domain are [evaluations, trials], `steps` [evaluations],
and higher is better; a caller negates what should be low. Statistics reduce the last
axis, the trials, so that a whole curve goes through at once.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypedDict, Unpack

import numpy as np
from jaxtyping import Float, Real
from scipy import special, stats

Array = Float[np.ndarray, "..."]
Reduced = Float[np.ndarray, "*batch"]
Values = Float[np.ndarray, "*batch trials"]
Scores = Float[np.ndarray, "evaluations trials"]
Steps = Real[np.ndarray, " evaluations"]
Statistic = Callable[[np.ndarray], np.ndarray]


class Interval(NamedTuple):
    """An estimate and the bounds that hold the truth at the level asked for."""

    estimate: Array
    low: Array
    high: Array


class Bootstrap(TypedDict, total=False):
    """The keywords of every interval: 95 %, 2,000 resamples and seed 0 unless told."""

    level: float
    resamples: int
    seed: int


def mean(values: Values) -> Reduced:
    """The mean over trials."""
    return np.asarray(values.mean(axis=-1))


def interquartile_mean(values: Array, axis: int = -1) -> Array:
    """The mean of the middle half of the trials.

    As in rliable, ⌊n/4⌋ trials are cut at either end; no trial counts by a fraction.
    """
    return np.asarray(stats.trim_mean(values, 0.25, axis=axis))


def standard_error(values: Values) -> Reduced:
    """s/√n with n − 1 in s; nan for a single trial."""
    trials = values.shape[-1]
    if trials == 1:
        return np.full(values.shape[:-1], np.nan)
    return np.asarray(values.std(axis=-1, ddof=1) / math.sqrt(trials))


def interval(
    values: Values, statistic: Statistic, **bootstrap: Unpack[Bootstrap]
) -> Interval:
    """A statistic of one domain's trials, or of each evaluation of a curve.

    Trials are resampled whole, so all evaluations of a curve share their resamples.
    """
    return stratified_interval([values], statistic, **bootstrap)


def stratified_interval(
    groups: Sequence[Array], statistic: Statistic, **bootstrap: Unpack[Bootstrap]
) -> Interval:
    """The mean over domains of a statistic of each, its trials resampled within it.

    Every domain counts the same, however many trials it has and however they scatter:
    the middle half of all trials together would be mostly those of one domain.

    The interval is θ̂ ± t·√(n/(n − 1))·σ*: σ* is the bootstrap's standard error, and n
    the trials of the smallest group. It is the simplest that covers 93–97 % at a
    nominal 95 % for means and interquartile means of 10 and of 20 trials, normal or
    skewed; percentiles cover less (89 % for a mean of 10), and so does BCa.

    Args:
        groups: normalised scores [..., trials], one array per domain.
        statistic: reduces the last axis.
        **bootstrap: see `Bootstrap`.

    Returns:
        The estimate and its bounds; the bounds of a single trial are nan.
    """

    def averaged(*samples: np.ndarray) -> np.ndarray:
        middles = [statistic(sample) for sample in samples]
        return np.asarray(np.mean(middles, axis=0))

    return _around(averaged, *groups, **bootstrap)


def difference(
    ours: Array, theirs: Array, statistic: Statistic, **bootstrap: Unpack[Bootstrap]
) -> Interval:
    """How much higher a statistic of our trials is; both sides are resampled."""

    def gain(ours: np.ndarray, theirs: np.ndarray) -> np.ndarray:
        return np.asarray(statistic(ours) - statistic(theirs))

    return _around(gain, ours, theirs, **bootstrap)


def probability_of_improvement(
    ours: Array, theirs: Array, **bootstrap: Unpack[Bootstrap]
) -> Interval:
    """P(ours > theirs) + ½ P(ours = theirs) for a trial of each (Mann–Whitney).

    The bounds are symmetric in the log-odds: they stay within [0, 1] and hold near its
    ends, where θ̂ ± reach does not. When one side wins every time no resample differs;
    for that see `_unseen`.
    """
    return _share(_wins, ours, theirs, **bootstrap)


def negative_transfer(
    ours: Array, scratch: Array, **bootstrap: Unpack[Bootstrap]
) -> Interval:
    """P(ours < scratch): a trial with transfer is worse than one without; no ties."""

    def losses(ours: np.ndarray, scratch: np.ndarray) -> np.ndarray:
        worse = ours[..., :, None] < scratch[..., None, :]
        return np.asarray(worse.mean(axis=(-2, -1)))

    return _share(losses, ours, scratch, **bootstrap)


def performance_profile(
    values: Float[np.ndarray, " trials"],
    thresholds: Real[np.ndarray, " thresholds"],
    level: float = 0.95,
) -> Interval:
    """The share of trials at or above each threshold, with Wilson's pointwise bounds.

    A share of n trials is a binomial, for which Wilson's interval is simpler than
    resampling and holds where it fails: at a share of 0.9 of 10 trials it covers 93 %,
    the bootstrap 65 %.
    """
    n = values.shape[-1]
    share = mean((values >= thresholds[:, None]).astype(float))
    z = stats.norm.ppf((1 + level) / 2)
    centre = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    reach = z / (1 + z**2 / n) * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    low, high = np.minimum(centre - reach, share), np.maximum(centre + reach, share)
    return Interval(share, np.maximum(low, 0), np.minimum(high, 1))


def area(steps: Steps, scores: Scores) -> Float[np.ndarray, " trials"]:
    """Each trial's mean score over the run: the trapezoid rule over the span."""
    if len(steps) == 1:
        return scores[0]
    return np.trapezoid(scores, steps, axis=0) / (steps[-1] - steps[0])


def asymptote(scores: Scores, share: float = 0.1) -> Float[np.ndarray, " trials"]:
    """Each trial's mean over the last ⌈share × evaluations⌉, for 0 < share ≤ 1."""
    last = math.ceil(share * len(scores) - 1e-9)  # 0.07 × 100 is a little over 7
    return scores[-last:].mean(axis=0)


def head_start(
    ours: Float[np.ndarray, "evaluations ours"],
    theirs: Float[np.ndarray, "_ theirs"],
    **bootstrap: Unpack[Bootstrap],
) -> Interval:
    """How much higher our mean score is at the first evaluation."""
    return difference(ours[0], theirs[0], mean, **bootstrap)


def samples_to(
    steps: Steps, scores: Scores, threshold: float, stay: int = 2
) -> Float[np.ndarray, " trials"]:
    """Each trial's first step at the threshold, `inf` where it is never reached.

    Reached means at or above it for `stay` evaluations in a row, or for all that are
    left when the run ends sooner.
    """
    reached = np.pad(scores >= threshold, ((0, stay - 1), (0, 0)), constant_values=True)
    stays = np.lib.stride_tricks.sliding_window_view(reached, stay, axis=0).all(axis=-1)
    return np.where(stays.any(axis=0), steps[stays.argmax(axis=0)], np.inf)


def restricted_mean(times: Values, limit: float) -> Reduced:
    """The mean of min(time, limit): a trial that never arrives counts as the limit."""
    return mean(np.minimum(times, limit))


def _wins(ours: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    """The share of pairs that we win, with ties as half a win."""
    ours, theirs = ours[..., :, None], theirs[..., None, :]
    won, tied = ours > theirs, ours == theirs
    return np.asarray(won.mean(axis=(-2, -1)) + tied.mean(axis=(-2, -1)) / 2)


def _around(
    statistic: Callable[..., np.ndarray],
    *groups: np.ndarray,
    **bootstrap: Unpack[Bootstrap],
) -> Interval:
    """θ̂ ± reach."""
    estimate = statistic(*groups)
    reach = _reach(statistic, *groups, **bootstrap)
    low, high = estimate - reach, estimate + reach
    return Interval(estimate, np.asarray(low), np.asarray(high))


def _share(
    statistic: Callable[..., np.ndarray],
    *groups: np.ndarray,
    **bootstrap: Unpack[Bootstrap],
) -> Interval:
    """The same in the log-odds of a share p, whose slope is 1/(p(1 − p))."""
    share = statistic(*groups)
    reach = _reach(statistic, *groups, **bootstrap)
    wider = np.zeros_like(reach)
    np.divide(reach, share * (1 - share), out=wider, where=reach != 0)
    odds = special.logit(share)
    low, high = special.expit(odds - wider), special.expit(odds + wider)
    pairs = min(group.shape[-1] for group in groups)
    other = _unseen(pairs, bootstrap.get("level", 0.95))
    low = np.where(reach == 0, (1 - other) * share, low)
    high = np.where(reach == 0, (1 - other) * share + other, high)
    return Interval(share, low, high)


def _unseen(pairs: int, level: float) -> float:
    """How probable what no pair of trials has shown can still be.

    Of all pairs, as many are independent as the smaller side has trials. What has
    probability q is shown by none of them with (1 − q)^pairs; the bound, which is
    Clopper and Pearson's, is the q at which that is half of what the level leaves.
    """
    return 1 - ((1 - level) / 2) ** (1 / pairs)


def _reach(
    statistic: Callable[..., np.ndarray],
    *groups: np.ndarray,
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> np.ndarray:
    """t·√(n/(n − 1))·σ* of a statistic of independent groups.

    The bootstrap's variance has n where the unbiased one has n − 1. The smallest group
    sets both n and t's degrees of freedom, which is safe however the variances differ.
    """
    rng = np.random.default_rng(seed)
    samples = [_resampled(group, resamples, rng) for group in groups]
    n = min(group.shape[-1] for group in groups)
    t = stats.t.ppf((1 + level) / 2, n - 1)  # nan for one trial
    error = statistic(*samples).std(axis=-1)
    return np.asarray(t * math.sqrt(n / max(n - 1, 1)) * error)


def _resampled(
    group: np.ndarray, resamples: int, rng: np.random.Generator
) -> np.ndarray:
    """Trials drawn with replacement, [..., resamples, trials].

    They are sorted first, so that the order in which trials are listed says nothing.
    """
    trials = group.shape[-1]
    order = np.lexsort(group.reshape(-1, trials))
    drawn = order[rng.integers(trials, size=(resamples, trials))]
    return group[..., drawn]
