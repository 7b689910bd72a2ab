"""Answers about an own task, in plain words, from rows that are made up."""

import numpy as np
import pytest

from policymix.environments.study import Points
from policymix.experiments.snapshots import OWN_MODEL
from policymix.reports.answers import all_of_use, answers, depends_on_place, rule_of
from policymix.reports.claims import claims, questions, unasked
from policymix.reports.results import Seen

from support.made_runs import results_of, spread, toward

STATES = np.stack([np.linspace(-1, 1, 100), np.tile([0.0, 1.0], 50)], axis=1)


def seen(weights, trust, names=("ice", "mud")):
    """Weights in a hundred visited states at one moment, trust by trial."""
    arrays = {
        "weights": np.array(weights)[None].astype(np.uint8),
        "trust": np.array(trust)[None],
        "visited": STATES,
    }
    return {"mars": Seen((5_000,), names, arrays, Points(("x", "flag"), (0, 1)))}


LEFT = (STATES[:, 0] < 0)[:, None]
HALVES = seen(np.where(LEFT, [100, 0], [0, 100]), [[0.5, 0.5], [0.52, 0.48]])


def made(curves, looked=None, names=("ice", "mud")):
    return results_of("hills", curves, looked, names=names, own=True)


CURVES = {"mars": toward(spread(90), 10), "scratch": toward(spread(40), 10)}


def test_what_a_user_asks_is_asked_of_his_task_and_nothing_of_the_paper():
    results = made(CURVES, HALVES)
    told = claims(results)
    assert [verdict.answer for verdict in told] == ["yes"] * 4
    assert "mars has" in told[0].sentence
    assert "mars takes 1,000 samples, scratch fails" in told[0].sentence
    assert questions([results]) == []
    assert unasked(results) == ""


def test_a_task_of_the_same_name_as_a_domain_is_still_ones_own():
    results = results_of("maze", CURVES, HALVES, names=("ice", "mud"), own=True)
    assert results.title == "maze"
    assert results.view == HALVES["mars"].view
    assert claims(results)[0].claim == "Does transfer help here?"


def test_what_was_not_run_is_said_in_one_line():
    results = made({"mars": spread(90)})
    assert claims(results) == []
    assert unasked(results) == (
        "4 claims are not asked, for these were not run: scratch, a look at a mixture."
    )


def test_single_sources_are_asked_about_where_they_were_run():
    results = made({**CURVES, "phi1": spread(60), "phi2": spread(95)})
    verdict = answers(results)[2]
    assert verdict.answer == "no"
    assert verdict.sentence.endswith("Not beaten: phi2.")


def test_places_are_told_by_one_number_where_it_tells():
    verdict = depends_on_place(made(CURVES, HALVES))
    assert verdict.answer == "yes"
    assert "ice in 50 % (mostly where x < 0" in verdict.sentence
    assert "mud in 50 % (mostly where x > " in verdict.sentence
    everywhere = seen(np.tile([90, 10], (100, 1)), [[0.9, 0.1]] * 2)
    verdict = depends_on_place(made(CURVES, everywhere))
    assert (verdict.answer, "ice in 100 %." in verdict.sentence) == ("no", True)


def test_a_rule_is_the_threshold_that_errs_least():
    rule = rule_of(STATES[:, 0], STATES[:, 0] > 0.5, "x")
    assert rule.right > 0.97
    assert rule.words.startswith("x > 0.4")
    assert rule_of(STATES[:, 1], STATES[:, 0] > 0.5, "flag").right < 0.6


@pytest.mark.parametrize(
    ("trust", "answer"),
    [
        ([[0.6, 0.39, 0.01], [0.5, 0.49, 0.01]], "yes"),
        ([[0.98, 0.01, 0.01], [0.97, 0.01, 0.02]], "no"),
        ([[0.98, 0.01, 0.01], [0.92, 0.08, 0.0]], "not shown"),
    ],
)
def test_a_source_without_weight_is_of_no_use(trust, answer):
    names = ("ice", "mud", OWN_MODEL)
    looked = seen(np.tile([90, 10, 0], (100, 1)), trust, names)
    verdict = all_of_use(made(CURVES, looked))
    assert verdict.answer == answer
    told = "anywhere: mud. Do without, unless the policy alone (phi2)"
    assert (told in verdict.sentence) == (answer == "no")
