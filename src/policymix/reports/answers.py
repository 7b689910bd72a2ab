"""What a user asks of his own task, answered in plain words by the rows.

Does transfer help here, and by how much? Does it last? Which source is trusted where,
and is any of them useless?
"""

from typing import NamedTuple

import numpy as np

from policymix.environments.study import Points
from policymix.experiments.snapshots import OWN_MODEL
from policymix.reports.analysis import SHARES, measure_one, scale_of
from policymix.reports.results import Results, Seen, kind_of
from policymix.reports.statistics import Interval, interval, mean
from policymix.reports.verdicts import (
    COMPARABLE,
    Answer,
    Verdict,
    against,
    beats,
    margin,
    number,
)

HARDLY = 0.05
"""Mean weight below which a source is of no use."""
SOMEWHERE = 0.02
"""Share of the states from which on a source counts as the most trusted somewhere."""
CLEARLY = 0.75
"""Share of the states that a simple rule must get right, of both kinds."""
NO_LOOK = "a look at a mixture"


def answers(results: Results) -> list[Verdict]:
    """All that can be asked of an own task; what was not run says so."""
    ours = leader_of(results)
    asked = [helps(results, ours), lasts(results, ours)]
    if any(name.startswith("phi") for name in results.curves):
        asked.append(beats_singles(results, ours))
    return [*asked, depends_on_place(results), all_of_use(results)]


def leader_of(results: Results) -> str:
    """Whom the answers are about: mars, or else the first that transfers."""
    ours = [name for name in results.curves if kind_of(name) == "ours"]
    others = [name for name in results.curves if not name.startswith("scratch")]
    return next(iter([*ours, *others]), "mars")


def helps(results: Results, ours: str) -> Verdict:
    """Over the whole run, and how many samples are saved."""
    verdict = beats(results, "Does transfer help here?", ours, "scratch")
    if verdict.answer == "not run":
        return verdict
    text = f"{verdict.sentence} {savings(results, ours)}"
    return verdict._replace(sentence=text)


def savings(results: Results, ours: str) -> str:
    """Samples until most of the way is done, with and without transfer."""
    trials, goal = results.facts["trials"], scale_of(results).at(SHARES[-1])
    told = []
    for name in (ours, "scratch"):
        spent, arrived = measure_one(results, name).arrivals[-1]
        if not arrived:
            told.append(f"{name} fails")
            continue
        rest = "" if arrived == trials else f" ({arrived} of {trials} trials arrive)"
        told.append(f"{name} takes {spent:,.0f} samples{rest}")
    return f"To reach {number(goal)} and stay there: {', '.join(told)}."


def lasts(results: Results, ours: str) -> Verdict:
    """At the end no transfer may have caught up."""
    share = f"{100 * COMPARABLE:.0f} %"
    claim = (
        f"Does it end as well as no transfer (within {share} of the scale), or better?"
    )
    return beats(results, claim, ours, "scratch", margin(results), at_end=True)


def beats_singles(results: Results, ours: str) -> Verdict:
    """Whether several sources are worth more than any one that was run alone."""
    claim = "Is it better than every single source that was run?"
    alone = [name for name in results.curves if name.startswith("phi")]
    if ours in alone:
        return Verdict(claim, "not run", "mars")
    return Verdict(claim, *against(results, ours, alone))


