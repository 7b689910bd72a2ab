"""Claims about planted curves, of which the truth is known."""

import re
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from policymix.environments import registry
from policymix.reports.claims import (
    CLAIMS,
    beats_all,
    beats_mapse,
    claims,
    considered,
    ends_as_well,
    nears_oracle,
    no_source_suffices,
    questions,
    stands_alone,
    trusts_the_right_source,
    unasked,
)
from policymix.reports.results import Seen
from policymix.reports.statistics import Interval
from policymix.reports.verdicts import (
    Verdict,
    absent,
    beats,
    judge,
    margin,
    number,
    show,
    together,
)

from support.made_runs import SOURCES, results_of, spread, toward


def mapse_and_caps(results):
    """The one of both claims that the domain makes."""
    (name,) = {"mapse-beats-caps", "caps-keeps-up"} & set(results.study.claims)
    return CLAIMS[name](results)


def claimed(start):
    """The verdict on the claim that begins so."""

    def verdict_of(results):
        (found,) = (v for v in considered(results, ()) if v.claim.startswith(start))
        return found

    return verdict_of


DIRECTIONS = pytest.mark.parametrize("domain", ["maze", "cartpole"])
"""Lower and higher is better."""
BASELINES = ("caps", "ucb", "scratch", "phi1", "phi2", "phi3", "phi4")
EVERY = ("mars", "mapse", *BASELINES, "mars-reward", "oracle")


def baselines(domain):
    """All that the paper compares with; the maze alone has four sources."""
    return [n for n in BASELINES if n != "phi4" or domain == "maze"]


def utility(domain, values):
    """What is good as a domain's scores, where 0 … 100 of it are 200 … 100 steps."""
    return 200 - np.asarray(values, float) if domain == "maze" else np.asarray(values)


def planted(domain, width=1.0, seen=None, trials=10, **levels):
    """Flat curves at these levels of utility; methods are named with _ for -."""
    curves = {
        name.replace("_", "-"): utility(domain, spread(level, trials, width))
        for name, level in levels.items()
    }
    return results_of(domain, curves, seen=seen)


def even(domain, level=50, **others):
    """All methods at one level but for some."""
    names = [name.replace("-", "_") for name in ("mars", "mapse", *baselines(domain))]
    return planted(domain, **(dict.fromkeys(names, level) | others))


def trusted(right, sources=4, times=(0, 5_000)):
    """A look at a mixture: shares [times, trials] of states with the right source."""
    names = tuple(f"s{i}" for i in range(sources))
    return {"mars": Seen(times, names, {"right": np.array(right, float)})}


# Judging


@pytest.mark.parametrize(
    ("bounds", "margin", "answer"),
    [
        ((1, 0.1, 2), 0.0, "yes"),
        ((-1, -2, -0.1), 0.0, "no"),
        ((1, -0.1, 2), 0.0, "not shown"),
        ((0, 0, 0), 0.0, "not shown"),
        ((-1, -2, -0.1), 3.0, "yes"),
        ((-1, -4, -0.1), 3.0, "not shown"),
        ((-5, -6, -4), 3.0, "no"),
        ((9, np.nan, np.nan), 0.0, "not shown"),
    ],
)
def test_an_interval_answers_only_if_all_of_it_does(bounds, margin, answer):
    assert judge(Interval(*map(np.asarray, bounds)), margin) == answer


@pytest.mark.parametrize(
    ("answers", "answer"),
    [
        (["yes", "yes"], "yes"),
        (["yes", "no", "not shown"], "no"),
        (["yes", "not shown"], "not shown"),
        (["not shown"], "not shown"),
        (["yes", "no", "not run"], "not run"),
    ],
)
def test_yes_when_all_are_and_no_when_one_is(answers, answer):
    assert together(answers) == answer


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1234.5, "1234"),
        (-100.4, "-100"),
        (99.94, "99.9"),
        (1.0, "1.0"),
        (-0.126, "-0.13"),
        (0.005, "0.01"),
        (0.004, "0"),
        (-0.004, "0"),
        (-0.0, "0"),
    ],
)
def test_numbers_have_three_figures_or_so(value, text):
    assert number(value) == text


