"""The results in the repository: whole, and what the pages say of them."""

import importlib
import re
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from policymix.environments.registry import GROUPS
from policymix.experiments.plans import plan
from policymix.experiments.runner import missing
from policymix.reports.analysis import measure
from policymix.reports.results import read_results as read_anew
from policymix.reports.tables import table_of
from policymix.training.task import load_task

from support.known import INVENTORIES

ROOT = Path(__file__).parents[2]
FOLDERS = pytest.mark.parametrize("folder", ["paper", "inventory", "advice"])


read_results = cache(read_anew)
"""Rows of a folder, read once."""


@pytest.fixture(scope="module")
def results():
    """By folder."""
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


def test_every_file_that_a_script_printed_is_listed_with_its_command():
    page = (ROOT / "results" / "README.md").read_text("utf-8")
    rows = re.findall(r"^\| \[`(.+?)`\]\(own/(.+?)\) \| (.+) \|$", page, re.M)
    listed = [name for name, _, _ in rows]
    assert listed == [place for _, place, _ in rows]
    assert listed == sorted(file.name for file in (ROOT / "results/own").iterdir())
    assert all("`" in made or "own first lines" in made for *_, made in rows)


@FOLDERS
def test_what_was_begun_was_finished_and_the_table_is_that_of_the_rows(results, folder):
    everything = results[folder]
    assert all(each.unfinished == () for each in everything)
    tables = {each.domain: measure(each) for each in everything}
    found = (ROOT / "results" / folder / "summary.csv").read_bytes()
    assert found == table_of(everything, tables)


def test_mars_is_ahead_of_another_papers_best_row_as_the_page_says():
    """Highs of theirs and lows of ours, at every mark."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "docs" / "_ext"))
        external = importlib.import_module("external")
    machines = read_results(ROOT / "results" / "acrobot")
    ours = {
        name: [cell.split(" ", 1) for cell in external.our_cells(machines, name)]
        for name in ("mars", "follow", "scratch", "multipolar")
    }
    theirs = external.PUBLISHED["MULTIPOLAR, four sources"]
    for place, (_, between) in enumerate(ours["mars"]):
        low, _ = map(float, between.strip("[]").split(", "))
        assert low > float(theirs[place].split(", ")[1].rstrip("]"))
        others = [float(ours[name][place][0]) for name in ours if name != "mars"]
        assert float(ours["mars"][place][0]) > max(others)


@pytest.fixture(scope="module")
def writer():
    """The script that writes tables and figures into pages."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "docs"))
        found = importlib.import_module("write_tables")
        patch.setattr("figures.read_results", read_results)
        yield found


def test_figures_in_sentences_are_those_of_the_rows(writer):
    pages = {path: path.read_text("utf-8") for path in writer.pages()}
    runs = writer.everything()
    assert all(writer.with_figures(text, runs) == text for text in pages.values())
    assert any("<!--area " in text for text in pages.values())


def test_a_figure_says_from_when_on_every_test_keeps_a_bar(writer):
    scores = np.array([[90.0, 86, 86], [86, 99, 86], [86, 86, 99], [86, 86, 86]])
    curve = SimpleNamespace(steps=np.array([0, 10, 20]), scores=scores.T)
    runs = {"walk": SimpleNamespace(curves={"mars": curve}, sign=-1)}
    text = (
        "after 1<!--settled walk mars 88--> or 7 of 9<!--settled-by walk mars 88 10-->"
    )
    assert writer.with_figures(text, runs) == (
        "after 15<!--settled walk mars 88--> or 2 of 4<!--settled-by walk mars 88 10-->"
    )


def test_the_pages_have_the_tables_of_the_rows(results, writer):
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