def depends_on_place(results: Results) -> Verdict:
    """Who is the most trusted where, in the first trial."""
    claim = "Are different sources trusted in different places?"
    seen = looked_at(results)
    if seen is None:
        return Verdict(claim, "not run", NO_LOOK)
    weights = seen.arrays["weights"][-1]
    best = weights.argmax(axis=1)
    shares = {i: float(np.mean(best == i)) for i in range(len(seen.sources))}
    trusted = [i for i in sorted(shares, key=lambda i: -shares[i]) if shares[i] > 0]
    told = [
        f"{seen.sources[i]} in {100 * shares[i]:.0f} %{region(seen, best == i)}"
        for i in trusted
    ]
    answer: Answer = "no"
    if sum(shares[i] > SOMEWHERE for i in trusted) > 1:
        answer = "yes"
    where = "states" if not isinstance(seen.view, Points) else "visited states"
    text = (
        f"After {seen.steps[-1]:,} samples of trial 0, by the share of the {where} in "
        f"which it is trusted most: {'; '.join(told)}."
    )
    if OWN_MODEL in {seen.sources[i] for i in trusted}:
        text += f" “{OWN_MODEL}” means that no source explains what happens there."
    return Verdict(claim, answer, text)


class Rule(NamedTuple):
    """A number of the state is above or below a value."""

    right: float
    """Share of the states that it gets right, the mean of both kinds."""
    words: str


def region(seen: Seen, here: np.ndarray) -> str:
    """Where a source is trusted, if one number of the state nearly tells."""
    if not isinstance(seen.view, Points) or not SOMEWHERE < here.mean() < 1 - SOMEWHERE:
        return ""
    states = seen.arrays["visited"].reshape(len(here), -1)
    rules = [
        rule_of(column, here, label)
        for column, label in zip(states.T, seen.view.labels, strict=True)
    ]
    best = max(rules, key=lambda rule: rule.right)
    return f" (mostly where {best.words})" if best.right >= CLEARLY else ""


def rule_of(values: np.ndarray, here: np.ndarray, label: str) -> Rule:
    """The best threshold on one number of the state."""
    found = Rule(0.0, "")
    for threshold in np.unique(np.quantile(values, np.linspace(0.02, 0.98, 49))):
        above = values > threshold
        right = (np.mean(above[here]) + np.mean(~above[~here])) / 2
        for share, side in ((right, ">"), (1 - right, "<")):
            if share > found.right:
                found = Rule(share, f"{label} {side} {number(float(threshold))}")
    return found


def all_of_use(results: Results) -> Verdict:
    """Whether every source has some weight, over all trials."""
    claim = "Is every source of use?"
    seen = looked_at(results)
    if seen is None or "trust" not in seen.arrays:
        return Verdict(claim, "not run", NO_LOOK)
    last = seen.arrays["trust"][-1].astype(float)
    means = {n: within(interval(last[:, i], mean)) for i, n in enumerate(seen.sources)}
    told = ", ".join(f"{name} {percents(bounds)}" for name, bounds in means.items())
    means.pop(OWN_MODEL, None)
    useless = [name for name, bounds in means.items() if top(bounds) < HARDLY]
    doubted = [name for name, bounds in means.items() if bounds.estimate < HARDLY]
    answer: Answer = "no" if useless else "not shown" if doubted else "yes"
    text = f"Mean weights in visited states after {seen.steps[-1]:,} samples: {told}."
    if useless:
        alone = [f"phi{seen.sources.index(name) + 1}" for name in useless]
        text += (
            f" Hardly trusted anywhere: {', '.join(useless)}. Do without, unless the "
            f"policy alone ({', '.join(alone)}) turns out to be good."
        )
    return Verdict(claim, answer, text)


def percents(bounds: Interval) -> str:
    """A share with its interval, in whole percents."""
    middle, low, high = (100 * float(value) for value in bounds)
    return f"{middle:.0f} %" + ("" if np.isnan(low) else f" [{low:.0f}, {high:.0f}]")


def within(bounds: Interval) -> Interval:
    """Weights are shares."""
    return Interval(*(np.clip(value, 0.0, 1.0) for value in bounds))


def top(bounds: Interval) -> float:
    """The upper end; a single trial has none."""
    return float(bounds.estimate if np.isnan(bounds.high) else bounds.high)


def looked_at(results: Results) -> Seen | None:
    """What was seen of a mixture, if anything was."""
    method = results.believer
    seen = results.seen[method] if method else None
    return seen if seen is not None and "weights" in seen.arrays else None