def test_an_interval_is_shown_if_there_is_one():
    assert (
        show(Interval(*map(np.array, (0.5, 0.25, 0.75))), 100.0) == "50.0 [25.0, 75.0]"
    )
    assert show(Interval(np.array(5.0), np.array(np.nan), np.array(np.nan))) == "5.0"


def test_no_interval_looks_like_certainty():
    """Digits until its ends differ; where no trial does, words."""
    near = Interval(*map(np.array, (499.97, 499.93, 500.01)))
    assert show(near) == "500.0 [499.9, 500.0]"
    assert show(Interval(*(np.array(500.0),) * 3)) == "500 (every trial)"


# One method against another


CONTESTS = {
    "transfer": (beats_mapse, "mars", "mapse"),
    "reuse": (claimed("MAPSE has a better area than UCB"), "mapse", "ucb"),
    "printed": (claimed("Beyond the paper: MARS has a b"), "mars", "mars-reward"),
}


@DIRECTIONS
@pytest.mark.parametrize("contest", CONTESTS)
@pytest.mark.parametrize(
    ("lead", "answer"), [(20, "yes"), (0, "not shown"), (-20, "no")]
)
def test_the_better_of_two_methods_is_found(domain, contest, lead, answer):
    verdict_of, ours, theirs = CONTESTS[contest]
    levels = {ours.replace("-", "_"): 50 + lead, theirs.replace("-", "_"): 50}
    verdict = verdict_of(planted(domain, **levels))
    assert verdict.answer == answer
    assert verdict.sentence.startswith(f"{ours} has ")


@pytest.mark.parametrize(
    ("domain", "better", "answer"),
    [
        ("maze", "caps", "yes"),
        ("maze", "mapse", "no"),
        ("cartpole", "caps", "yes"),
        ("cartpole", "mapse", "no"),
        ("lander", "caps", "no"),
        ("lander", "mapse", "yes"),
    ],
)
def test_mapse_is_claimed_to_beat_caps_on_the_lander_alone(domain, better, answer):
    levels = {"mapse": 50, "caps": 50} | {better: 70}
    verdict = mapse_and_caps(planted(domain, **levels))
    assert verdict.answer == answer
    assert verdict.claim.startswith("CAPS") == (domain != "lander")
    assert mapse_and_caps(planted(domain, mapse=50, caps=50)).answer == "not shown"


@pytest.mark.parametrize(
    ("domain", "sentence"),
    [
        (
            "maze",
            "mars has 120, mapse 150 steps to goal over the run: "
            "better by 30.0 (every trial).",
        ),
        (
            "cartpole",
            "mars has 80.0, mapse 50.0 steps balanced over the run: "
            "better by 30.0 (every trial).",
        ),
    ],
)
def test_a_sentence_by_hand(domain, sentence):
    """Without spread there is no interval; utility 80 of the maze is 120 steps."""
    results = planted(domain, width=0, mars=80, mapse=50)
    assert beats(results, "", "mars", "mapse").sentence == sentence
    other = beats(results, "", "mapse", "mars").sentence
    assert other.endswith("worse by 30.0 (every trial).")


NUMBERS = re.compile(r"(better|worse) by ([\d.-]+) \[([\d.-]+), ([\d.-]+)\]")


@DIRECTIONS
@pytest.mark.parametrize("lead", [6, 0.6, -0.6, -6])
def test_words_agree_with_the_sign_and_figures_with_welchs(domain, lead):
    results = planted(domain, mars=50 + lead, mapse=50)
    found = NUMBERS.search(beats(results, "", "mars", "mapse").sentence)
    assert found
    assert found[1] == ("better" if lead > 0 else "worse")
    size, low, high = map(float, found.groups()[1:])
    assert size == pytest.approx(abs(lead))
    error = np.sqrt(2) * stats.sem(np.linspace(-1, 1, 10))
    reach = stats.t.ppf(0.975, 9) * error
    assert low == pytest.approx(abs(lead) - reach, abs=0.05 + 0.05 * reach)
    assert high == pytest.approx(abs(lead) + reach, abs=0.05 + 0.05 * reach)


# MARS against all baselines


