"""What the rows say: a table of transfer measures for each domain, as plain numbers."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from policymix.reports.results import Results
from policymix.reports.statistics import (
    Interval,
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
from policymix.storage.runs import Curve

SHARES = (0.25, 0.5, 0.75, 0.9)
"""Of the way from where no transfer begins to where the best method ends."""


class Measures(NamedTuple):
    """One method on one domain, in the domain's own units."""

    method: str
    area: Interval
    """Interquartile mean over trials of the mean score of the run."""
    area_mean: float
    area_error: float
    """Mean and standard error of the same, as in the paper."""
    end: Interval
    """Interquartile mean of the last tenth of the tests."""
    alone: Interval | None
    """The same without the sources; None where the rows do not say it."""
    jumpstart: Interval | None
    """How much better than no transfer at the first test; positive is better."""
    arrivals: tuple[tuple[float, int], ...]
    """For each of SHARES: restricted mean of the samples, and trials that arrived."""
    beats_scratch: Interval | None
    """Probability of a better area than no transfer's."""
    harms: Interval | None
    """Probability of a worse end than no transfer's: negative transfer that lasts."""


class Scale(NamedTuple):
    """Scores that give a domain its scale."""

    floor: float
    goal: float

    def at(self, share: float) -> float:
        """So far up."""
        return self.floor + share * (self.goal - self.floor)


def scores_of(results: Results, alone: bool = False) -> dict[str, np.ndarray]:
    """Every method's tests; `alone` without the sources, of those whose rows say it."""
    if not alone:
        return {name: curve.scores for name, curve in results.curves.items()}
    found = {name: curve.alone for name, curve in results.curves.items()}
    return {name: tests for name, tests in found.items() if np.isfinite(tests).all()}


def areas(results: Results, alone: bool = False) -> dict[str, np.ndarray]:
    """Every method's area, one for each trial, in the domain's units."""
    return {
        name: area(results.curves[name].steps, tests)
        for name, tests in scores_of(results, alone).items()
    }


def ends(results: Results, alone: bool = False) -> dict[str, np.ndarray]:
    """Every method's mean over the last tenth of the tests."""
    return {n: asymptote(tests) for n, tests in scores_of(results, alone).items()}


def scale_of(results: Results) -> Scale:
    """From no transfer's first test (or the worst one) to the best method's end."""
    sign, last = results.sign, ends(results)
    goals = [sign * float(interquartile_mean(scores)) for scores in last.values()]
    starts = {name: sign * c.scores[0].mean() for name, c in results.curves.items()}
    floor = starts.get("scratch", min(starts.values()))
    return Scale(sign * float(floor), sign * max(goals))


def measure(results: Results) -> list[Measures]:
    """All methods, also at the best of their sweeps, the best area first."""
    curves = results.curves | best_of_sweeps(results)
    table = [measure_one(results, name, curve) for name, curve in curves.items()]
    return sorted(table, key=lambda row: -results.sign * row.area_mean)


def best_of_sweeps(results: Results) -> dict[str, Curve]:
    """Swept methods at their best value, where it is better than the domain's own.

    The paper reports every baseline so: the value is chosen by the very rows that are
    shown, which flatters the baseline.
    """
    found = {}
    for (method, setting), values in results.sweeps.items():
        means = {v: area(c.steps, c.scores).mean() for v, c in values.items()}
        own = results.facts["settings"][setting]
        best = max(means, key=lambda value: (results.sign * means[value], value == own))
        if best != own:
            found[f"{method}, best {setting} {best:g}"] = values[best]
    return found


def measure_one(results: Results, name: str, curve: Curve | None = None) -> Measures:
    """One method, by itself and against no transfer; its curve may be a sweep's."""
    sign, scale = results.sign, scale_of(results)
    curve = results.curves[name] if curve is None else curve
    mine, last = area(curve.steps, curve.scores), asymptote(curve.scores)
    alone = asymptote(curve.alone)
    start = better = worse = None
    if name != "scratch" and "scratch" in results.curves:
        none = results.curves["scratch"]
        start = head_start(sign * curve.scores, sign * none.scores)
        better = probability_of_improvement(
            sign * mine, sign * area(none.steps, none.scores)
        )
        worse = negative_transfer(sign * last, sign * asymptote(none.scores))
    return Measures(
        name,
        interval(mine, interquartile_mean),
        float(mine.mean()),
        float(standard_error(mine)),
        interval(last, interquartile_mean),
        interval(alone, interquartile_mean) if np.isfinite(alone).all() else None,
        start,
        tuple(arrival(curve, sign, scale.at(share)) for share in SHARES),
        better,
        worse,
    )


def arrival(curve: Curve, sign: int, threshold: float) -> tuple[float, int]:
    """Samples until a score is reached, and how many trials arrive."""
    times = samples_to(curve.steps, sign * curve.scores, sign * threshold)
    spent = restricted_mean(times, float(curve.steps[-1]))
    return float(spent), int(np.isfinite(times).sum())


def gain(
    results: Results,
    ours: str,
    theirs: str,
    *,
    at_end: bool = False,
    alone: bool = False,
    level: float = 0.95,
) -> Interval:
    """How much better one method's mean is than another's, whatever the measure.

    Args:
        results: of one domain.
        ours: the method that may gain.
        theirs: the other.
        at_end: compare the last tenth of the tests instead of the whole run.
        alone: compare what both do without their sources.
        level: of the interval.
    """
    values = (ends if at_end else areas)(results, alone)
    sign = results.sign
    return difference(sign * values[ours], sign * values[theirs], mean, level=level)


def normalised(results: Results) -> dict[str, np.ndarray]:
    """Areas on a scale where no transfer has 0 and the oracle 1, trial by trial."""
    values = areas(results)
    low, high = (values[name].mean() for name in ("scratch", "oracle"))
    return {name: (v - low) / (high - low) for name, v in values.items()}


def profiles(results: Results, thresholds: np.ndarray) -> dict[str, Interval]:
    """Share of trials whose area lies so far up the domain's scale."""
    scale = scale_of(results)
    span = results.sign * (abs(scale.goal - scale.floor) or 1.0)
    return {
        name: performance_profile((values - scale.floor) / span, thresholds)
        for name, values in areas(results).items()
    }


def across(everything: Sequence[Results]) -> dict[str, Interval]:
    """Methods over all domains: interquartile means of normalised areas, averaged.

    Every domain counts the same. Only methods that every domain has.
    """
    scales = [normalised(results) for results in everything]
    shared = [name for name in scales[0] if all(name in scale for scale in scales)]
    averaged = {
        name: stratified_interval([scale[name] for scale in scales], interquartile_mean)
        for name in shared
    }
    return dict(sorted(averaged.items(), key=lambda item: -float(item[1].estimate)))
