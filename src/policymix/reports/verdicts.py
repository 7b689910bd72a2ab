"""Verdicts: yes, no or not shown, and the figures behind them.

The answer is "yes" when the whole 95 % interval speaks for a claim, "no" when all of it
speaks against it, and "not shown" otherwise or when a method was not run.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from policymix.reports.analysis import areas, ends, gain, scale_of
from policymix.reports.results import Results, place_of
from policymix.reports.statistics import Interval

Answer = Literal["yes", "no", "not shown"]
COMPARABLE = 0.05
"""Results are comparable when they differ by less than this share of the scale."""


class Verdict(NamedTuple):
    """A claim, its answer and the figures behind it."""

    claim: str
    answer: Answer
    sentence: str


def judge(bounds: Interval, margin: float = 0.0) -> Answer:
    """Whether a difference is above −margin."""
    if bounds.low > -margin:
        return "yes"
    return "no" if bounds.high < -margin else "not shown"


def together(answers: Sequence[Answer]) -> Answer:
    """Yes when all are, no when one is."""
    if all(answer == "yes" for answer in answers):
        return "yes"
    return "no" if "no" in answers else "not shown"


def number(value: float, finer: int = 0) -> str:
    """Three figures or so, and some more digits if asked for."""
    size = abs(value)
    digits = finer + (0 if size >= 100 else 1 if size >= 1 else 2)
    if size < 0.5 * 10.0 ** -(finer + 2):
        return "0"
    return f"{value:.{digits}f}"


EVERY_TRIAL = "(every trial)"
"""Stands for an interval where no trial differs: there is nothing to make one from."""
FINEST = 4
"""Digits, at most, that are added to tell the ends of an interval apart."""


def show(bounds: Interval, unit: float = 1.0) -> str:
    """An estimate with its interval, in as many digits as keep its ends apart."""
    middle = number(unit * float(bounds.estimate))
    if np.isnan(bounds.low):
        return middle
    for finer in range(FINEST + 1):
        finest, low, high = (number(unit * float(value), finer) for value in bounds)
        if low != high:
            return f"{finest} [{low}, {high}]"
    return f"{middle} {EVERY_TRIAL}"


def absent(results: Results, claim: str, *names: str) -> Verdict | None:
    """The verdict when a method was not run."""
    missing = sorted(set(names) - set(results.curves), key=place_of)
    if not missing:
        return None
    return Verdict(claim, "not shown", f"Not run: {', '.join(missing)}.")


def compare(
    results: Results, ours: str, theirs: str, bounds: Interval, at_end: bool = False
) -> str:
    """Both means and the difference, in words."""
    values = ends(results) if at_end else areas(results)
    when = "over the last tenth of the tests" if at_end else "over the run"
    mine, other = (number(float(values[name].mean())) for name in (ours, theirs))
    size = bounds
    if bounds.estimate < 0:
        size = Interval(-bounds.estimate, -bounds.high, -bounds.low)
    return (
        f"{ours} has {mine}, {theirs} {other} {results.facts['measure']} {when}: "
        f"{'better' if bounds.estimate >= 0 else 'worse'} by {show(size)}."
    )


def beats(
    results: Results,
    claim: str,
    ours: str,
    theirs: str,
    short: float = 0.0,
    at_end: bool = False,
) -> Verdict:
    """One method's area or end against another's; it may fall short by so much."""
    missing = absent(results, claim, ours, theirs)
    if missing:
        return missing
    bounds = gain(results, ours, theirs, at_end=at_end)
    text = compare(results, ours, theirs, bounds, at_end)
    return Verdict(claim, judge(bounds, short), text)


def margin(results: Results) -> float:
    """What counts as comparable, in the domain's units."""
    scale = scale_of(results)
    return COMPARABLE * abs(scale.goal - scale.floor)
