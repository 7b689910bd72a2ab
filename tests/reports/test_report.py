"""The report on a folder of runs: one page, one table and figures that agree."""

import csv
import io
import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from policymix.core.errors import FileFormatError
from policymix.core.settings import Settings
from policymix.core.terminal import Terminal
from policymix.domains.maze.files import load_mazes
from policymix.environments.registry import find_domain
from policymix.reports import figures
from policymix.reports.analysis import SHARES, measure, profiles
from policymix.reports.claims import claims, questions
from policymix.reports.report import (
    FIGURES,
    PAGE,
    TABLE,
    make_report,
    notes_of,
    report,
    section_of,
)
from policymix.reports.results import read_results
from policymix.reports.statistics import interquartile_mean, interval
from policymix.reports.tables import summary_of, table_of

from support.drafts import draw_drafts
from support.known import LOOKS, PAPER
from support.made_runs import (
    EVERY,
    SOURCES,
    look_of,
    results_of,
    spread,
    write_domain,
    write_run,
)

SCRIPT = "<script>alert(1)</script>"
METHODS = ["mars", "mapse", "caps", "ucb", "phi1", "phi2", "scratch", "follow"]
TRIALS, TESTS = 4, 11
COMMAND = "policymix reproduce all --out 'here & there'"


def learning(domain, place):
    """Trials that learn, each method a little better or worse than the last."""
    rng = np.random.default_rng([len(domain), place])
    rise = np.linspace(0, 90 - 8 * place, TESTS)[:, None]
    scores = 20 + rise + rng.normal(scale=4, size=(TESTS, TRIALS))
    return 200 - scores if domain == "maze" else scores


def write_all(place):
    """The three domains with looks at mars and a sweep of mapse."""
    for domain in SOURCES:
        steps = [time for time in LOOKS[domain] if time <= EVERY * (TESTS - 1)]
        looks = [look_of(domain, t, np.linspace(0.3, 0.9, TRIALS)) for t in steps]
        curves = {name: learning(domain, i) for i, name in enumerate(METHODS, 1)}
        if domain == "maze":
            curves["oracle"] = learning(domain, 0)
        write_domain(place, domain, curves, looks=looks)
        write_run(
            *(place / domain / "mapse-reuse-0.5", domain),
            {"mapse": learning(domain, 4)},
            sweep=("mapse_reuse", 0.5),
        )