@DIRECTIONS
def test_mars_above_all_beats_all(domain):
    verdict = beats_all(even(domain, mars=80))
    assert verdict.answer == "yes"
    assert "Not beaten" not in verdict.sentence


@DIRECTIONS
def test_equals_are_not_beaten(domain):
    verdict = beats_all(even(domain))
    assert verdict.answer == "not shown"
    unbeaten = verdict.sentence.split("Not beaten: ")[1]
    assert sorted(unbeaten.rstrip(".").split(", ")) == sorted(baselines(domain))


@DIRECTIONS
@pytest.mark.parametrize("rival", BASELINES[:-1])
def test_one_better_baseline_is_named(domain, rival):
    verdict = beats_all(even(domain, level=20, mars=50, **{rival: 80}))
    assert verdict.answer == "no"
    assert verdict.sentence.startswith(f"The nearest is {rival}: mars has ")
    assert verdict.sentence.endswith(f"Not beaten: {rival}.")
    assert "worse by 30.0 [" in verdict.sentence


@DIRECTIONS
def test_one_equal_baseline_leaves_it_open(domain):
    verdict = beats_all(even(domain, level=20, mars=50, ucb=50))
    assert verdict.answer == "not shown"
    assert verdict.sentence.endswith("Not beaten: ucb.")


@DIRECTIONS
def test_the_nearest_is_the_best_of_the_baselines(domain):
    verdict = beats_all(even(domain, level=20, mars=80, phi2=40))
    assert verdict.sentence.startswith("The nearest is phi2: ")
    assert "better by 40.0 [" in verdict.sentence


@DIRECTIONS
def test_many_comparisons_need_more_evidence_than_one(domain):
    """2.7 standard errors: t(9) of 95 % is 2.3, of 1 − 5 %/6 or 1 − 5 %/7 over 3.3."""
    lead = 2.7 * np.sqrt(2) * stats.sem(np.linspace(-1, 1, 10))
    results = even(domain, level=20, mars=50 + lead, caps=50)
    assert beats(results, "", "mars", "caps").answer == "yes"
    verdict = beats_all(results)
    assert verdict.answer == "not shown"
    assert verdict.sentence.endswith("Not beaten: caps.")


@DIRECTIONS
@pytest.mark.parametrize("missing", ["caps", "ucb", "scratch", "phi2"])
def test_a_baseline_that_was_not_run_is_not_said_to_be_beaten(domain, missing):
    levels = dict.fromkeys([*baselines(domain), "vote"], 50) | {"mars": 80}
    del levels[missing]
    verdict = beats_all(planted(domain, **levels))
    assert verdict.answer == "yes"
    assert "vote" in verdict.claim, "one that this module does not know"
    assert missing not in verdict.claim


# MARS against the best


def rising(domain, **levels):
    """Curves at these levels, and no transfer that starts at 0: the scale's floor."""
    curves = {n: utility(domain, spread(v, width=0.1)) for n, v in levels.items()}
    start = utility(domain, toward(spread(50, width=0.1), 0.0))
    return results_of(domain, {**curves, "scratch": start})


@DIRECTIONS
def test_comparable_is_within_a_twentieth_of_the_scale(domain):
    assert margin(rising(domain, phi1=100)) == pytest.approx(5)


@DIRECTIONS
@pytest.mark.parametrize(
    ("mars", "answer"),
    [(105, "yes"), (98, "yes"), (95, "not shown"), (90, "no")],
)
def test_mars_may_end_a_little_below_the_best_source(domain, mars, answer):
    """Or 5 below, neither surely within the margin nor surely beyond it."""
    curves = rising(domain, phi1=60, phi2=100, phi3=70, phi4=30, mars=mars).curves
    names = [n for n in curves if n != "phi4" or domain == "maze"]
    verdict = ends_as_well(results_of(domain, {n: curves[n].scores for n in names}))
    assert verdict.answer == answer
    found = re.search(r", phi2 ([\d.]+) steps", verdict.sentence)
    assert found
    assert float(found[1]) == 100
    assert "over the last tenth of the tests" in verdict.sentence


