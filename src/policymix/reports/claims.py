"""The paper's questions and claims, each answered by the rows: yes, no or not shown.

The answer is "yes" when the whole 95 % interval speaks for a claim, "no" when all of it
speaks against it, and "not shown" otherwise or when a method was not run.
"""

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import numpy as np

from policymix.reports.analysis import areas, ends, gain, scale_of
from policymix.reports.results import Results, place_of
from policymix.reports.statistics import (
    Interval,
    difference,
    interval,
    mean,
    samples_to,
)

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


def number(value: float) -> str:
    """Three figures or so."""
    size = abs(value)
    if size < 0.005:
        return "0"
    return f"{value:.{0 if size >= 100 else 1 if size >= 1 else 2}f}"


def show(bounds: Interval, unit: float = 1.0) -> str:
    """An estimate with its interval."""
    middle, low, high = (number(unit * float(value)) for value in bounds)
    return middle if np.isnan(bounds.low) else f"{middle} [{low}, {high}]"


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


def singles(results: Results) -> list[str]:
    """One method for each source, run or not."""
    return [f"phi{place + 1}" for place in range(len(results.facts["sources"]))]


def short_of(
    results: Results, names: Sequence[str], answer: Answer, text: str
) -> tuple[Answer, str]:
    """An answer and its sentence when some methods may be missing: no "yes" then."""
    missing = [name for name in names if name not in results.curves]
    if not missing:
        return answer, text
    text += f" Not run: {', '.join(missing)}."
    return "not shown" if answer == "yes" else answer, text


def beats_all(results: Results) -> Verdict:
    """MARS against every baseline; intervals widened for so many comparisons."""
    claim = "MARS beats every baseline (CAPS, UCB, each Φ, no transfer)"
    wanted = ["caps", "ucb", "scratch", *singles(results)]
    names = [name for name in wanted if name in results.curves]
    missing = absent(results, claim, "mars")
    if missing or not names:
        return missing or Verdict(claim, "not shown", "No baseline was run.")
    level = 1 - 0.05 / len(names)
    gains = {name: gain(results, "mars", name, level=level) for name in names}
    answers: dict[str, Answer] = {n: judge(bounds) for n, bounds in gains.items()}
    nearest = min(gains, key=lambda name: float(gains[name].estimate))
    open_ones = [name for name in names if answers[name] != "yes"]
    text = f"The nearest is {nearest}: " + compare(
        results, "mars", nearest, gains[nearest]
    )
    if open_ones:
        text += f" Not beaten: {', '.join(open_ones)}."
    answer = together(list(answers.values()))
    return Verdict(claim, *short_of(results, wanted, answer, text))


def ends_as_well(results: Results) -> Verdict:
    """MARS against the single source that ends best."""
    claim = "MARS ends as well as the best single source, or better"
    missing = absent(results, claim, "mars")
    if missing or not results.alone:
        return missing or Verdict(claim, "not shown", "No single source was run.")
    last = ends(results)
    rival = max(results.alone, key=lambda name: results.sign * last[name].mean())
    bounds = gain(results, "mars", rival, at_end=True)
    text = compare(results, "mars", rival, bounds, at_end=True)
    answer = judge(bounds, margin(results))
    return Verdict(claim, *short_of(results, singles(results), answer, text))


def margin(results: Results) -> float:
    """What counts as comparable, in the domain's units."""
    scale = scale_of(results)
    return COMPARABLE * abs(scale.goal - scale.floor)


def nears_oracle(results: Results) -> Verdict:
    """MARS against itself with the right source in place of the mixture."""
    claim = "Beyond the paper: MARS comes within 5 % of the oracle"
    return beats(results, claim, "mars", "oracle", margin(results))


def mapse_beats_caps(results: Results) -> Verdict:
    """What the paper finds where the options of CAPS do not learn."""
    return beats(results, "MAPSE outperforms CAPS here", "mapse", "caps")


def caps_keeps_up(results: Results) -> Verdict:
    """What it finds elsewhere."""
    return beats(results, "MAPSE does not outperform CAPS here", "caps", "mapse")