class Page(HTMLParser):
    """What a report's page holds."""

    def __init__(self, path):
        super().__init__()
        self.source = path.read_text("utf-8")
        self.tags, self.links, self.text, self._inside = [], [], "", ""
        self._data = ""
        self.feed(self.source)
        self.data = json.loads(self._data)

    def handle_starttag(self, tag, attrs):
        known = dict(attrs)
        self.tags.append(tag)
        self._inside = known.get("id") if tag == "script" else tag
        if tag == "a":
            self.links.append(known["href"])

    def handle_endtag(self, tag):
        self._inside = ""

    def handle_data(self, data):
        if self._inside == "data":
            self._data += data
        elif self._inside not in ("script", "style", None):
            self.text += data + "\n"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A report on all three domains: its folder, its page and what was told."""
    place = tmp_path_factory.mktemp("all")
    write_all(place)
    before = {path: path.read_bytes() for path in place.rglob("*") if path.is_file()}
    told = []
    with pytest.MonkeyPatch.context() as patch:
        draw_drafts(patch)
        path = report(place, COMMAND, told.append)
    assert path == place / PAGE
    return {"place": place, "told": told, "before": before, "page": Page(path)}


@pytest.fixture(scope="module")
def everything(made):
    return {results.domain: results for results in read_results(made["place"])}


@pytest.fixture(scope="module")
def domains(made):
    return {domain["name"]: domain for domain in made["page"].data["domains"]}


DOMAINS = pytest.mark.parametrize("domain", SOURCES)


# Files


def test_the_runs_stay_as_they_are(made):
    for path, content in made["before"].items():
        assert path.read_bytes() == content
    new = {p for p in made["place"].rglob("*") if p.is_file()} - set(made["before"])
    outside = {p.name for p in new if p.parent.name != FIGURES}
    assert outside == {PAGE, TABLE}


def test_every_link_of_the_page_leads_to_a_figure(made):
    links = [link for link in made["page"].links if not link.startswith("#")]
    parts = ["curves", "summary", "mixture", "rightness", "sweeps"]
    wanted = [f"{domain}-{part}" for domain in SOURCES for part in parts]
    assert sorted(links) == sorted(
        f"./{FIGURES}/{name}.png" for name in [*wanted, "maze-drawings"]
    )
    for link in links:
        picture = made["place"] / link
        assert picture.read_bytes().startswith(b"\x89PNG")
        assert picture.with_suffix(".pdf").read_bytes().startswith(b"%PDF")


def test_whoever_waits_is_told_of_each_domain(made):
    for domain in SOURCES:
        assert any(domain in what for what in made["told"])


def near(value):
    """Six digits are written."""
    return pytest.approx(value, rel=1e-5, abs=1e-12)


def test_the_table_holds_the_measures(made, everything):
    with (made["place"] / TABLE).open(newline="") as file:
        rows = list(csv.DictReader(file))
    wanted = [(r, row) for r in everything.values() for row in measure(r)]
    assert len(rows) == len(wanted)
    for found, (results, row) in zip(rows, wanted, strict=True):
        assert found["domain"] == results.domain
        assert found["method"] == row.method
        assert found["trials"] == str(TRIALS)
        for name, bounds in (
            ("area_iqm", row.area),
            ("end_iqm", row.end),
            ("jumpstart", row.jumpstart),
            ("beats_scratch", row.beats_scratch),
            ("ends_worse", row.harms),
            ("alone_iqm", row.alone),
        ):
            cells = [found[name + part] for part in ("", "_low", "_high")]
            if bounds is None:
                assert cells == ["", "", ""]
            else:
                assert list(map(float, cells)) == near(list(map(float, bounds)))
        assert float(found["area_mean"]) == near(row.area_mean)
        error = float(found["area_standard_error"])
        assert error == near(row.area_error)
        for share, (time, arrived) in zip(SHARES, row.arrivals, strict=True):
            assert float(found[f"samples_to_{share:g}"]) == near(time)
            assert int(found[f"arrived_at_{share:g}"]) == arrived


# The page's data


def test_the_page_names_its_command_and_its_domains(made):
    data = made["page"].data
    assert data["command"] == COMMAND
    assert COMMAND in made["page"].text
    assert list(d["name"] for d in data["domains"]) == sorted(SOURCES)
    for domain in SOURCES:
        assert find_domain(domain).title in data["title"]
    assert re.fullmatch(r"20\d\d-\d\d-\d\d \d\d:\d\d UTC", data["made"])


@DOMAINS
def test_every_method_has_both_statistics(domain, everything, domains):
    methods = {line["name"]: line for line in domains[domain]["methods"]}
    assert list(methods) == list(everything[domain].curves)
    for name, curve in everything[domain].curves.items():
        line, scores = methods[name], curve.scores
        error = scores.std(axis=1, ddof=1) / np.sqrt(TRIALS)
        middle = interval(scores, interquartile_mean, resamples=500)
        assert line["steps"] == curve.steps.tolist()
        for key, wanted in (
            ("mean", scores.mean(axis=1)),
            ("mean_low", scores.mean(axis=1) - error),
            ("mean_high", scores.mean(axis=1) + error),
            ("iqm", middle.estimate),
            ("iqm_low", middle.low),
            ("iqm_high", middle.high),
        ):
            np.testing.assert_allclose(line[key], wanted, rtol=1e-4, err_msg=key)
        alone = curve.alone.mean(axis=1)
        np.testing.assert_allclose(line["alone"]["mean"], alone, rtol=1e-4)


@DOMAINS
def test_forms_and_yardsticks_wait_behind_their_buttons(domain, domains):
    hidden = {line["name"] for line in domains[domain]["methods"] if line["hidden"]}
    assert hidden == ({"follow", "oracle"} if domain == "maze" else {"follow"})
    kinds = {line["name"]: line["kind"] for line in domains[domain]["methods"]}
    assert kinds["mars"] == kinds["mapse"] == "ours"
    assert kinds["follow"] == "yardstick"
    assert kinds["scratch"] == kinds["phi1"] == "baseline"


@DOMAINS
def test_every_row_of_the_summary_fills_its_columns(domain, everything, domains):
    summary, table = domains[domain]["summary"], measure(everything[domain])
    assert summary["columns"][0]["title"] == "method"
    assert [row["method"] for row in summary["rows"]] == [row.method for row in table]
    for row in summary["rows"]:
        assert len(row["cells"]) == len(row["order"]) == len(summary["columns"]) - 1
        assert all(isinstance(cell, str) and cell for cell in row["cells"])


def test_the_end_alone_is_shown_where_a_run_says_it():
    curves = {"mars": spread(90, TRIALS), "scratch": spread(60, TRIALS)}
    unknown = np.full_like(curves["mars"], np.nan)
    known = results_of("cartpole", curves, alone={"mars": spread(7, TRIALS)})
    part = results_of("cartpole", curves, alone={"mars": unknown})
    old = results_of("cartpole", curves, alone=dict.fromkeys(curves, unknown))
    titles, cells = [], []
    for results in (known, part, old):
        made = summary_of(results, measure(results))
        titles.append([column["title"] for column in made["columns"]])
        cells.append({row["method"]: row["cells"][3] for row in made["rows"]})
    place = titles[0].index("alone: IQM [95 %]")
    assert place == 4
    assert titles[1] == titles[0]
    assert titles[2] == [title for title in titles[0] if title != titles[0][place]]
    assert cells[0]["mars"].startswith("7.0 [")
    assert cells[1]["mars"] == "–"
    assert cells[1]["scratch"] == cells[0]["scratch"] != "–"
    tables = [table_of([r], {r.domain: measure(r)}).decode() for r in (known, old)]
    assert ["alone_iqm" in table for table in tables] == [True, False]


@DOMAINS
def test_the_cells_show_what_they_are_sorted_by(domain, domains):
    for row in domains[domain]["summary"]["rows"]:
        for cell, value in zip(row["cells"], row["order"], strict=True):
            if value is None:
                assert cell == "–"
            else:
                first = float(cell.split(" ")[0].replace(",", ""))
                assert first == pytest.approx(value, rel=0.01, abs=0.5)


@DOMAINS
def test_profiles_are_those_of_the_analysis(domain, everything, domains):
    profile = domains[domain]["profile"]
    wanted = profiles(everything[domain], np.linspace(0, 1, 101))
    np.testing.assert_allclose(profile["thresholds"], np.linspace(0, 1, 101))
    assert [line["name"] for line in profile["methods"]] == list(wanted)
    for line in profile["methods"]:
        bounds = wanted[line["name"]]
        np.testing.assert_allclose(line["share"], bounds.estimate, rtol=1e-4)
        np.testing.assert_allclose(line["low"], bounds.low, rtol=1e-4, atol=1e-9)
        np.testing.assert_allclose(line["high"], bounds.high, rtol=1e-4)


@DOMAINS
def test_the_answers_are_those_of_the_claims(domain, made, everything, domains):
    verdicts = claims(everything[domain])
    assert domains[domain]["claims"] == [verdict._asdict() for verdict in verdicts]
    for verdict in verdicts:
        assert verdict.claim in made["page"].text
        assert verdict.sentence in made["page"].text


def test_the_questions_are_answered_by_all_domains(made, everything):
    asked = made["page"].data["questions"]
    verdicts = questions(list(everything.values()))
    assert [item["question"] for item in asked] == [v.claim for v in verdicts]
    assert [item["answer"] for item in asked] == [v.answer for v in verdicts]
    assert [item["sentence"] for item in asked] == [v.sentence for v in verdicts]


@DOMAINS
def test_a_sweep_marks_the_value_that_is_used_above(domain, everything, domains):
    (sweep,) = domains[domain]["sweeps"]
    own = everything[domain].facts["settings"]["mapse_reuse"]
    names = [series["name"] for series in sweep["series"]]
    assert names == ["0.5", f"{own:g} (used above)"]
    wanted = everything[domain].curves["mapse"].scores.mean(axis=1)
    np.testing.assert_allclose(sweep["series"][1]["mean"], wanted, rtol=1e-4)


@DOMAINS
def test_the_belief_is_what_was_seen(domain, everything, domains):
    belief, seen = domains[domain]["belief"], everything[domain].seen["mars"]
    kinds = {"maze": "cells", "cartpole": "plane", "lander": "paths"}
    assert belief["kind"] == kinds[domain]
    assert belief["steps"] == list(seen.steps)
    assert [source["name"] for source in belief["sources"]] == list(SOURCES[domain])
    weights = seen.arrays["weights"].tolist()
    if domain == "lander":
        paths = belief["paths"]
        assert [[way["weights"] for way in moment] for moment in paths] == weights
        xs = [[way["x"] for way in moment] for moment in paths]
        ys = [[way["y"] for way in moment] for moment in paths]
        places = np.stack([xs, ys], axis=-1)
        np.testing.assert_allclose(places, seen.arrays["places"], rtol=1e-4, atol=1e-9)
        np.testing.assert_allclose(belief["scores"], seen.arrays["scores"], rtol=1e-4)
    else:
        assert belief["weights"] == weights
    if domain == "maze":
        maze = load_mazes().target
        assert belief["rows"] * belief["columns"] == len(belief["walls"])
        assert belief["walls"] == np.asarray(maze.walls).astype(int).ravel().tolist()
        assert not belief["walls"][belief["start"]]
        assert not belief["walls"][belief["goal"]]
    if domain == "cartpole":
        assert len(belief["y"]["values"]) == len(weights[0])
        assert len(belief["x"]["values"]) == len(weights[0][0])


@DOMAINS
def test_every_setting_is_explained(domain, everything, domains):
    rows = {row["name"]: row for row in domains[domain]["settings"]}
    assert set(rows) == set(vars(Settings()))
    assert rows["steps"]["value"] == str(everything[domain].facts["settings"]["steps"])
    changed = rows["steps"]["origin"].startswith("changed for this run")
    assert changed == (PAPER[domain].steps != EVERY * (TESTS - 1))
    assert rows["discount"]["origin"].startswith("paper")


@DOMAINS
def test_few_trials_are_called_a_preview(domain, made, everything):
    (note,) = [n for n in made["page"].data["notes"] if n.startswith(f"{domain}: ")]
    assert note.startswith(f"{domain}: only 4 trials of 10,000 samples")
    assert note in made["page"].text
    assert notes_of(everything[domain]) == [note]


def test_the_page_shows_no_number_that_is_none(made):
    assert "nan" not in re.findall(r"[a-z]+", made["page"].text)


# Other folders


def quiet(place):
    return Page(report(place, "policymix report", lambda what: None))


def test_a_run_of_several_methods_has_a_report(tmp_path, monkeypatch):
    """No sweep, no look at a mixture, ten trials: nothing of these is on the page."""
    draw_drafts(monkeypatch)
    place = write_run(
        tmp_path / "run", "cartpole", {"mars": spread(80), "scratch": spread(50)}
    )
    page = quiet(place)
    (domain,) = page.data["domains"]
    assert [line["name"] for line in domain["methods"]] == ["mars", "scratch"]
    assert page.data["notes"] == [], "ten trials are enough"
    assert (domain["belief"], domain["sweeps"]) == (None, [])
    links = [link for link in page.links if not link.startswith("#")]
    assert [link.rpartition("-")[2] for link in links] == ["curves.png", "summary.png"]
    assert {claim["answer"] for claim in domain["claims"]} == {"yes"}
    assert "mapse" in domain["unasked"]
    again = quiet(place)
    assert again.data | {"made": ""} == page.data | {"made": ""}


@pytest.fixture
def without_figures(monkeypatch):
    """Reports whose figures are not drawn."""
    monkeypatch.setattr(
        figures, "write_figure", lambda folder, name, make: folder / name
    )


@pytest.mark.usefixtures("without_figures")
@pytest.mark.parametrize("domain", ["maze", "lander"])
def test_one_trial_has_no_errors_to_show(domain, tmp_path):
    curves = {"mars": spread(40, 1), "mapse": spread(50, 1), "scratch": spread(60, 1)}
    page = quiet(write_run(tmp_path / "it", domain, curves))
    for row in page.data["domains"][0]["summary"]["rows"]:
        assert not any("nan" in cell for cell in row["cells"])
    assert "nan" not in re.findall(r"[a-z]+", page.text)
    table = (tmp_path / "it" / TABLE).read_text()
    assert "nan" not in table
    assert "area_iqm_low" in table


@pytest.mark.usefixtures("without_figures")
def test_a_run_that_did_not_finish_is_named(tmp_path):
    write_domain(tmp_path, "maze", {"mars": spread(40), "scratch": spread(60)})
    short = {"caps": spread(70, tests=3)}
    folder = tmp_path / "maze" / "caps"
    write_run(folder, "maze", short, settings={"steps": 4000}, status="interrupted")
    page = quiet(tmp_path)
    assert page.data["notes"] == [f"{folder} is not finished."]
    lines = {m["name"]: m["steps"] for m in page.data["domains"][0]["methods"]}
    assert (lines["caps"][-1], lines["mars"][-1]) == (2000, 4000)


@pytest.mark.usefixtures("without_figures")
def test_a_domain_of_your_own_has_a_report(tmp_path):
    place = write_run(
        tmp_path / "it", "probe", {"mars": spread(80), "scratch": spread(50)}
    )
    (domain,) = quiet(place).data["domains"]
    assert domain["title"] == "probe"
    assert all(row["paper"] == "–" for row in domain["settings"])


def test_a_source_with_a_hostile_name_is_text(tmp_path, monkeypatch):
    draw_drafts(monkeypatch)
    names = (SCRIPT, '"><img src=x onerror=alert(2)>', "land")
    write_domain(
        *(tmp_path, "lander", {"mars": spread(80), "scratch": spread(50)}),
        names=names,
        looks=[look_of("lander", 0), look_of("lander", 10_000)],
    )
    page = quiet(tmp_path)
    assert SCRIPT not in page.source
    assert "<img" not in page.source
    assert page.tags.count("script") == 2
    (domain,) = page.data["domains"]
    assert [source["name"] for source in domain["belief"]["sources"]] == list(names)
    assert SCRIPT in page.text, "in the list of sources"
    assert (tmp_path / FIGURES / "lander-mixture.png").exists()


def test_a_run_cannot_write_beside_its_folder(tmp_path):
    """The domain is part of a figure's name, and a stranger may have written it."""
    place = write_run(tmp_path / "in" / "it", "../../evil", {"mars": spread(80)})
    with pytest.raises(FileFormatError, match=r"run.json: domain: ") as caught:
        quiet(place)
    assert caught.value.field == "domain"
    assert [path.name for path in tmp_path.iterdir()] == ["in"]
    assert [path.name for path in (tmp_path / "in").iterdir()] == ["it"]