@DIRECTIONS
def test_only_the_end_counts_for_how_mars_ends(domain):
    """MARS trails until the last test; a source that was ahead falls behind."""
    late = toward(spread(0, width=0.1), 0.0)
    late[-1] += 100
    fading = spread(100, width=0.1)
    fading[-1] -= 40
    curves = {"mars": late, "phi1": fading, "phi2": fading - 5, "phi3": fading - 5}
    if domain == "maze":
        curves["phi4"] = fading - 5
    curves = {name: utility(domain, scores) for name, scores in curves.items()}
    results = results_of(domain, curves)
    assert ends_as_well(results).answer == "yes"
    assert beats(results, "", "mars", "phi1").answer == "no"


@DIRECTIONS
@pytest.mark.parametrize(
    ("mars", "answer"), [(98, "yes"), (95, "not shown"), (80, "no")]
)
def test_mars_comes_within_a_twentieth_of_the_oracle(domain, mars, answer):
    verdict = nears_oracle(rising(domain, mars=mars, oracle=100))
    assert verdict.answer == answer
    assert f"worse by {100 - mars}.0 [" in verdict.sentence


def test_best_single_source_is_unknown_until_all_were_run():
    verdict = ends_as_well(rising("maze", mars=100, phi1=50))
    assert verdict.answer == "not run"
    for name in ("phi2", "phi3", "phi4"):
        assert name in verdict.sentence


# Single sources on the maze


def single_sources(**solved):
    """On a scale from 200 steps to 100, so many trials at 105 and the rest at 150."""
    goal = np.full((5, 10), 100.0)
    curves = {"scratch": np.full((5, 10), 200.0), "mars": goal}
    for name, count in solved.items():
        curves[name] = np.where(np.arange(10) < count, 105.0, 150.0) + 0 * goal
    return results_of("maze", curves)


def test_trials_that_one_source_solves_are_counted():
    verdict = no_source_suffices(single_sources(phi1=0, phi2=3, phi3=10, phi4=0))
    assert verdict.answer == "no"
    assert verdict.sentence == (
        "Trials that converge in 4,000 samples: "
        "phi1 0 of 10, phi2 3 of 10, phi3 10 of 10, phi4 0 of 10."
    )


def test_no_source_suffices_if_none_ever_converges():
    none = single_sources(phi1=0, phi2=0, phi3=0, phi4=0)
    assert no_source_suffices(none).answer == "yes"


def test_a_visit_to_the_goal_is_no_convergence():
    results = single_sources(phi1=0, phi2=0, phi3=0, phi4=0)
    results.curves["phi1"].scores[2] = 100
    assert no_source_suffices(results).answer == "yes"
    results.curves["phi1"].scores[2:] = 100
    assert no_source_suffices(results).answer == "no"


def test_sources_that_were_not_run_may_suffice():
    verdict = no_source_suffices(single_sources(phi1=0, phi3=0))
    assert verdict.answer == "not run"
    assert "phi2" in verdict.sentence
    assert "phi4" in verdict.sentence


def test_only_the_maze_is_said_to_need_several_sources():
    found = {d: [v.claim for v in claims(even(d))] for d in SOURCES}
    claim = "No single source converges within the budget"
    assert [domain for domain, names in found.items() if claim in names] == ["maze"]


# The mixture


@pytest.mark.parametrize(
    ("last", "answer"),
    [
        ([0.9, 0.95, 0.85, 0.9], "yes"),
        ([0.1, 0.15, 0.05, 0.1], "no"),
        ([0.3, 0.7, 0.4, 0.6], "not shown"),
        ([0.9], "not shown"),  # one trial
    ],
)
def test_the_right_source_must_lead_in_most_states(last, answer):
    first = np.full(len(last), 0.25)
    results = planted("maze", mars=50, seen=trusted([first, last]))
    assert trusts_the_right_source(results).answer == answer


def test_only_the_last_look_counts():
    high, low = [0.9, 0.9, 0.9], [0.1, 0.1, 0.1]
    for looks, answer in (([high, low], "no"), ([low, high], "yes")):
        results = planted("cartpole", mars=50, seen=trusted(looks))
        assert trusts_the_right_source(results).answer == answer


