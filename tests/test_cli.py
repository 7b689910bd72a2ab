"""The command line: what it prints, its exit status, and what it leaves behind."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import jax.numpy as jnp
import pytest

from policymix import cli, demo
from policymix.catalogue import load_task
from policymix.dynamics import TableDynamics
from policymix.experts import SourceTask
from policymix.settings import PAPER
from policymix.sources import SourceLibrary

COMMAND = str(Path(sys.executable).with_name("policymix"))


def run(monkeypatch, capsys, *arguments):
    monkeypatch.setattr(sys, "argv", ["policymix", *map(str, arguments)])
    with pytest.raises(SystemExit) as caught:
        cli.main()
    printed = capsys.readouterr()
    code = caught.value.code
    if isinstance(code, str):
        return 1, printed.out + code
    return code or 0, printed.out + printed.err


def test_help_lists_the_commands():
    printed = subprocess.check_output([COMMAND, "--help"], text=True)
    assert all(
        word in printed for word in ("demo", "sources", "run", "reproduce", "report")
    )
    assert subprocess.check_output([COMMAND], text=True) == printed


def test_show_prints_scores_and_the_command(monkeypatch, capsys):
    code, printed = run(monkeypatch, capsys, "sources", "show", "maze")
    assert code == 0
    assert "upper-left" in printed
    assert "policymix sources train maze --seed 0" in printed


def test_check_answers_by_its_exit_status(monkeypatch, capsys, tmp_path):
    code, printed = run(monkeypatch, capsys, "check", "maze")
    assert code == 0
    assert "0 unsound" in printed
    task = load_task("maze")
    first, *others = task.sources.sources
    cells = jnp.tile(jnp.arange(841)[:, None], (1, 4))
    still = SourceTask(first.name, first.policy, TableDynamics(cells), first.kernel)
    unsound = SourceLibrary([still, *others], task.sources.spec, task.sources.encoder)
    unsound.save(tmp_path / "lib", task.facts)
    code, printed = run(monkeypatch, capsys, "check", tmp_path / "lib")
    assert code == 1
    assert "upper-left: dynamics better than 'nothing changes'" in printed
    assert "remedy: Fit the model longer" in printed
    assert "1 unsound" in printed


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("reproduce", "maez", "--out", "OUT"), "Did you mean 'maze'"),
        (("report", "OUT"), "holds no run"),
        (("check", "maz"), "Did you mean 'maze'"),
        (("sources", "show", "nowhere"), "there is no domain 'nowhere'"),
        (("sources", "train", "cartpol", "--out", "OUT"), "Did you mean 'cartpole'"),
    ],
)
def test_bad_names_get_an_answer_and_nothing_is_written(
    monkeypatch, capsys, tmp_path, arguments, message
):
    arguments = [str(tmp_path / "out") if a == "OUT" else a for a in arguments]
    code, printed = run(monkeypatch, capsys, *arguments)
    assert code == 1
    assert message in printed
    assert list(tmp_path.iterdir()) == []


def test_training_the_maze_writes_the_shipped_library(monkeypatch, capsys, tmp_path):
    out = tmp_path / "lib"
    code, printed = run(monkeypatch, capsys, "sources", "train", "maze", "--out", out)
    assert code == 0
    assert SourceLibrary.load(out).names[0] == "upper-left"
    assert "library written to" in printed
    code, printed = run(monkeypatch, capsys, "sources", "train", "maze", "--out", out)
    assert code == 1
    assert "exists already" in printed


def test_a_missing_extra_is_named(monkeypatch, capsys, tmp_path):
    monkeypatch.setitem(sys.modules, "Box2D", None)
    monkeypatch.delitem(sys.modules, "policymix.domains.lander_physics", raising=False)
    monkeypatch.delitem(sys.modules, "gymnasium.envs.box2d.lunar_lander", raising=False)
    monkeypatch.delitem(sys.modules, "gymnasium.envs.box2d", raising=False)
    out = tmp_path / "lib"
    code, printed = run(monkeypatch, capsys, "sources", "train", "lander", "--out", out)
    assert code == 1
    assert "policymix[box2d]" in printed
    assert not out.exists()


def test_demo_compares_prints_and_reports(monkeypatch, capsys, tmp_path):
    few = replace(PAPER["cartpole"], steps=2_000)
    monkeypatch.setattr(demo, "settings_of", lambda task: few)
    arguments = ("demo", "--out", tmp_path / "demo", "--trials", 2)
    code, printed = run(monkeypatch, capsys, *arguments)
    assert code == 0
    for method in ("mars", "mapse", "phi1", "scratch"):
        assert (tmp_path / "demo" / "cartpole" / method / "run.json").exists()
        assert method in printed
    assert "After 2,000 samples the most trusted source is the right one" in printed
    assert str(tmp_path / "demo" / "report.html") in printed.replace("\n", "")
    code, printed = run(monkeypatch, capsys, *arguments)
    assert "4 of 4 parts" in printed


def test_run_prints_a_summary_and_where_the_rows_are(monkeypatch, capsys, tmp_path):
    out = tmp_path / "out"
    given = ("--methods", "scratch", "--trials", 2, "--steps", 300, "--out", out)
    code, printed = run(monkeypatch, capsys, "run", "maze", *given)
    assert code == 0
    assert "300.0 ± 0.0" in printed
    assert len((out / "evaluations.csv").read_text().splitlines()) == 1 + 2 * 2


def test_run_suggests_the_method_that_was_meant(monkeypatch, capsys, tmp_path):
    given = ("--methods", "scratsh", "--out", tmp_path / "out")
    code, printed = run(monkeypatch, capsys, "run", "maze", *given)
    assert code == 1
    assert "Did you mean 'scratch'" in printed
    assert not (tmp_path / "out").exists()


def test_bench_suggests_the_part_that_was_meant(monkeypatch, capsys):
    code, printed = run(monkeypatch, capsys, "bench", "--parts", "source")
    assert code == 1
    assert "Did you mean 'sources'" in printed
