"""The results in the repository: whole, and what the pages say of them."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from policymix.environments.registry import GROUPS
from policymix.experiments.plans import plan
from policymix.experiments.runner import missing
from policymix.reports.analysis import measure
from policymix.reports.results import read_results
from policymix.reports.tables import table_of
from policymix.training.task import load_task

from support.known import INVENTORIES

ROOT = Path(__file__).parents[2]
FOLDERS = pytest.mark.parametrize("folder", ["paper", "inventory", "advice"])


@pytest.fixture(scope="module")
def results():
    """By folder; read once."""
    return {
        folder: read_results(ROOT / "results" / folder)
        for folder in ("paper", "inventory", "advice")
    }


@pytest.mark.parametrize("domain", GROUPS["advice"])
def test_every_part_of_the_plan_was_run_with_todays_settings(results, domain):
    experiment = plan(load_task(domain), seed=0, quick=False)
    assert missing(experiment, ROOT / "results" / "advice" / domain) == []
    (found,) = [each for each in results["advice"] if each.domain == domain]
    assert found.facts["trials"] == experiment.study.trials


@FOLDERS
def test_what_was_begun_was_finished_and_the_table_is_that_of_the_rows(results, folder):
    everything = results[folder]
    assert all(each.unfinished == () for each in everything)
    tables = {each.domain: measure(each) for each in everything}
    found = (ROOT / "results" / folder / "summary.csv").read_bytes()
    assert found == table_of(everything, tables)


def test_the_pages_have_the_tables_of_the_rows(results):
    path = ROOT / "docs" / "write_tables.py"
    spec = importlib.util.spec_from_file_location("write_tables", path)
    assert spec is not None
    assert spec.loader is not None
    writer = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(writer)
    for page, folder in writer.PAGES.items():
        text = (ROOT / page).read_text("utf-8")
        assert writer.written(text, results[Path(folder).name]) == text
        assert writer.BLOCK.search(text)


def test_the_inventories_meet_their_bars(results):
    found = {each.domain: each for each in results["inventory"]}
    foreseen, unforeseen = (found[domain] for domain in INVENTORIES)
    areas = {row.method: row.area_mean for row in measure(foreseen)}
    assert areas["mars"] <= areas["scratch"] / 4
    seen = foreseen.seen["mars"]
    assert np.all(seen.arrays["right"][seen.steps.index(2_000)] >= 0.95)
    last = {name: curve.scores[-4:].mean() for name, curve in unforeseen.curves.items()}
    assert last["mars"] <= 1.1 * last["scratch"]
