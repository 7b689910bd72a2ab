"""What is claimed beyond the paper, of planted curves."""

import numpy as np
import pytest

from policymix.reports.claims import CLAIMS, claims, questions
from policymix.reports.promises import like_twin, stays_solved

from support.made_runs import results_of, spread, toward


def planted(domain="cartpole-weak", width=1.0, **levels):
    return results_of(
        domain,
        {name: spread(level, 10, width) for name, level in levels.items()},
    )


@pytest.mark.parametrize(
    ("mars", "area", "end"),
    [(300, "yes", "yes"), (200, "not shown", "yes"), (100, "no", "no")],
)
def test_both_rivals_must_be_beaten(mars, area, end):
    results = planted(mars=mars, follow=200, scratch=100)
    verdict = CLAIMS["above-both"](results)
    assert verdict.answer == area
    assert "follow" in verdict.sentence
    assert "scratch" in verdict.sentence
    assert CLAIMS["ends-above-both"](results).answer == end


def test_a_rival_that_was_not_run_is_named():
    verdict = CLAIMS["above-both"](planted(mars=300, scratch=100))
    assert verdict[1:3] == ("not run", "follow")


@pytest.mark.parametrize(
    ("name", "bar"), [("tenth-above", 110), ("nearly-scratch", 95)]
)
def test_a_multiple_of_no_transfer_is_the_bar(name, bar):
    for mars, answer in ((bar + 5, "yes"), (bar, "not shown"), (bar - 5, "no")):
        verdict = CLAIMS[name](planted(mars=mars, scratch=100))
        assert verdict.answer == answer
        assert f"{mars / 100:.2f} times as much" in verdict.sentence


def test_solved_counts_trials_that_stay_below_from_then_on():
    scores = toward(spread(86, 20, 0.0), 300)  # tests at 0, 1,000, … 4,000
    scores[3, :2] = 120
    results = results_of("maze-spoilt-5", {"mars": scores, "scratch": scores + 90})
    for samples, kept, answer in (
        (0, 0, "no"),
        (1_000, 18, "yes"),
        (4_000, 20, "yes"),
    ):
        verdict = stays_solved(results, 90.0, samples)
        assert verdict.answer == answer
        assert verdict.sentence == (
            f"Trials that do: mars {kept} of 20, scratch 0 of 20."
        )
    scores[3, 2] = 91
    assert stays_solved(results, 90.0, 1_000).answer == "no"
    assert stays_solved(results, 90.0, 4_001).answer == "not run"


@pytest.mark.parametrize(
    ("here", "answer"),
    [(500, "yes"), (490, "yes"), (475, "not shown"), (400, "no"), (600, "no")],
)
def test_a_twin_is_like_the_other_within_a_twentieth(here, answer):
    twins = [planted("cartpole-cents", mars=here), planted("cartpole-ones", mars=500)]
    assert like_twin(twins[0], twins).answer == answer
    assert like_twin(twins[0], twins[:1]).answer == "not run"


def test_where_few_methods_are_compared_only_their_claims_are_answered():
    few = planted("cartpole-random", mars=300, scratch=100)
    assert [verdict.answer for verdict in claims(few)] == ["yes"]
    assert questions([few]) == []
    many = results_of("cartpole", {"mars": spread(300), "scratch": spread(100)})
    assert questions([few, many]) == questions([many])


def test_every_claim_of_a_kind_can_be_made():
    levels = {"mars": 80, "follow": 90, "scratch": 95, "mars-explicit": 99}
    curves = {name: np.asarray(spread(level)) for name, level in levels.items()}
    for name in ("maze-spoilt-5", "inventory-wrong-cost", "cartpole-cents"):
        results = results_of(name, curves)
        assert all(verdict.sentence for verdict in claims(results, [results]))
