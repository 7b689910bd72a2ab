"""What we claim beyond the paper: bars that MARS must reach, answered by the rows."""

from collections.abc import Callable, Sequence

import numpy as np

from policymix.reports.analysis import areas
from policymix.reports.results import Results
from policymix.reports.statistics import difference, mean
from policymix.reports.verdicts import (
    COMPARABLE,
    COMPARABLY,
    Answer,
    Verdict,
    absent,
    beats,
    judge,
    margin,
    number,
    show,
    together,
)

MOST_TRIALS = 0.9
"""Share of the trials that must keep a task solved."""


def quarter(results: Results) -> Verdict:
    """What the advice of the right forecasts saves."""
    claim = "MARS has at most a quarter of no transfer's cumulative regret"
    missing = absent(results, claim, "mars", "scratch")
    if missing:
        return missing
    values = areas(results)
    bounds = difference(values["scratch"] / 4, values["mars"], mean)
    ours, none = (number(float(values[name].mean())) for name in ("mars", "scratch"))
    share = 100 * values["mars"].mean() / values["scratch"].mean()
    text = f"A month costs {ours} more than it must with mars, {none} with scratch: "
    return Verdict(claim, judge(bounds), f"{text}{share:.0f} % over the run.")


def harmless(results: Results) -> Verdict:
    """What forecasts cost that do not hold."""
    claim = f"Where no forecast holds, MARS ends {COMPARABLY} no transfer, or better"
    return beats(results, claim, "mars", "scratch", margin(results), at_end=True)


def above_both(results: Results) -> Verdict:
    """Advice that is worth something is used and improved upon."""
    claim = "MARS has a better area than its advice alone and than no transfer"
    rivals = ("follow", "scratch")
    return both(claim, [beats(results, claim, "mars", name) for name in rivals])


def ends_above_both(results: Results) -> Verdict:
    """Nor is anything lost in the long run."""
    claim = f"MARS ends {COMPARABLY} its advice alone and no transfer, or better"
    short, rivals = margin(results), ("follow", "scratch")
    return both(
        claim,
        [beats(results, claim, "mars", name, short, at_end=True) for name in rivals],
    )


def both(claim: str, verdicts: Sequence[Verdict]) -> Verdict:
    """One claim of several rivals."""
    answer = together([verdict.answer for verdict in verdicts])
    if answer == "not run":
        missing = [v.sentence for v in verdicts if v.answer == answer]
        return Verdict(claim, answer, ", ".join(missing))
    doubted = [verdict for verdict in verdicts if verdict.doubt is not None]
    return Verdict(
        claim,
        answer,
        " ".join(verdict.sentence for verdict in verdicts),
        together([v.doubt for v in doubted if v.doubt]) if doubted else None,
        " ".join(verdict.alone for verdict in doubted),
    )


def tenth_above(results: Results) -> Verdict:
    """Right dynamics are worth something whatever the policies are."""
    return times_scratch(results, 1.1)


def nearly_scratch(results: Results) -> Verdict:
    """What sources cost that are good for nothing."""
    return times_scratch(results, 0.95)


def times_scratch(results: Results, factor: float) -> Verdict:
    """MARS against a multiple of no transfer, where scores count up from zero."""
    claim = f"MARS has at least {factor:g} times the area of no transfer"
    missing = absent(results, claim, "mars", "scratch")
    if missing:
        return missing
    values = areas(results)
    bounds = difference(values["mars"], factor * values["scratch"], mean)
    ours, none = (number(float(values[name].mean())) for name in ("mars", "scratch"))
    ratio = values["mars"].mean() / values["scratch"].mean()
    text = (
        f"mars has {ours}, scratch {none} {results.facts['measure']} over the run: "
        f"{ratio:.2f} times as much; above the bar by {show(bounds)}."
    )
    return Verdict(claim, judge(bounds), text)


def stays_solved(results: Results, score: float, samples: int) -> Verdict:
    """Every test from some moment on, in nearly all trials."""
    limit = "most" if results.sign < 0 else "least"
    claim = (
        f"MARS has at {limit} {score:g} {results.facts['measure']} from {samples:,} "
        f"samples on, in {100 * MOST_TRIALS:.0f} % of the trials"
    )
    missing = absent(results, claim, "mars")
    if missing:
        return missing
    if results.curves["mars"].steps[-1] < samples:
        return Verdict(claim, "not run", f"{samples:,} samples")
    kept = {}
    for name, curve in results.curves.items():
        late = results.sign * curve.scores[curve.steps >= samples]
        kept[name] = int(np.all(late >= results.sign * score, axis=0).sum())
    trials = results.facts["trials"]
    answer: Answer = "yes" if kept["mars"] >= MOST_TRIALS * trials else "no"
    text = ", ".join(f"{name} {count} of {trials}" for name, count in kept.items())
    return Verdict(claim, answer, f"Trials that do: {text}.")


def like_twin(results: Results, everything: Sequence[Results]) -> Verdict:
    """The unit of rewards must not matter."""
    twin = results.study.twin
    claim = f"The area of MARS is within {100 * COMPARABLE:.0f} % of that on {twin}"
    missing = absent(results, claim, "mars")
    others = [other for other in everything if other.domain == twin]
    if missing or not others or "mars" not in others[0].curves:
        return missing or Verdict(claim, "not run", f"mars on {twin}")
    ours, theirs = (areas(each)["mars"] for each in (results, others[0]))
    bounds, most = difference(ours, theirs, mean), COMPARABLE * abs(theirs.mean())
    text = (
        f"mars has {number(float(ours.mean()))} here and "
        f"{number(float(theirs.mean()))} there: a difference of {show(bounds)}."
    )
    inside: Answer = "not shown"
    if bounds.low > -most and bounds.high < most:
        inside = "yes"
    elif bounds.high < -most or bounds.low > most:
        inside = "no"
    return Verdict(claim, inside, text)


PROMISES: dict[str, Callable[[Results], Verdict]] = {
    "quarter-of-the-regret": quarter,
    "harmless": harmless,
    "above-both": above_both,
    "ends-above-both": ends_above_both,
    "tenth-above": tenth_above,
    "nearly-scratch": nearly_scratch,
}
"""By the names that a domain's `Study` has for them."""
