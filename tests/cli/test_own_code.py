"""`--load`: what a user's own file registers is known to every command."""

import csv
import json
import sys

import pytest

from policymix.environments import registry
from policymix.methods import recipes
from policymix.training.task import load_task

from support.command_line import typed
from support.drafts import draw_drafts

pytestmark = pytest.mark.learning

METHOD = """
import policymix
from policymix.methods import recipes

from beside import SCALE


def mine(given):
    return policymix.Method(recipes.ByMixture(), scale=SCALE)


recipes.register_method("mine", mine)
"""
DOMAIN = """
from dataclasses import replace
from pathlib import Path

from policymix.environments.domain import Domain
from policymix.environments.registry import find_domain, register_domain

maze = find_domain("maze")
few = replace(maze.settings, steps=300, evaluate_every=300)
HERE = Path(__file__).parent / "my-sources"
register_domain(
    replace(maze, name="my-[red]maze", settings=few, shipped=HERE, home="maze")
)
"""
FAILING = """
def deep():
    return [][1]


deep()
"""


@pytest.fixture(autouse=True)
def forgotten(monkeypatch):
    """Nothing that a file registers or puts on the path stays."""
    monkeypatch.setattr(recipes, "METHODS", dict(recipes.METHODS))
    monkeypatch.setattr(registry, "DOMAINS", dict(registry.DOMAINS))
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield
    for name in ("own_my", "own_my_domain", "own_bad", "beside", "installed_methods"):
        sys.modules.pop(name, None)


def test_a_method_of_ones_own_runs_and_is_suggested(monkeypatch, capsys, tmp_path):
    (tmp_path / "my.py").write_text(METHOD)
    (tmp_path / "beside.py").write_text("SCALE = 2.0\n")
    few = ("--trials", 2, "--steps", 300)
    given = ("--load", tmp_path / "my.py", *few, "--out", tmp_path / "out")
    run = ("run", "maze", "--methods")
    code, printed = typed(monkeypatch, capsys, *run, "mien", *given)
    assert code == 2
    assert "Did you mean 'mine'?" in printed
    monkeypatch.setattr(recipes, "METHODS", dict(recipes.METHODS))
    recipes.METHODS.pop("mine")
    code, printed = typed(
        monkeypatch, capsys, "run", "maze", "--methods", "mine", *given
    )
    assert code == 0, printed
    rows = csv.DictReader((tmp_path / "out/evaluations.csv").read_text().splitlines())
    assert {row["method"] for row in rows} == {"mine"}


def test_a_domain_of_ones_own_is_known_to_every_command(monkeypatch, capsys, tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    (home / "my_domain.py").write_text(DOMAIN)
    maze = load_task("maze")
    maze.sources.save(home / "my-sources", maze.facts)
    draw_drafts(monkeypatch)
    name, load = "my-[red]maze", ("--load", home / "my_domain.py")
    out = tmp_path / "out"
    given = ("--methods", "scratch", "--steps", 600, "--out", out)
    commands = (
        ("run", name, *given),
        ("sources", "show", name),
        ("check", name),
        ("report", out),
    )
    for command in commands:
        monkeypatch.setattr(registry, "DOMAINS", dict(registry.DOMAINS))
        registry.DOMAINS.pop(name, None)
        code, printed = typed(monkeypatch, capsys, *command, *load)
        assert code == 0, f"{command}: {printed}"
        assert name in printed or command[0] in ("check", "report")
    assert json.loads((out / "run.json").read_text())["domain"] == name
    registry.DOMAINS.pop(name)
    code, printed = typed(monkeypatch, capsys, "check", name)
    assert code == 2
    assert "there is no domain and no folder" in printed


def test_a_failure_of_ones_own_code_names_its_line(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    for text, line, error in (
        (FAILING, 3, "IndexError: list index out of range"),
        ("def f(:\n", 1, "SyntaxError: invalid syntax"),
        ("\nimport nowhere\n", 2, "ModuleNotFoundError: No module named 'nowhere'"),
        ("raise SystemExit(3)\n", 1, "SystemExit: 3"),
        (
            "from policymix.methods.recipes import mars, register_method\n"
            "register_method('mars', mars)\n",
            2,
            "the name 'mars' is taken",
        ),
    ):
        (tmp_path / "bad.py").write_text(text)
        code, printed = typed(monkeypatch, capsys, "check", "maze", "--load", "bad.py")
        assert code == 1
        assert "--load bad.py: your own code stopped at " in printed
        assert f"bad.py, line {line}:" in printed, printed
        assert error in printed
        assert "Traceback" not in printed


def test_a_module_can_be_loaded_by_its_name(monkeypatch, capsys, tmp_path):
    (tmp_path / "installed_methods.py").write_text(METHOD)
    (tmp_path / "beside.py").write_text("SCALE = 2.0\n")
    monkeypatch.syspath_prepend(tmp_path)
    wrong = ("run", "maze", "--methods", "mien", "--load", "installed_methods")
    code, printed = typed(monkeypatch, capsys, *wrong, "--out", tmp_path / "out")
    assert code == 2
    assert "Did you mean 'mine'?" in printed
