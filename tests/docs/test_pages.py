"""The README and the pages tell the truth: their code runs and their links lead on."""

import ast
import itertools
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import policymix
from policymix.cli.commands import EXAMPLES as COMMANDS

from support.drafts import draw_drafts
from support.reader import hurry, python_blocks, run_page

pytestmark = pytest.mark.shown

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(p for p in DOCS.rglob("*.md") if "_build" not in p.parts)
MARKDOWN = [*sorted(ROOT.glob("*.md")), *PAGES]
REFERENCE = "".join(path.read_text() for path in (DOCS / "reference").glob("*.md"))
FENCE = re.compile(r"^( *)(`{3,})(.*?)\n(.*?)^\1\2 *$", re.MULTILINE | re.DOTALL)


def prose(page):
    """A page without its code."""
    return re.sub(r"`[^`\n]+`", "``", FENCE.sub("", page.read_text()))


def slug(heading):
    """What a heading is linked by, on code-hosting sites and in the built pages."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def anchors(page):
    headings = re.findall(r"^#+ +(.+?) *$", FENCE.sub("", page.read_text()), re.M)
    found = []
    for heading in headings:
        name = slug(re.sub(r"\[(.*?)\]\(.*?\)|[`*]", r"\1", heading))
        names = itertools.chain([name], (f"{name}-{i}" for i in itertools.count(1)))
        found.append(next(name for name in names if name not in found))
    return found


def broken_links(page):
    for link in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
        name, _, anchor = link.partition("#")
        target = page.parent / name if name else page
        if re.match(r"\w+:", link):
            continue
        if not target.exists() or (anchor and anchor not in anchors(target)):
            yield link


def titled(paths):
    return [pytest.param(path, id=str(path.relative_to(ROOT))) for path in paths]


README = python_blocks(ROOT / "README.md")


@pytest.mark.learning
def test_the_first_example_tells_ice_from_rough_ground():
    names = {}
    exec(README[0], names)
    trusted = names["belief"].weights_of(names["states"]).argmax(axis=1)
    assert [names["task"].sources.names[i] for i in trusted] == ["slippery", "rough"]


@pytest.mark.learning
def test_the_second_example_learns_what_it_says():
    names = {}
    exec(README[1], names)
    jnp, belief = names["jnp"], names["belief"]
    assert belief.weights(jnp.array([-0.5]))[0] > 0.9
    assert belief.weights(jnp.array([0.5]))[1] > 0.9
    np.testing.assert_allclose(belief.potential(jnp.array([0.5])), [0, 1], atol=0.1)


@pytest.mark.learning
def test_training_by_advice_solves_the_task_in_two_thousand_steps(monkeypatch):
    hurry(monkeypatch, most=2_000)
    names = {}
    exec(README[2], names)
    assert np.mean([r.score for r in names["trained"].rows if r.step == 2_000]) > 450


WITH_CODE = [page for page in PAGES if python_blocks(page)]
QUICK_START = DOCS / "quickstart.md"
OWN_TASK = DOCS / "howto" / "own_task.md"
OWN_TESTS = (QUICK_START, OWN_TASK, DOCS / "extending.md")


@pytest.mark.learning
def test_the_quick_start_shows_what_it_says(monkeypatch, tmp_path):
    hurry(monkeypatch, most=3_000)
    names = run_page(QUICK_START, tmp_path, monkeypatch)
    runs, sources = names["runs"], names["task"].sources.names
    advised, alone = (runs[method].curve()[1] for method in ("mars", "scratch"))
    assert advised.min(axis=1).mean() > 450
    assert alone[0].max() < 50
    assert alone[-1].mean() < 250
    trusted = names["agent"].belief.weights_of(names["states"]).argmax(axis=1)
    assert [sources[i] for i in trusted] == ["slippery", "rough"]
    assert (tmp_path / "quickstart.png").read_bytes().startswith(b"\x89PNG")


def by_task(page):
    """Pages that train on the same task follow each other and share its programs."""
    return '"cartpole"' not in page.read_text(), page


OTHERS = sorted((p for p in WITH_CODE if p not in OWN_TESTS), key=by_task)


@pytest.mark.parametrize("page", titled(OTHERS))
@pytest.mark.learning
def test_blocks_of_a_page_run(page, monkeypatch, tmp_path):
    hurry(monkeypatch)
    run_page(page, tmp_path, monkeypatch)


@pytest.mark.learning
def test_other_blocks_of_the_readme_run(monkeypatch):
    hurry(monkeypatch)
    for block in README[3:]:
        exec(block, {})


@pytest.mark.learning
def test_a_newcomers_script_goes_from_an_environment_to_an_open_report(
    monkeypatch, tmp_path
):
    (script,) = python_blocks(OWN_TASK)
    assert len(script.splitlines()) <= 25
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    hurry(monkeypatch, most=200)
    draw_drafts(monkeypatch)
    run_page(OWN_TASK, tmp_path, monkeypatch)
    page = tmp_path / "my-run" / "report.html"
    assert opened == [page.as_uri()]
    assert "Does transfer help here?" in page.read_text()


def test_links_lead_to_files_and_headings():
    found = {str(p.relative_to(ROOT)): list(broken_links(p)) for p in MARKDOWN}
    assert {page: links for page, links in found.items() if links} == {}


def test_headings_are_linked_by_words_and_hyphens(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "# The `gate`: 2 forms\n```bash\n# no heading\n```\n## A b\n## A b\n"
    )
    assert anchors(page) == ["the-gate-2-forms", "a-b", "a-b-1"]
    page.write_text(
        "# One\n[a](#one) [b](#two) [c](page.md#one) [d](other.md) `[e](f)`"
    )
    assert list(broken_links(page)) == ["#two", "other.md"]


def test_the_reference_describes_every_public_name_once():
    described = []
    for module, block in re.findall(
        r"currentmodule:: (\S+)\n(.*?)```", REFERENCE, re.DOTALL
    ):
        if module == "policymix":
            kinds = r"^\.\. (?:auto\w+|py:\w+):: (\w+)$"
            described += re.findall(kinds, block, re.MULTILINE)
    assert sorted(described) == sorted(policymix.__all__)


def test_the_reference_describes_the_bridges():
    code = (ROOT / "src/policymix/bridges/stable_baselines3.py").read_text()
    public = ast.literal_eval(code.partition("__all__ = ")[2])
    described = re.findall(r"^\.\. auto\w+:: (\w+)$", REFERENCE, re.MULTILINE)
    assert {*public, "ShapedReward"} <= set(described)


def test_the_reference_has_a_section_for_every_command():
    page = DOCS / "reference" / "command_line.md"
    sections = re.findall(
        r"^## policymix (.+)\n\n```{command} (.+)$", page.read_text(), re.MULTILINE
    )
    assert all(heading == asked for heading, asked in sections)
    assert sorted(heading for heading, _ in sections) == sorted(COMMANDS)
    assert f"policymix-{next(iter(COMMANDS))}" in anchors(page)


def test_links_of_a_built_site_are_checked(tmp_path):
    (tmp_path / "a.html").write_text(
        '<h1 id="here"></h1><a href="#here"></a><a href="b.html#there"></a>'
        '<a href="c.html"></a><a href="#gone"></a><a href="https://example.org"></a>'
        '<script src="https://example.org/x.js"></script>'
    )
    (tmp_path / "b.html").write_text('<p id="there"><img src="a.html"></p>')
    command = [sys.executable, str(DOCS / "check_links.py"), str(tmp_path)]
    told = subprocess.run(command, capture_output=True, text=True)
    assert told.returncode == 1
    assert told.stderr.splitlines()[1:] == [
        "a.html: #gone (no such anchor)",
        "a.html: c.html (no such file)",
        "a.html: https://example.org/x.js (needs a network)",
    ]
    (tmp_path / "a.html").write_text('<h1 id="here"></h1>')
    assert subprocess.run(command).returncode == 0
