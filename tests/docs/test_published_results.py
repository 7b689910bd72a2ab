"""The results in the repository: whole, and what the pages say of them."""

from pathlib import Path

import numpy as np
import pytest

from policymix.experiments.plans import plan
from policymix.experiments.runner import missing
from policymix.reports.analysis import measure
from policymix.reports.claims import claims
from policymix.reports.results import read_results
from policymix.reports.tables import table_of
from policymix.reports.verdicts import show
from policymix.training.task import load_task

from support.known import INVENTORIES, TRIALS

ROOT = Path(__file__).parents[2]
PAPER = ROOT / "results" / "paper"
DOMAINS = pytest.mark.parametrize("domain", TRIALS)


@pytest.fixture(scope="module")
def published():
    return {results.domain: results for results in read_results(PAPER)}


@pytest.fixture(scope="module")
def page():
    return (ROOT / "docs" / "results.md").read_text("utf-8")


@DOMAINS
def test_every_part_of_the_plan_was_run_with_todays_settings(published, domain):
    experiment = plan(load_task(domain), seed=0, quick=False)
    assert missing(experiment, PAPER / domain) == []
    assert published[domain].facts["trials"] == TRIALS[domain]
    assert published[domain].unfinished == ()


def test_the_table_is_that_of_the_rows(published):
    everything = list(published.values())
    tables = {results.domain: measure(results) for results in everything}
    found = (PAPER / "summary.csv").read_bytes()
    assert found == table_of(everything, tables)


@DOMAINS
def test_the_page_has_the_figures_of_the_rows(published, page, domain):
    for row in measure(published[domain]):
        assert f"| `{row.method}` | {show(row.area)} |" in page


@DOMAINS
def test_the_page_answers_every_claim(published, page, domain):
    for verdict in claims(published[domain]):
        assert f"| {verdict.claim} | **{verdict.answer}** |" in page


@pytest.fixture(scope="module")
def inventories():
    everything = read_results(ROOT / "results" / "inventory")
    return {results.domain: results for results in everything}


@pytest.mark.parametrize("domain", INVENTORIES)
def test_the_inventories_were_run_with_todays_settings(inventories, domain):
    experiment = plan(load_task(domain), seed=0, quick=False)
    assert missing(experiment, ROOT / "results" / "inventory" / domain) == []
    page = (ROOT / "docs" / "inventory.md").read_text("utf-8")
    for row in measure(inventories[domain]):
        assert f"| `{row.method}` | {show(row.area)} | {show(row.end)} |" in page


def test_the_inventories_meet_their_bars(inventories):
    foreseen, unforeseen = (inventories[domain] for domain in INVENTORIES)
    areas = {row.method: row.area_mean for row in measure(foreseen)}
    assert areas["mars"] <= areas["scratch"] / 4
    seen = foreseen.seen["mars"]
    assert np.all(seen.arrays["right"][seen.steps.index(2_000)] >= 0.95)
    last = {name: curve.scores[-4:].mean() for name, curve in unforeseen.curves.items()}
    assert last["mars"] <= 1.1 * last["scratch"]
