"""The paper's questions and claims, each answered by the rows: yes, no or not shown."""

from collections.abc import Callable, Sequence

import numpy as np

from policymix.reports.analysis import ends, scale_of, scores_of
from policymix.reports.answers import answers
from policymix.reports.promises import PROMISES, like_twin, stays_solved
from policymix.reports.results import Results, kind_of
from policymix.reports.statistics import Interval, interval, mean, samples_to
from policymix.reports.verdicts import (
    COMPARABLY,
    Answer,
    Verdict,
    absent,
    against,
    beats,
    judge,
    margin,
    nearest,
    show,
    together,
)


def singles(results: Results) -> list[str]:
    """One method for each source, run or not."""
    return [f"phi{place + 1}" for place in range(len(results.facts["sources"]))]


def baselines(results: Results) -> list[str]:
    """All that were run, but for ours and the yardsticks."""
    return [name for name in results.curves if kind_of(name) == "baseline"]


def beats_all(results: Results) -> Verdict:
    """MARS against every baseline that was run; single sources count among them."""
    rivals = baselines(results)
    claim = "MARS has a better area than every baseline"
    missing = absent(results, claim, "mars")
    if missing or not rivals:
        return missing or Verdict(claim, "not run", "a baseline")
    claim += f" ({', '.join(rivals)})"
    return Verdict(claim, *against(results, "mars", rivals))


def ends_as_well(results: Results) -> Verdict:
    """MARS against the single source that ends best."""
    claim = f"MARS ends {COMPARABLY} the best single source, or better"
    missing = absent(results, claim, "mars", *singles(results))
    if missing:
        return missing
    last = ends(results)
    rival = max(singles(results), key=lambda name: results.sign * last[name].mean())
    return beats(results, claim, "mars", rival, margin(results), at_end=True)


def stands_alone(results: Results) -> Verdict:
    """What the learner of MARS is worth when its sources are taken away."""
    claim = f"MARS alone, without its sources, ends {COMPARABLY} no transfer, or better"
    missing = absent(results, claim, "mars", "scratch")
    if missing or not {"mars", "scratch"} <= set(scores_of(results, alone=True)):
        return missing or Verdict(claim, "not run", "tests without the sources")
    rivals, short = ["scratch"], margin(results)
    found = nearest(results, "mars", rivals, short, at_end=True, alone=True)
    return Verdict(claim, *found)


def nears_oracle(results: Results) -> Verdict:
    """MARS against itself with the right source in place of the mixture."""
    claim = f"Beyond the paper: MARS has an area {COMPARABLY} the oracle's, or better"
    return beats(results, claim, "mars", "oracle", margin(results))


def mapse_beats_caps(results: Results) -> Verdict:
    """What the paper finds where the options of CAPS do not learn."""
    return beats(results, "MAPSE has a better area than CAPS here", "mapse", "caps")


def caps_keeps_up(results: Results) -> Verdict:
    """What it finds elsewhere."""
    return beats(results, "CAPS has a better area than MAPSE here", "caps", "mapse")


def no_source_suffices(results: Results) -> Verdict:
    """Single sources that come within a tenth of the goal and stay there."""
    claim = "No single source converges within the budget"
    missing = absent(results, claim, *singles(results))
    if missing:
        return missing
    scale, sign = scale_of(results), results.sign
    solved = {}
    for name in singles(results):
        curve = results.curves[name]
        times = samples_to(curve.steps, sign * curve.scores, sign * scale.at(0.9))
        solved[name] = int(np.isfinite(times).sum())
    count = results.facts["trials"]
    text = ", ".join(f"{name} {n} of {count}" for name, n in solved.items())
    answer: Answer = "no" if any(solved.values()) else "yes"
    steps = results.facts["settings"]["steps"]
    return Verdict(claim, answer, f"Trials that converge in {steps:,} samples: {text}.")


def trusts_the_right_source(results: Results) -> Verdict:
    """The share of states in which the most trusted source is the right one."""
    claim = "The mixture learns to select the most relevant source in each state"
    seen = results.seen.get("mars")
    if seen is None or "right" not in seen.arrays:
        return Verdict(claim, "not run", "a look at the mixture of mars")
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
    return beats(results, "MARS has a better area than MAPSE", "mars", "mapse")


CLAIMS: dict[str, Callable[[Results], Verdict]] = {
    "mapse-beats-caps": mapse_beats_caps,
    "caps-keeps-up": caps_keeps_up,
    "no-source-suffices": no_source_suffices,
    "right-source": trusts_the_right_source,
    "beats-all": beats_all,
    "stands-alone": stands_alone,
    **PROMISES,
}
"""What a domain's `Study` may claim of it alone."""


def claims(results: Results, everything: Sequence[Results] = ()) -> list[Verdict]:
    """All that was run of what the paper claims of a domain, and some of ours.

    Args:
        results: of the domain.
        everything: all results of the report, a domain's twin among them.

    Where only some methods are compared, what the paper claims is not asked.
    """
    return [v for v in considered(results, everything) if v.answer != "not run"]


def unasked(results: Results, everything: Sequence[Results] = ()) -> str:
    """One line: what is missing for the other claims; empty where nothing is."""
    verdicts = considered(results, everything)
    missing = [v.sentence for v in verdicts if v.answer == "not run"]
    names = dict.fromkeys(name for part in missing for name in part.split(", "))
    if not names:
        return ""
    count = f"{len(missing)} {'claims are' if len(missing) > 1 else 'claim is'}"
    return f"{count} not asked, for these were not run: {', '.join(names)}."


def considered(results: Results, everything: Sequence[Results]) -> list[Verdict]:
    """Every claim, run or not."""
    study = results.study
    if results.own:
        return answers(results)
    verdicts = []
    if not study.methods:
        verdicts += [trusts_the_right_source(results)] * bool(study.truth)
        asked = (beats_all, beats_mapse, stands_alone, ends_as_well)
        verdicts += [ask(results) for ask in asked]
        claim = "MAPSE has a better area than UCB"
        verdicts.append(beats(results, claim, "mapse", "ucb"))
    verdicts += [CLAIMS[name](results) for name in study.claims]
    if study.solved is not None:
        verdicts.append(stays_solved(results, *study.solved))
    if study.twin:
        verdicts.append(like_twin(results, everything))
    if not study.methods:
        printed = "Beyond the paper: MARS has a better area than in the printed form"
        verdicts.append(beats(results, printed, "mars", "mars-reward"))
        verdicts += [nears_oracle(results)] * bool(study.truth)
    return verdicts


def questions(everything: Sequence[Results]) -> list[Verdict]:
    """The three research questions, over all domains that the paper's methods ran on.

    None is asked where only some of them are compared, or where nothing was run.
    """
    everything = [r for r in everything if not (r.study.methods or r.own)]
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
        found = {name: v for name, v in found.items() if v.answer != "not run"}
        if found:
            verdicts.append(over_domains(question, found))
    return verdicts


def over_domains(question: str, found: dict[str, Verdict]) -> Verdict:
    """One answer to a question, from the verdicts of several domains."""
    text = " ".join(f"{name}: {v.answer}. {v.sentence}" for name, v in found.items())
    answer = together([verdict.answer for verdict in found.values()])
    doubts: dict[str, Answer] = {n: v.doubt for n, v in found.items() if v.doubt}
    if not doubts:
        return Verdict(question, answer, text)
    alone = " ".join(f"{name}: {doubts[name]}. {found[name].alone}" for name in doubts)
    return Verdict(question, answer, text, together(list(doubts.values())), alone)
