"""Verdicts: yes, no or not shown, and the figures behind them.

The answer is "yes" when the whole 95 % interval speaks for a claim, "no" when all of it
speaks against it, and "not shown" otherwise. What was "not run" is not asked.

Methods are tested as they act, some with their sources and some without. A sceptic
compares what both have learned when nobody has sources; his answer stands beside.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from policymix.reports.analysis import areas, ends, gain, scale_of, scores_of
from policymix.reports.results import Results, place_of
from policymix.reports.statistics import Interval

Answer = Literal["yes", "no", "not shown", "not run"]
COMPARABLE = 0.05
"""Results are comparable when they differ by less than this share of the scale."""
COMPARABLY = f"at most {100 * COMPARABLE:.0f} % of the scale below"
"""The same in words."""


class Verdict(NamedTuple):
    """A claim, its answer and the figures behind it."""

    claim: str
    answer: Answer
    sentence: str
    """The figures; of what was not run, what is missing."""
    doubt: Answer | None = None
    """The answer when both sides are tested without sources, where that differs."""
    alone: str = ""
    """The figures behind that."""


def judge(bounds: Interval, margin: float = 0.0) -> Answer:
    """Whether a difference is above −margin."""
    if bounds.low > -margin:
        return "yes"
    return "no" if bounds.high < -margin else "not shown"


def together(answers: Sequence[Answer]) -> Answer:
    """Yes when all are, no when one is; not run when one was not."""
    if "not run" in answers:
        return "not run"
    if all(answer == "yes" for answer in answers):
        return "yes"
    return "no" if "no" in answers else "not shown"


def number(value: float, finer: int = 0) -> str:
    """Three figures or so, and some more digits if asked for."""
    size = abs(value)
    if size >= 1e15:
        return f"{value:.3g}"
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
    return Verdict(claim, "not run", ", ".join(missing)) if missing else None


def contrast(
    results: Results,
    ours: str,
    theirs: str,
    bounds: Interval,
    at_end: bool = False,
    alone: bool = False,
) -> str:
    """Both means and the difference, in words."""
    values = (ends if at_end else areas)(results, alone)
    when = "over the last tenth of the tests" if at_end else "over the run"
    mine, other = (number(float(values[name].mean())) for name in (ours, theirs))
    size = bounds
    if bounds.estimate < 0:
        size = Interval(-bounds.estimate, -bounds.high, -bounds.low)
    return (
        f"{ours}{' alone' * alone} has {mine}, {theirs} {other} "
        f"{results.facts['measure']} {when}: "
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
    return Verdict(claim, *against(results, ours, [theirs], short, at_end))


def against(
    results: Results,
    ours: str,
    rivals: Sequence[str],
    short: float = 0.0,
    at_end: bool = False,
) -> tuple[Answer, str, Answer | None, str]:
    """One method against each of its rivals: as they act, and without sources."""
    acting = nearest(results, ours, rivals, short, at_end)
    known = scores_of(results, alone=True)
    if not {ours, *rivals} <= set(known) or not any(
        np.any(known[name] != results.curves[name].scores) for name in (ours, *rivals)
    ):
        return (*acting, None, "")
    return (*acting, *nearest(results, ours, rivals, short, at_end, alone=True))


def nearest(
    results: Results,
    ours: str,
    rivals: Sequence[str],
    short: float = 0.0,
    at_end: bool = False,
    alone: bool = False,
) -> tuple[Answer, str]:
    """The answer of all rivals, and the figures of the one that is hardest to beat.

    Intervals are widened for so many comparisons.
    """
    level = 1 - 0.05 / len(rivals)
    gains = {
        name: gain(results, ours, name, at_end=at_end, alone=alone, level=level)
        for name in rivals
    }
    answers: dict[str, Answer] = {n: judge(gains[n], short) for n in rivals}
    first = min(gains, key=lambda name: float(gains[name].estimate))
    text = contrast(results, ours, first, gains[first], at_end, alone)
    if len(rivals) > 1:
        text = f"The nearest is {first}: {text}"
        unbeaten = [name for name in rivals if answers[name] != "yes"]
        text += f" Not beaten: {', '.join(unbeaten)}." if unbeaten else ""
    return together(list(answers.values())), text


def margin(results: Results) -> float:
    """What counts as comparable, in the domain's units."""
    scale = scale_of(results)
    return COMPARABLE * abs(scale.goal - scale.floor)