def test_the_sentence_of_the_mixture_by_hand():
    seen = trusted([[0.2, 0.3], [0.9, 0.9]], sources=3)
    sentence = trusts_the_right_source(planted("maze", mars=50, seen=seen)).sentence
    assert sentence == (
        "After 5,000 samples the most trusted source is the right one (the room's own "
        "source) in 90.0 (every trial) % of the states that right choices visit; "
        "before the first sample in 25 %, by chance in 33 %."
    )


def test_no_share_of_states_is_above_all_or_below_none():
    for last in ([0.9, 1.0, 1.0], [0.1, 0.0, 0.0]):
        seen = trusted([[0.3, 0.3, 0.3], last])
        sentence = trusts_the_right_source(planted("maze", mars=50, seen=seen)).sentence
        found = re.search(r"\[([\d.-]+), ([\d.-]+)\] %", sentence)
        assert found
        low, high = map(float, found.groups())
        assert 0 <= low < 100 * np.mean(last) < high <= 100


def test_an_unseen_mixture_shows_nothing():
    seen = trusted([[0.9, 0.9]])
    unknown = {"mars": Seen((0,), ("a", "b"), {"weights": np.zeros((1, 2))})}
    other = {"mapse": seen["mars"]}
    for looks in (None, unknown, other):
        verdict = trusts_the_right_source(planted("maze", mars=50, seen=looks))
        assert verdict.answer == "not run"
        assert "mars" in verdict.sentence


# What is missing


NEEDS = {
    "transfer": (beats_mapse, ("mars", "mapse")),
    "alone": (stands_alone, ("mars", "scratch")),
    "reuse": (claimed("MAPSE has a better area than UCB"), ("mapse", "ucb")),
    "all": (beats_all, ("mars",)),
    "caps": (mapse_and_caps, ("mapse", "caps")),
    "printed": (claimed("Beyond the paper: MARS has a b"), ("mars", "mars-reward")),
    "oracle": (nears_oracle, ("mars", "oracle")),
}


@pytest.mark.parametrize("domain", SOURCES)
@pytest.mark.parametrize("claim", NEEDS)
def test_a_method_that_was_not_run_is_named(domain, claim):
    verdict_of, names = NEEDS[claim]
    for missing in names:
        levels = {n.replace("-", "_"): 50 for n in EVERY if n != missing}
        verdict = verdict_of(planted(domain, **levels))
        assert verdict[1:3] == ("not run", missing)
    alone = verdict_of(planted(domain, follow=50))
    assert alone[1:3] == ("not run", ", ".join(names))


def test_nothing_is_missing_when_all_is_there():
    assert absent(even("maze"), "a claim", "mars", "caps") is None


def test_without_rivals_nothing_is_shown():
    lonely = planted("maze", mars=50)
    for verdict_of in (beats_all, ends_as_well, no_source_suffices):
        assert verdict_of(lonely).answer == "not run"


def test_only_what_was_run_is_listed_and_one_line_names_the_rest():
    few = planted("cartpole", mars=80, scratch=50)
    listed = [verdict.claim for verdict in claims(few)]
    assert listed == [beats_all(few).claim, stands_alone(few).claim]
    assert listed[0].endswith("(scratch)")
    line = unasked(few)
    assert line.startswith("7 claims are not asked, for these were not run: ")
    for name in ("a look at the mixture of mars", "mapse", "ucb", "phi1", "oracle"):
        assert name in line
    everyone = {name.replace("-", "_"): 50 for name in EVERY}
    seen = trusted(np.full((2, 10), 0.5))
    assert unasked(planted("maze", seen=seen, **everyone)) == ""


def test_the_demonstration_runs_all_that_its_claims_need():
    study = registry.find_domain(registry.DEMO).study
    levels = {name.replace("-", "_"): 50 for name in study.methods}
    seen = trusted(np.full((2, 10), 0.5))
    results = replace(planted("maze", seen=seen, **levels), domain=registry.DEMO)
    assert len(claims(results)) == len(study.claims)
    assert unasked(results).endswith("these were not run: 6,000 samples.")


# Without the sources


def taught(**alone):
    """All methods at 80, and these levels where nobody has sources."""
    names = ("mars", "mapse", "scratch", "caps")
    curves = {name: spread(80) for name in names}
    unaided = {name: spread(level) for name, level in alone.items()}
    return results_of("cartpole", curves, alone=unaided)


