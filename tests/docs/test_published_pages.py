"""The figures on the methods' pages are those of the runs, and no method lacks a page.

The directives are tried on small made-up runs; `make docs` reads the real ones.
"""

import importlib.util
import io
import json
import os
import re
import sys
from contextlib import redirect_stderr
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from policymix.core.errors import PolicymixError
from policymix.core.settings import DEFAULTS, Settings
from policymix.methods.recipes import METHODS
from policymix.reports.analysis import measure
from policymix.reports.claims import claims
from policymix.reports.results import read_results
from policymix.reports.tables import share
from policymix.reports.verdicts import show
from policymix.storage.runs import Curve

from support.known import PAPER, STUDIES
from support.made_runs import spread, toward, write_domain

BUILDS = pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
"""What Sphinx thinks of MyST is no concern of ours."""
DOCS = Path(__file__).parents[2] / "docs"
PAGES = {page.name: page.read_text("utf-8") for page in DOCS.glob("methods/*.md")}
CURVES = {
    "mars": spread(480, width=5.0),
    "scratch": toward(spread(300, width=50.0), 20.0),
    "mapse": toward(spread(200, width=30.0), 20.0),
}
COMMAND = "policymix reproduce cartpole --out results/paper"


def extension(name):
    """One of ours, where Sphinx finds it too; skipped where Sphinx is not there."""
    pytest.importorskip("sphinx", reason="install the extra docs")
    spec = importlib.util.spec_from_file_location(name, DOCS / "_ext" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def published():
    return extension("published")


@pytest.fixture(scope="module")
def kinds(published):
    """It is made of parts of the other."""
    assert published is not None
    return extension("kinds")


def make_results(root, name="results/paper", domain="cartpole", curves=CURVES):
    """A folder as `policymix reproduce` leaves it."""
    write_domain(root / name, domain, curves)
    note = {"command": COMMAND.replace("results/paper", name)}
    (root / name / "experiment.json").write_text(json.dumps(note))


@pytest.fixture
def root(tmp_path):
    make_results(tmp_path)
    return tmp_path


def table_of(published, root, *names):
    """The cells of a table, a list for each row below the header."""
    text = published.published_table(published.read_published(root), names, "how.md")
    lines = [line for line in text.splitlines() if line.startswith("| ")][2:]
    plain = [line.replace("\N{NO-BREAK SPACE}", " ") for line in lines]
    return [[cell.strip() for cell in line[1:-1].split("|")] for line in plain]


def test_the_table_has_the_figures_of_the_report(published, root):
    (results,) = read_results(root / "results" / "paper")
    rows = table_of(published, root)
    assert len(rows) == len(CURVES)
    for cells, row in zip(rows, measure(results), strict=True):
        parts = [cell.split(" <br>") for cell in cells]
        title, area, end, alone, samples, better, harms = parts
        assert title == ["cartpole", f"`{row.method}`"]
        assert " ".join(area) == show(row.area)
        assert " ".join(end) == show(row.end)
        assert row.alone is not None
        assert " ".join(alone) == show(row.alone)
        time, arrived = row.arrivals[-1]
        assert samples == [f"{time:,.0f}", f"({arrived} of 10)"]
        assert " ".join(better) == share(row.beats_scratch)
        assert " ".join(harms) == share(row.harms)


def test_claims_have_the_answers_of_the_report(published, root):
    (results,) = read_results(root / "results" / "paper")
    everything = published.read_published(root)
    text = published.claims_table(everything, ())
    for verdict in claims(results):
        assert f"| {verdict.claim} | **{verdict.answer}** |" in text
    assert "- cartpole: 6 claims are not asked" in text
    (line,) = published.claims_table(everything, ["mapse"]).splitlines()[2:]
    assert line.startswith("| cartpole | MARS has a better area than MAPSE |")


def test_rows_are_those_asked_for_the_best_first(published, root):
    def methods(*names):
        return [row[0].split("`")[1] for row in table_of(published, root, *names)]

    assert methods("scratch", "mars") == ["mars", "scratch"]
    assert methods() == ["mars", "scratch", "mapse"]
    make_results(root, "results/inventory", "maze")  # where lower is better
    published.read_published.cache_clear()
    assert methods("scratch", "mars") == ["mars", "scratch", "scratch", "mars"]


def test_the_command_and_the_units_stand_below(published, root):
    text = published.published_table(published.read_published(root), (), "how.md")
    assert f"`{COMMAND}` · [how to read the figures](how.md)" in text
    about = "cartpole: steps balanced, higher is better; 10 trials (seeds 0–9) of 4,000"
    assert f"- {about} samples" in text


def test_further_folders_count_where_they_are_there(published, root):
    assert {row[0].split()[0] for row in table_of(published, root)} == {"cartpole"}
    make_results(root, "results/inventory", "inventory")
    published.read_published.cache_clear()
    assert {row[0].split()[0] for row in table_of(published, root)} == {
        "cartpole",
        "inventory",
    }
    text = published.published_table(published.read_published(root), (), "how.md")
    assert "policymix reproduce cartpole --out results/inventory`" in text


def test_what_is_missing_is_named(published, root, tmp_path_factory):
    with pytest.raises(PolicymixError, match=r"'marz': choose .* Did you mean 'mars'"):
        table_of(published, root, "mars", "marz")
    with pytest.raises(PolicymixError, match=r"no setting 'skale': .* mean 'scale'"):
        published.settings_table(["skale"], "paper.md")
    with pytest.raises(PolicymixError, match="results/paper holds no run"):
        published.read_published(tmp_path_factory.mktemp("empty"))


def test_kinds_of_advice_have_the_figures_and_answers_of_the_report(kinds, tmp_path):
    place = tmp_path / "results" / "advice"
    assert "Not run yet" in kinds.kinds_tables(place, ["mars"])
    for domain, mars in (("cartpole-ones", 490), ("cartpole-cents", 300)):
        make_results(tmp_path, "results/advice", domain, {"mars": spread(mars)})
    text = kinds.kinds_tables(place, ["mars"]).replace("\N{NO-BREAK SPACE}", " ")
    everything = read_results(place)
    for results in everything:
        (row,) = measure(results)
        assert " <br>".join(show(row.area).split(" ", 1)) in text
        for verdict in claims(results, everything):
            assert f"| {verdict.claim} | **{verdict.answer}** |" in text
    assert "**no**" in text
    assert text.index("rewards of 1 ") < text.index("rewards of 0.01 ")
    with pytest.raises(PolicymixError, match="no run of 'marz'"):
        kinds.kinds_tables(place, ["marz"])


def test_the_external_table_has_the_published_rows_and_the_rows_of_runs(
    published, tmp_path
):
    external = extension("external")
    text = external.external_table(tmp_path, ["mars"]).replace("\N{MINUS SIGN}", "-")
    assert "Not run yet" in text
    for row in ("-307 -154 -120 -106", "-156 -115 -100 -93", "-147 -111 -98 -92"):
        cells = [rf"{figure} <br>\[[^|]*\]" for figure in row.split()]
        assert re.search(r" \| ".join(cells), text)
    steps, training = np.arange(0, 201, 10), np.linspace(-500, -100, 21)[:, None]
    curve = Curve("mars", steps, training, training, (0,), training)
    found = [external.at_share(curve, share).mean() for share in external.SHARES]
    np.testing.assert_allclose(found, [-400, -300, -200, -100])
    assert published is not None


def settings_row(published, name):
    lines = published.settings_table([name], "paper.md#decisions").splitlines()
    return [cell.strip() for cell in lines[2][1:-1].split(" | ")]


@pytest.mark.parametrize("field", [field.name for field in fields(Settings)])
def test_settings_have_the_packages_values(published, field):
    named, own, *values, origin = settings_row(published, field)
    assert f"`{field}`" in named
    assert own == published.written(getattr(DEFAULTS, field))
    for value, domain in zip(values, ("maze", "cartpole", "lander"), strict=True):
        ours = published.written(getattr(PAPER[domain], field))
        assert value == ours or (domain == "maze" and value in ("–", "table"))
    assert "paper" in origin or re.search(r"\[\d+\]\(paper.md#decisions\)", origin)


def test_a_deviation_says_what_the_paper_has_and_where(published):
    why = STUDIES["lander"].decisions[10]
    assert settings_row(published, "scale")[-1] == (
        "paper: c: PBRS scaling factor (maze, CartPole) <br>deviation, "
        f"[10](paper.md#decisions): {why}; the paper has 20 (lander)"
    )


def test_a_setting_is_explained_by_its_docstring(published):
    told = "Learning rate of the termination in CAPS."
    assert settings_row(published, "exit_rate")[0] == f"`exit_rate` <br>{told}"
    assert published.docstrings()["steps"] == "Target samples of a trial."


class Site:
    """A few pages beside a folder of runs."""

    def __init__(self, root, page):
        self.root, self.docs = root, root / "docs"
        self.docs.mkdir()
        (self.docs / "conf.py").write_text(
            "extensions = ['myst_parser', 'published']\nmyst_heading_anchors = 2\n"
        )
        (self.docs / "methods").mkdir()
        (self.docs / "paper.md").write_text("# Paper\n\n## Decisions\n")
        reading = "## How to read the figures\n"
        (self.docs / "methods" / "index.md").write_text(f"# Page\n\n{page}\n{reading}")
        (self.docs / "index.md").write_text(
            "# Home\n\n```{toctree}\npaper\nmethods/index\n```\n"
        )

    def build(self):
        """The pages that were read again, what was complained of, and the page."""
        sphinx = importlib.import_module("sphinx.application")
        docutils = importlib.import_module("sphinx.util.docutils")
        out, complaints, read = self.root / "html", io.StringIO(), []
        with docutils.docutils_namespace(), redirect_stderr(complaints):
            app = sphinx.Sphinx(
                *(self.docs, self.docs, out, out / "trees", "html"),
                status=None,
                warning=complaints,
            )
            app.connect("source-read", lambda app, name, source: read.append(name))
            app.build()
        page = (out / "methods" / "index.html").read_text("utf-8")
        return read, complaints.getvalue(), page


def block(directive, *names):
    return f"```{{{directive}}} {' '.join(names)}\n```\n"


@BUILDS
def test_a_site_holds_both_tables_and_follows_the_runs(published, root):
    site = Site(root, block("published", "mars") + "\n" + block("settings", "scale"))
    (row,) = (row for row in measure(*read_results(root / "results" / "paper"))[:1])
    read, complaints, page = site.build()
    assert sorted(read) == ["index", "methods/index", "paper"]
    assert complaints == ""
    assert show(row.area).split()[0] in page
    assert COMMAND in re.sub("<[^>]+>", "", page)
    assert 'href="../paper.html#decisions"' in page
    rows = root / "results" / "paper" / "cartpole" / "mars" / "evaluations.csv"
    make_results(root, "other", curves={"mars": spread(123, width=0.0)})
    changed = (root / "other" / "cartpole" / "mars" / rows.name).read_bytes()
    rows.write_bytes(changed)
    os.utime(rows, (rows.stat().st_mtime + 10,) * 2)
    read, complaints, page = site.build()
    assert read == ["methods/index"]
    assert complaints == ""
    assert "123" in page


@BUILDS
@pytest.mark.parametrize(
    ("page", "named"),
    [
        (block("published", "marz"), "index.md:3: there is no published run of 'marz'"),
        (block("settings", "scale", "skale"), "there is no setting 'skale'"),
    ],
    ids=["method", "setting"],
)
def test_a_name_that_nobody_has_stops_the_build(published, root, page, named):
    with pytest.raises(published.ExtensionError, match=re.escape(named)):
        Site(root, page).build()


@BUILDS
def test_a_missing_folder_stops_the_build(published, tmp_path):
    with pytest.raises(published.ExtensionError, match="results/paper holds no run"):
        Site(tmp_path, block("published")).build()


@pytest.mark.parametrize("method", [*METHODS, "phi1"])
def test_every_method_has_a_page(method):
    (page,) = re.findall(rf"\[`{method}`[^\]]*\]\((\w+\.md)\) \|", PAGES["index.md"])
    assert f"`{method}`" in PAGES[page]


@pytest.mark.parametrize("page", sorted(PAGES.keys() - {"index.md"}))
def test_every_page_has_the_same_parts(page):
    headings = re.findall(r"^## (.*)", PAGES[page], flags=re.MULTILINE)
    parts = ["The rule", "When to use", "Results", "Settings", "Pitfalls", "Where"]
    places = [
        next(i for i, title in enumerate(headings) if title.startswith(part))
        for part in parts
    ]
    assert places == sorted(places)
    assert f"({page})" in PAGES["index.md"]


def test_every_setting_is_on_a_page():
    printed = re.findall(r"^```\{settings\} (.*)", "\n".join(PAGES.values()), re.M)
    shown = {name for names in printed for name in names.split()}
    assert shown == {field.name for field in fields(Settings)}
