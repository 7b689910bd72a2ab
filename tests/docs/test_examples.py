"""The examples are short, and they run."""

import ast
import json
from functools import partialmethod
from pathlib import Path
from typing import Any

import pytest

from support.drafts import draw_drafts
from support.reader import hurry, run_program

pytestmark = pytest.mark.shown

EXAMPLES = Path(__file__).parents[2] / "examples"
SAMPLES = {
    "own_environment": "200",
    "sb3_models": "150",
    "data_only": "150",
    "continuous_control": "200",
}


def test_every_example_is_run_here_and_fits_on_a_page():
    files = sorted(EXAMPLES.glob("*.py"))
    assert {file.stem for file in files} == set(SAMPLES)
    assert {file.name: n for file in files if (n := lines_of(file)) > 60} == {}


def lines_of(file):
    return len(file.read_text().splitlines())


def hurry_others(monkeypatch):
    """Shorter rollouts and one test episode in Stable-Baselines3, as in `hurry`."""
    sb3 = pytest.importorskip("stable_baselines3")
    shorter = partialmethod(sb3.PPO.__init__, n_steps=256)
    monkeypatch.setattr(sb3.PPO, "__init__", shorter)
    play = sb3.common.evaluation.evaluate_policy

    def once(model, env, episodes, **more):
        assert episodes > 1
        return play(model, env, 1, **more)

    monkeypatch.setattr(sb3.common.evaluation, "evaluate_policy", once)


@pytest.mark.learning
@pytest.mark.filterwarnings("ignore:rich is experimental")
@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_examples_run_to_their_last_line(name, monkeypatch, capsys, tmp_path):
    last = {
        "own_environment": "trust at 7.5 m",
        "sb3_models": "transfer/log_evidence",
        "data_only": "mars [",
        "continuous_control": "the right simulator is trusted in",
    }
    hurry(monkeypatch)
    hurry_others(monkeypatch)
    run_program(EXAMPLES / f"{name}.py", [SAMPLES[name]], tmp_path, monkeypatch)
    assert last[name] in capsys.readouterr().out


NOTEBOOK = json.loads((EXAMPLES / "own_task.ipynb").read_text())


def shown_by(cell, names) -> Any:
    """Run a cell; the value of its last line, if it has one."""
    lines = ast.parse("".join(cell["source"])).body
    last = lines.pop() if isinstance(lines[-1], ast.Expr) else None
    exec(compile(ast.Module(lines, []), cell["id"], "exec"), names)
    if isinstance(last, ast.Expr):
        return eval(compile(ast.Expression(last.value), cell["id"], "eval"), names)
    return None


@pytest.mark.learning
def test_the_notebook_runs_and_every_result_shows_itself(monkeypatch, tmp_path):
    hurry(monkeypatch, most=100)
    draw_drafts(monkeypatch)
    monkeypatch.chdir(tmp_path)
    cells = [c for c in NOTEBOOK["cells"] if c["cell_type"] == "code"]
    names = {}
    _, trained, picture, comparison = (shown_by(cell, names) for cell in cells)
    assert trained._repr_html_().startswith("<p>mars on MountainCar-v0: return -")
    assert picture._repr_png_().startswith(b"\x89PNG")
    assert picture.axes[0].get_xlabel() == "position"
    html = comparison._repr_html_()
    assert "<b>Does transfer help here? " in html
    assert "<img" in html
    assert (tmp_path / "valley" / "report.html").exists()


def test_the_notebook_keeps_no_output():
    cells = [c for c in NOTEBOOK["cells"] if c["cell_type"] == "code"]
    assert [(c["outputs"], c["execution_count"]) for c in cells] == [([], None)] * 4