@pytest.mark.parametrize(
    ("mars", "doubt"), [(90, "yes"), (80, "not shown"), (30, "no")]
)
def test_a_sceptic_compares_student_with_student(mars, doubt):
    verdict = beats_mapse(taught(mars=mars))
    equal = mars == 80  # then both tests are the same, and there is nothing to add
    assert verdict[1] == "not shown"
    assert verdict.doubt == (None if equal else doubt)
    assert verdict.alone.startswith("" if equal else f"mars alone has {mars}.0, mapse")
    everyone = beats_all(taught(mars=mars))
    assert everyone.doubt == (None if equal else doubt)
    (*_, question) = questions([taught(mars=mars)])
    assert question.doubt == verdict.doubt
    assert verdict.alone in question.sentence + question.alone


@pytest.mark.parametrize(
    ("mars", "answer"), [(90, "yes"), (80, "not shown"), (30, "no")]
)
def test_a_learner_must_stand_alone(mars, answer):
    """No method moves, so that the scale has no width and there is no margin."""
    verdict = stands_alone(taught(mars=mars))
    assert verdict.answer == answer
    unknown = taught(mars=mars, scratch=np.nan)
    assert stands_alone(unknown)[1:3] == ("not run", "tests without the sources")
    assert beats_mapse(taught(mars=mars, mapse=np.nan)).doubt is None


# All claims


@pytest.mark.parametrize("trials", [1, 2])
@pytest.mark.parametrize("domain", SOURCES)
@pytest.mark.parametrize("mars", [50, 50.001, 49.999, 80])
def test_nothing_prints_nan_or_minus_nothing(domain, trials, mars):
    levels = {name.replace("-", "_"): 50 for name in EVERY} | {"mars": mars}
    seen = trusted(np.full((2, trials), 0.5))
    results = planted(domain, trials=trials, width=0, seen=seen, **levels)
    for verdict in claims(results):
        assert "nan" not in verdict.sentence
        assert not re.search(r"-0(\.0*)?(?![\d.]*[1-9])", verdict.sentence)


@pytest.mark.parametrize("domain", SOURCES)
def test_one_trial_shows_nothing_of_a_difference(domain):
    levels = {name.replace("-", "_"): 50 for name in EVERY} | {"mars": 500}
    results = planted(domain, trials=1, seen=trusted([[0.1], [0.9]]), **levels)
    counted = no_source_suffices(results).claim
    answers = {v.answer for v in claims(results) if v.claim != counted}
    assert answers == {"not shown"}


# Questions


def asked(**mars):
    """The answers to the three questions; MARS has these leads, rivals nothing."""
    everything = [
        planted(
            domain,
            seen=trusted([[0.3, 0.3], [0.5 + lead / 100, 0.5 + lead / 100]]),
            **dict.fromkeys(["mapse", *baselines(domain)], 50) | {"mars": 50 + lead},
        )
        for domain, lead in mars.items()
    ]
    return questions(everything), everything


@pytest.mark.parametrize(
    ("leads", "answer"),
    [
        ((20, 20, 20), "yes"),
        ((20, -20, 20), "no"),
        ((20, 0, 20), "not shown"),
        ((0, -20, 20), "no"),
    ],
)
def test_a_question_is_answered_by_all_domains(leads, answer):
    verdicts, everything = asked(**dict(zip(SOURCES, leads, strict=True)))
    assert [verdict.answer for verdict in verdicts] == [answer] * 3
    found = [(results.domain, claims(results)) for results in everything]
    for place, verdict in enumerate(verdicts):
        assert isinstance(verdict, Verdict)
        assert verdict.sentence == " ".join(
            f"{domain}: {each[place].answer}. {each[place].sentence}"
            for domain, each in found
        )


def test_the_questions_are_the_papers():
    verdicts, (maze,) = asked(maze=20)
    relevant, baseline, mapse = (verdict.claim for verdict in verdicts)
    assert "relevant" in relevant
    assert claims(maze)[0].claim.startswith("The mixture learns")
    assert "baselines" in baseline
    assert claims(maze)[1].claim.startswith("MARS has a better area than every")
    assert "MAPSE" in mapse
    assert claims(maze)[2].claim.endswith("than MAPSE")
