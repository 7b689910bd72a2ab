"""`policymix run my_task.py` and `policymix new`: tasks of one's own from the shell."""

import ast
import sys

import pytest

from policymix.cli.new import STARTING_POINT
from policymix.reports.results import read_results

from support.command_line import typed
from support.drafts import draw_drafts
from support.own_probes import unoptimised as unoptimised

pytestmark = [pytest.mark.learning, pytest.mark.usefixtures("unoptimised")]

TASK = """
from dataclasses import replace
from policymix.training.task import TransferTask, prepare
from support.own_probes import BRIEF
from support.slope import Slope, library

made = prepare(TransferTask(Slope, library()))
task = replace(made, target=replace(made.target, settings=BRIEF))
number = 3
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with a task, to stand in."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "my_task.py").write_text(TASK)
    yield tmp_path
    sys.modules.pop("own_my_task", None)


def test_a_file_that_defines_a_task_is_run_gone_on_with_and_reported_on(
    place, monkeypatch, capsys
):
    draw_drafts(monkeypatch)
    run = ("run", "my_task.py", "--out", "my-run", "--trials")
    code, printed = typed(monkeypatch, capsys, *run, 1, "--methods", "scratch")
    assert code == 0, printed
    assert "Slope: return, 1 trial" in printed
    assert "policymix report my-run" in printed
    code, printed = typed(monkeypatch, capsys, *run, 2, "--methods", "phi2")
    assert code == 0, printed
    (results,) = read_results(place / "my-run")
    assert (list(results.curves), results.facts["trials"]) == (["phi2", "scratch"], 2)
    code, printed = typed(monkeypatch, capsys, "report", "my-run")
    assert code == 0, printed
    page = (place / "my-run/report.html").read_text()
    assert "policymix run my_task.py --methods phi2 --trials 2" in page


def test_a_module_is_found_where_the_command_is_typed(place, monkeypatch, capsys):
    (place / "beside.py").write_text(TASK)
    code, printed = typed(monkeypatch, capsys, "check", "beside:task")
    sys.modules.pop("beside")
    assert code == 0, printed
    assert "0 unsound" in printed


@pytest.mark.parametrize(
    ("typing", "told"),
    [
        ("my_tsk.py", "there is no such file. Did you mean 'my_task.py'?"),
        ("my_task.py:tusk", "Did you mean 'task'?"),
        ("my_task.py:number", "defines a int, no transfer task"),
        ("nowhere:task", "there is no such module"),
        ("my_tasks", "there is no domain and no folder 'my_tasks'"),
    ],
)
def test_what_is_no_task_is_said_in_a_line(typing, told, place, monkeypatch, capsys):
    code, printed = typed(monkeypatch, capsys, "run", typing, "--out", "my-run")
    assert code != 0
    assert told in printed
    assert "Traceback" not in printed
    assert not (place / "my-run").exists()


def test_a_folder_that_is_not_a_comparison_is_refused(place, monkeypatch, capsys):
    code, printed = typed(monkeypatch, capsys, "run", "my_task.py", "--out", ".")
    assert code == 2
    assert "there is something in it already" in printed


def test_a_starting_point_runs_as_it_is(place, monkeypatch, capsys):
    code, printed = typed(monkeypatch, capsys, "new", "project")
    assert code == 0
    assert "policymix run project/my_task.py" in printed
    file = place / "project" / "my_task.py"
    assert file.read_bytes() == STARTING_POINT.read_bytes()
    few = ("--methods", "scratch", "--trials", 1, "--steps", 100)
    code, printed = typed(monkeypatch, capsys, "run", file, "--out", "my-run", *few)
    assert code == 0, printed
    assert "valley: return, 1 trial" in printed
    code, printed = typed(monkeypatch, capsys, "new", "project")
    assert code == 2
    assert "something in it already" in printed


def test_a_starting_point_has_a_target_and_two_sources_and_is_explained():
    text = STARTING_POINT.read_text()
    calls = [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Call)]
    names = [n.func.attr for n in calls if isinstance(n.func, ast.Attribute)]
    assert (names.count("SourceTask"), names.count("TransferTask")) == (2, 1)
    assert sum(line.startswith("#") for line in text.splitlines()) >= 5
    assert max(map(len, text.splitlines())) <= 88