def no_source_suffices(results: Results) -> Verdict:
    """Single sources that come within a tenth of the goal and stay there."""
    claim = "No single source converges within the budget"
    scale, sign = scale_of(results), results.sign
    solved = {}
    for name in results.alone:
        curve = results.curves[name]
        times = samples_to(curve.steps, sign * curve.scores, sign * scale.at(0.9))
        solved[name] = int(np.isfinite(times).sum())
    if not solved:
        return Verdict(claim, "not shown", "No single source was run.")
    count = results.facts["trials"]
    text = ", ".join(f"{name} {n} of {count}" for name, n in solved.items())
    answer: Answer = "no" if any(solved.values()) else "yes"
    steps = results.facts["settings"]["steps"]
    text = f"Trials that converge in {steps:,} samples: {text}."
    return Verdict(claim, *short_of(results, singles(results), answer, text))


def trusts_the_right_source(results: Results) -> Verdict:
    """The share of states in which the most trusted source is the right one."""
    claim = "The mixture learns to select the most relevant source in each state"
    seen = results.seen.get("mars")
    if seen is None or "right" not in seen.arrays:
        return Verdict(claim, "not shown", "Nobody looked at the mixture of mars.")
    shares, chance = seen.arrays["right"], 1 / len(seen.sources)
    last = Interval(*(np.clip(x, 0, 1) for x in interval(shares[-1], mean)))
    answer = judge(Interval(last.estimate, last.low - 0.5, last.high - 0.5))
    text = (
        f"After {seen.steps[-1]:,} samples the most trusted source is the right one "
        f"({results.study.truth}) in "
        f"{show(last, 100.0)} % of the states that right choices visit; before the "
        f"first sample in {100 * shares[0].mean():.0f} %, by chance in "
        f"{100 * chance:.0f} %."
    )
    return Verdict(claim, answer, text)


def beats_mapse(results: Results) -> Verdict:
    """The paper's third question."""
    return beats(results, "MARS leads to better transfer than MAPSE", "mars", "mapse")


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
    claim = "Where no forecast holds, MARS ends as well as no transfer, or better"
    return beats(results, claim, "mars", "scratch", margin(results), at_end=True)


CLAIMS: dict[str, Callable[[Results], Verdict]] = {
    "mapse-beats-caps": mapse_beats_caps,
    "caps-keeps-up": caps_keeps_up,
    "no-source-suffices": no_source_suffices,
    "quarter-of-the-regret": quarter,
    "harmless": harmless,
}
"""What a domain's `Study` may claim of it alone."""


def claims(results: Results) -> list[Verdict]:
    """All that the paper claims of a domain, and some of ours."""
    asked = [beats_all, beats_mapse, ends_as_well]
    if results.study.truth:
        asked.insert(0, trusts_the_right_source)
    verdicts = [ask(results) for ask in asked]
    verdicts.append(beats(results, "MAPSE outperforms UCB", "mapse", "ucb"))
    verdicts += [CLAIMS[name](results) for name in results.study.claims]
    printed = "Beyond the paper: our form of MARS beats the printed one"
    verdicts.append(beats(results, printed, "mars", "mars-reward"))
    if results.study.truth:
        verdicts.append(nears_oracle(results))
    return verdicts


def questions(everything: Sequence[Results]) -> list[Verdict]:
    """The three research questions, over all domains that were run."""
    asked = {
        "Does the mixture learn which source is relevant where?": (
            trusts_the_right_source
        ),
        "Does MARS test better than the baselines for the same samples?": beats_all,
        "Does MARS lead to better transfer than MAPSE?": beats_mapse,
    }
    verdicts = []
    for question, ask in asked.items():
        found = {
            results.domain: ask(results)
            for results in everything
            if ask is not trusts_the_right_source or results.study.truth
        }
        text = " ".join(
            f"{domain}: {verdict.answer}. {verdict.sentence}"
            for domain, verdict in found.items()
        )
        answer = together([verdict.answer for verdict in found.values()])
        verdicts.append(Verdict(question, answer if found else "not shown", text))
    return verdicts
