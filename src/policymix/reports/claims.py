"""The paper's questions and claims, each answered by the rows: yes, no or not shown."""

from collections.abc import Callable, Sequence

import numpy as np

from policymix.reports.analysis import ends, gain, scale_of
from policymix.reports.promises import PROMISES, like_twin, stays_solved
from policymix.reports.results import Results
from policymix.reports.statistics import Interval, interval, mean, samples_to
from policymix.reports.verdicts import (
    Answer,
    Verdict,
    absent,
    beats,
    compare,
    judge,
    margin,
    show,
    together,
)


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


CLAIMS: dict[str, Callable[[Results], Verdict]] = {
    "mapse-beats-caps": mapse_beats_caps,
    "caps-keeps-up": caps_keeps_up,
    "no-source-suffices": no_source_suffices,
    **PROMISES,
}
"""What a domain's `Study` may claim of it alone."""


def claims(results: Results, everything: Sequence[Results] = ()) -> list[Verdict]:
    """All that the paper claims of a domain, and some of ours.

    Args:
        results: of the domain.
        everything: all results of the report, a domain's twin among them.

    Where only some methods are compared, what the paper claims is not asked.
    """
    study = results.study
    verdicts = []
    if not study.methods:
        verdicts += [trusts_the_right_source(results)] * bool(study.truth)
        verdicts += [ask(results) for ask in (beats_all, beats_mapse, ends_as_well)]
        verdicts.append(beats(results, "MAPSE outperforms UCB", "mapse", "ucb"))
    verdicts += [CLAIMS[name](results) for name in study.claims]
    if study.solved is not None:
        verdicts.append(stays_solved(results, *study.solved))
    if study.twin:
        verdicts.append(like_twin(results, everything))
    if not study.methods:
        printed = "Beyond the paper: our form of MARS beats the printed one"
        verdicts.append(beats(results, printed, "mars", "mars-reward"))
        verdicts += [nears_oracle(results)] * bool(study.truth)
    return verdicts


def questions(everything: Sequence[Results]) -> list[Verdict]:
    """The three research questions, over all domains that the paper's methods ran on.

    None is asked where only some of them are compared.
    """
    everything = [results for results in everything if not results.study.methods]
    if not everything:
        return []
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