def test_the_folder_decides_what_is_reported(made, everything):
    """A domain's folder gives that domain's part, the same as in the whole."""
    (alone,) = read_results(made["place"] / "cartpole")
    table = measure(alone)
    one, other = (
        section_of(results, table, [], claims(results))
        for results in (alone, everything["cartpole"])
    )
    assert one == other


# In a browser


TROUBLE = {
    "Runtime.exceptionThrown",
    "Runtime.consoleAPICalled",
    "Log.entryAdded",
    "Page.javascriptDialogOpening",
    "Network.loadingFailed",
}


@pytest.mark.parametrize("width", [1280, 390])
def test_the_report_opens_without_trouble(chromium, made, width):
    chromium.open(made["place"] / PAGE, width)
    assert not TROUBLE & set(chromium.event_names())
    assert chromium.js("document.documentElement.scrollWidth") <= width
    for index, domain in enumerate(made["page"].data["domains"]):
        section = f"document.querySelector('#domain-{index + 1}')"
        drawn = chromium.js(
            f"[...new Set({section}.querySelector('[data-part=curves] .plot').chart"
            ".series.slice(1).filter(({ show }) => show).map(({ label }) => label))]"
        )
        shown = [line["name"] for line in domain["methods"] if not line["hidden"]]
        assert sorted(drawn) == sorted(shown)
        assert chromium.js(f"{section}.querySelectorAll('.belief canvas').length") == 1
    rows = "document.querySelectorAll('table[data-part=summary] tbody tr').length"
    counts = [len(domain["summary"]["rows"]) for domain in made["page"].data["domains"]]
    assert chromium.js(rows) == sum(counts)


def test_names_and_scores_of_any_kind_make_a_report(tmp_path, monkeypatch):
    """Markup, formulas and scores whose squares are infinite."""
    draw_drafts(monkeypatch)
    extremes = np.full((3, 4), 1e308)
    curves = {"=cmd()": extremes, "[/x]$": -extremes, "scratch": 0 * extremes}
    write_run(tmp_path / "run", "own[red]", curves, names=("[red]", "$^{"))
    file = io.StringIO()
    with np.errstate(all="raise"):
        make_report(tmp_path, Terminal(file=file, width=200))
    assert str(tmp_path / PAGE) in file.getvalue()
    rows = list(csv.DictReader((tmp_path / TABLE).read_text().splitlines()))
    assert {row["method"] for row in rows} == {"'=cmd()", "[/x]$", "scratch"}
    assert {float(row["area_mean"]) for row in rows} == {1e100, -1e100, 0.0}
    assert "scores beyond ±1e+100" in " ".join(Page(tmp_path / PAGE).data["notes"])
