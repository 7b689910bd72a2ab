"""`compare`: a user's own task, from the first sample to answers on a page."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console

import policymix as pm
from policymix.core.errors import FileFormatError, PolicymixError
from policymix.experiments.comparison import STOPPED
from policymix.experiments.reproduce import command_of
from policymix.reports.compare import run_comparison
from policymix.reports.report import PAGE
from policymix.reports.results import read_results
from policymix.storage.runs import ROWS, read_run
from policymix.training.run import TrialError

from support.drafts import draw_drafts
from support.own_probes import BRIEF
from support.own_probes import unoptimised as unoptimised
from support.slope import Slope, library, untyped

pytestmark = [pytest.mark.learning, pytest.mark.usefixtures("unoptimised")]

SETTINGS = replace(BRIEF, own_model=True, mixture_rate=2e-2)


def slope():
    return Slope()


@pytest.fixture(scope="module")
def task():
    return pm.prepare(pm.TransferTask(slope, library()))


@pytest.fixture(scope="module")
def first(task, tmp_path_factory):
    """Two methods, one trial, and their report."""
    out = tmp_path_factory.mktemp("compared") / "run"
    with pytest.MonkeyPatch.context() as patch:
        draw_drafts(patch)
        return pm.compare(task, trials=1, out=out, settings=SETTINGS, progress=False)


def data_of(page):
    found = re.search(r'id="data">(.*?)</script>', page.read_text(), re.DOTALL)
    assert found
    return json.loads(found[1])


def test_rows_are_kept_as_by_the_command_line(first):
    folder = first.page.parent
    runs = [read_run(folder / method) for method in ("mars", "scratch")]
    assert [run.facts["status"] for run in runs] == ["finished", "finished"]
    assert runs[0].curves["mars"].steps.tolist() == [0, 100, 200]
    scores = [row.score for row in first.rows if row.method == "mars"]
    assert scores == runs[0].curves["mars"].scores.ravel().tolist()
    assert "policymix.compare(task" in command_of(folder)


def test_the_page_has_answers_and_the_belief_in_visited_states(first):
    (section,) = data_of(first.page)["domains"]
    asked = [claim["claim"] for claim in section["claims"]]
    assert asked[0] == "Does transfer help here?"
    assert asked[-1] == "Is every source of use?"
    assert str(first).startswith("Does transfer help here?")
    belief = section["belief"]
    assert belief["kind"] == "points"
    assert [source["name"] for source in belief["sources"]] == [
        *("left", "right", "own model")
    ]
    assert belief["steps"] == [0, 20, 40, 60, 100, 160, 200]
    states = np.array(belief["states"])
    assert np.shape(belief["weights"]) == (7, len(states), 3)
    assert np.abs(states).max() <= 1.0
    assert section["settings"][0]["origin"] != ""


@pytest.fixture(scope="module")
def run(task):
    """The same without a report."""

    def call(out, methods=("mars", "scratch"), trials=1, settings=SETTINGS, **more):
        seed = more.pop("seed", 0)
        console = Console(quiet=True)
        run_comparison(task, methods, settings, seed, trials, out, console, **more)

    return call


def test_the_same_call_keeps_what_is_there(first, run):
    folder = first.page.parent
    before = {path: path.stat().st_mtime_ns for path in folder.glob("m*/*")}
    run(folder)
    assert before == {path: path.stat().st_mtime_ns for path in before}


def test_more_trials_and_methods_are_added_as_if_run_at_once(first, run, tmp_path):
    folder = first.page.parent
    run(tmp_path / "once", ("mars",), trials=2)
    run(folder, ("phi1",), trials=2)
    run(folder, ("mars",), trials=1)  # what is there is not taken away
    (results,) = read_results(folder)
    assert list(results.curves) == ["mars", "phi1", "scratch"]
    assert results.facts["trials"] == 2
    (once,) = read_results(tmp_path / "once")
    rows = [place / "mars" / ROWS for place in (folder, tmp_path / "once")]
    assert rows[0].read_bytes() == rows[1].read_bytes()
    grown, whole = (x.seen["mars"].arrays["trust"] for x in (results, once))
    assert grown.shape == (7, 2, 3)
    np.testing.assert_allclose(grown, whole, atol=1e-5)


def test_what_was_reached_before_own_code_failed_is_kept_aside(tmp_path):
    class Breaking(Slope):
        hot, taken = True, 0

        def step(self, action):
            self.taken += 1
            if self.hot and self.taken > 150:
                raise OSError("the motor is hot")
            return super().step(action)

    task = pm.prepare(pm.TransferTask(lambda: Breaking(), library()))
    numbers = (SETTINGS, 0, 1, tmp_path / "out", Console(quiet=True))
    words = r"scratch, trial 0 .* the motor is hot\. Its rows until then"
    with pytest.raises(TrialError, match=words):
        run_comparison(task, ("scratch",), *numbers)
    aside = tmp_path / "out" / STOPPED
    kept = read_run(aside / "scratch")
    assert kept.facts["status"].startswith("stopped: scratch, trial 0")
    assert kept.curves["scratch"].steps.tolist() == [0, 100]
    Breaking.hot = False
    run_comparison(task, ("scratch",), *numbers)
    assert read_run(tmp_path / "out" / "scratch").facts["status"] == "finished"
    assert not aside.exists()


def test_a_folder_of_another_comparison_is_left_alone(first, run, tmp_path):
    with pytest.raises(FileFormatError, match=r"run.json.*settings.*another folder"):
        run(first.page.parent, settings=replace(SETTINGS, steps=300))
    with pytest.raises(FileFormatError, match="seed"):
        run(first.page.parent, seed=7)
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(PolicymixError, match="exists already"):
        run(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


@pytest.mark.parametrize("over", [(0,), (0, 2), (1, 1), {"x": 0, "y": -1}, 3, (0, "1")])
def test_numbers_that_are_not_there_are_refused_before_anything_runs(
    over, run, tmp_path
):
    with untyped(), pytest.raises(PolicymixError, match=r"over=.*places 0 … 1"):
        run(tmp_path / "run", over=over)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("methods", ["marz", ("mars", "marz")])
def test_an_unknown_method_is_refused_before_anything_runs(methods, task, tmp_path):
    with pytest.raises(PolicymixError, match="'marz'"):
        pm.compare(task, methods, out=tmp_path / "run", progress=False)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"settings": 3}, "settings is 3: it must be S"),
        ({"out": None}, "must be a path"),
    ],
)
def test_what_is_no_settings_or_no_place_is_named(wrong, words, task):
    with untyped(), pytest.raises(PolicymixError, match=words):
        pm.compare(task, **wrong)


def test_the_reader_chooses_what_is_across_and_up(first, chromium):
    chromium.open(first.page)
    panel = "document.querySelector('[data-part=belief]')"
    before = chromium.js(f"{panel}.querySelector('.axis.across').textContent")
    assert before == "observation[0]"
    chromium.js(
        f"(() => {{ const side = {panel}.querySelector('select'); side.value = 1;"
        " side.dispatchEvent(new Event('change')); })()"
    )
    after = chromium.js(f"{panel}.querySelector('.axis.across').textContent")
    assert after == "observation[1]"
    assert chromium.js(f"{panel}.querySelector('.share').textContent") != ""
    assert not [e for e in chromium.events if e["method"] == "Runtime.exceptionThrown"]


def test_the_report_can_be_opened(first, monkeypatch):
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    first.open()
    assert opened == [(first.page.parent / PAGE).as_uri()]
