"""One command for an experiment: it goes on where it stopped, and reports."""

import csv
import io
import json
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from policymix.cli import main as cli
from policymix.core.errors import FileFormatError, PolicymixError
from policymix.core.progress import silent
from policymix.core.terminal import Terminal
from policymix.experiments.reproduce import NOTE, command_of, keep_note, run_all
from policymix.experiments.runner import run_methods as run
from policymix.reports.report import make_report
from policymix.storage.runs import FACTS, ROWS, find_runs, read_run

from support.drafts import draw_drafts
from support.probes import MIXED
from support.small import SETTINGS, SMALL

pytestmark = pytest.mark.learning

ASKED = {"seed": 5, "quick": True, "command": "policymix reproduce all --out it"}


def everything(out):
    """Every file below a folder with its bytes and its time."""
    files = (path for path in out.rglob("*") if path.is_file())
    return {
        path.relative_to(out).as_posix(): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in files
    }


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """A folder with a note and all its pieces, without a report."""
    out = tmp_path_factory.mktemp("done") / "results"
    keep_note(out, ASKED)
    run_all([SMALL], out, Terminal(quiet=True))
    return out


@pytest.fixture
def out(done, tmp_path):
    """A copy to change."""
    return shutil.copytree(done, tmp_path / "results [old]")


@pytest.fixture
def drafts(monkeypatch):
    draw_drafts(monkeypatch)


def command(monkeypatch, capsys, *arguments):
    monkeypatch.setattr(sys, "argv", ["policymix", *map(str, arguments)])
    with pytest.raises(SystemExit) as caught:
        cli.main()
    printed = capsys.readouterr()
    return caught.value.code, printed.out + printed.err


def test_a_note_is_kept_and_its_folder_taken_again(tmp_path):
    keep_note(tmp_path / "new", ASKED)
    before = everything(tmp_path)
    assert json.loads((tmp_path / "new" / NOTE).read_text()).items() >= ASKED.items()
    keep_note(tmp_path / "new", ASKED)
    (tmp_path / "new" / "maze").mkdir()
    keep_note(tmp_path / "new", ASKED | {"command": "another"})
    assert everything(tmp_path) == before
    assert command_of(tmp_path / "new") == ASKED["command"]


@pytest.mark.parametrize(("name", "value"), [("seed", 6), ("quick", False)])
def test_a_folder_for_other_numbers_is_refused(tmp_path, name, value):
    keep_note(tmp_path, ASKED)
    before = everything(tmp_path)
    with pytest.raises(FileFormatError) as caught:
        keep_note(tmp_path, ASKED | {name: value})
    assert caught.value.path == str(tmp_path / NOTE)
    assert caught.value.field == name
    assert f"{ASKED[name]!r}, but {value!r} was asked for" in str(caught.value)
    assert everything(tmp_path) == before


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"seed": "5", "quick": true}'])
def test_a_note_that_says_something_else_is_refused(tmp_path, text):
    (tmp_path / NOTE).write_text(text)
    with pytest.raises(FileFormatError) as caught:
        keep_note(tmp_path, ASKED)
    assert caught.value.path == str(tmp_path / NOTE)
    assert (tmp_path / NOTE).read_text() == text


def test_a_foreign_folder_is_refused(tmp_path):
    (tmp_path / "mine").write_text("precious")
    with pytest.raises(PolicymixError, match="exists already"):
        keep_note(tmp_path, ASKED)
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_a_kill_while_the_note_was_written_does_not_block_the_folder(tmp_path):
    (tmp_path / f".{NOTE}.new").write_text("{")
    keep_note(tmp_path, ASKED)
    assert command_of(tmp_path) == ASKED["command"]


def test_what_is_there_is_told_and_kept(done, out):
    before = everything(out)
    run_all([SMALL], out, Terminal(quiet=True))
    assert everything(out) == before
    shutil.rmtree(out / "probe" / "scratch")
    told = io.StringIO()
    run_all([SMALL], out, Terminal(file=told, width=200))
    assert f"2 of 3 parts are in {out} already and are kept" in told.getvalue()
    assert "probe scratch" in told.getvalue()
    assert "probe mars" not in told.getvalue()
    scratch = Path("probe", "scratch", ROWS)
    assert (out / scratch).read_bytes() == (done / scratch).read_bytes()


class Impatient(Terminal):
    """Somebody who presses Ctrl-C when the first part is finished."""

    def print(self, *objects, **options):
        super().print(*objects, **options)
        if str(objects[0]).startswith("probe scratch"):
            raise KeyboardInterrupt


def test_an_interrupt_tells_how_to_go_on(out):
    shutil.rmtree(out / "probe")
    told = io.StringIO()
    with pytest.raises(KeyboardInterrupt):
        run_all([SMALL], out, Impatient(file=told, width=200))
    assert "The same command goes on after the last finished part." in told.getvalue()
    assert [path.name for path in (out / "probe").iterdir()] == ["scratch"]


def test_a_report_has_a_page_a_table_and_figures_and_is_made_again_alike(out):
    rows = everything(out)
    told = io.StringIO()
    page = make_report(out, Terminal(file=told))
    assert page == out / "report.html"
    assert told.getvalue().endswith(f"report: {page}\n")
    text = page.read_text("utf-8")
    assert ASKED["command"] in text
    assert "only 2 trials of 200 samples" in text
    with (out / "summary.csv").open(newline="") as file:
        table = list(csv.DictReader(file))
    keys = [(row["domain"], row["method"], row["trials"]) for row in table]
    assert sorted(keys) == [("probe", "mars", "2"), ("probe", "scratch", "2")]
    for row in table:
        scores = read_run(out / "probe" / row["method"]).curves[row["method"]].scores
        start, middle, end = scores.mean(axis=1)
        area = (start + 2 * middle + end) / 4
        assert float(row["area_mean"]) == pytest.approx(area, rel=1e-5)
    drawn = {path.name: path.read_bytes() for path in (out / "figures").iterdir()}
    parts = ("curves", "summary", "sweeps")
    kinds = {"png": b"\x89PNG", "pdf": b"%PDF"}
    assert set(drawn) == {f"probe-{p}.{kind}" for p in parts for kind in kinds}
    for name, content in drawn.items():
        assert content.startswith(kinds[name[-3:]])
    assert rows.items() <= everything(out).items()
    written = table_of(out)
    again = make_report(out, Terminal(quiet=True)).read_text("utf-8")
    assert timeless(again) == timeless(text)
    assert table_of(out) == written
    assert {p.name: p.read_bytes() for p in (out / "figures").iterdir()} == drawn


def timeless(page):
    return re.sub(r"\d+-\d+-\d+ \d+:\d+ UTC", "", page)


def table_of(out):
    return (out / "summary.csv").read_bytes()


@pytest.mark.usefixtures("drafts")
def test_what_a_killed_process_left_is_not_reported(out):
    make_report(out, Terminal(quiet=True))
    table = table_of(out)
    shutil.copytree(out / "probe" / "mars", out / "probe" / ".mars.k2j4x8")
    cut = out / "probe" / ".ucb.a9b8c7"
    cut.mkdir()
    (cut / FACTS).write_text("{")
    run_all([SMALL], out, Terminal(quiet=True))
    make_report(out, Terminal(quiet=True))
    assert table_of(out) == table


@pytest.mark.usefixtures("drafts")
def test_part_of_an_experiment_can_be_reported(out):
    shutil.rmtree(out / "probe" / "scratch")
    shutil.rmtree(out / "probe" / "scratch-reuse-0.5")
    make_report(out, Terminal(quiet=True))
    assert table_of(out).count(b"probe,mars,2") == 1
    alone = out / "probe" / "mars"
    make_report(alone, Terminal(quiet=True))
    assert table_of(alone) == table_of(out)


def test_a_value_of_a_sweep_alone_is_not_reported(done, tmp_path):
    shutil.copytree(done / "probe" / "scratch-reuse-0.5", tmp_path / "swept")
    with pytest.raises(PolicymixError, match="swept"):
        make_report(tmp_path / "swept", Terminal(quiet=True))


def test_a_run_that_was_stopped_before_its_first_test_is_not_reported(tmp_path):
    def begin(name, steps, figure):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(MIXED, ["scratch"], SETTINGS, 0, 2, tmp_path / "early", begin)
    assert read_run(tmp_path / "early").curves == {}
    with pytest.raises(PolicymixError, match="early"):
        make_report(tmp_path / "early", Terminal(quiet=True))


@pytest.mark.usefixtures("drafts")
def test_a_run_that_was_interrupted_is_reported_as_such(tmp_path):
    def begin(name, steps, figure):
        def advance(taken, value):
            if taken > 0:
                raise KeyboardInterrupt

        return advance

    with pytest.raises(KeyboardInterrupt):
        run(MIXED, ["scratch"], SETTINGS, 0, 2, tmp_path / "half", begin)
    page = make_report(tmp_path / "half", Terminal(quiet=True)).read_text("utf-8")
    assert f"{tmp_path / 'half'} is not finished." in page


def test_an_empty_folder_holds_no_run(monkeypatch, capsys, tmp_path):
    code, printed = command(monkeypatch, capsys, "report", tmp_path)
    assert code == 1
    assert f"policymix: {tmp_path} holds no run" in printed
    assert list(tmp_path.iterdir()) == []


def test_a_folder_tells_how_it_was_made(tmp_path, monkeypatch):
    run(MIXED, ["scratch"], SETTINGS, 5, 2, tmp_path / "mine", silent)
    words = command_of(tmp_path / "mine").split()
    assert words[:3] == ["policymix", "run", "probe"]
    options = dict(zip(words[3::2], words[4::2], strict=True))
    numbers = {"--trials": "2", "--seed": "5", "--steps": "200"}
    assert options == {"--methods": "scratch", "--out": "mine"} | numbers
    assert command_of(tmp_path) == f"policymix report {tmp_path.name}"
    monkeypatch.chdir(tmp_path)
    assert command_of(Path()) == f"policymix report {tmp_path.name}"


@pytest.mark.parametrize("name", ["maz", "everything"])
def test_reproduce_refuses_what_is_no_domain(monkeypatch, capsys, tmp_path, name):
    out = tmp_path / "x"
    code, printed = command(monkeypatch, capsys, "reproduce", name, "--out", out)
    assert code == 2
    assert f"there is no domain {name!r}" in printed
    assert list(tmp_path.iterdir()) == []


SCRIPT = """
import sys
from pathlib import Path
from policymix.core.terminal import Terminal
from support.small import SMALL
from policymix.experiments.reproduce import run_all
run_all([SMALL], Path(sys.argv[1]), Terminal(width=200))
"""


def start(out):
    """The experiment in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(out)],
        cwd=Path(__file__).parents[1],
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.mark.usefixtures("drafts")
def test_a_killed_process_loses_and_repeats_nothing(done, tmp_path):
    out = tmp_path / "results"
    first = out / "probe" / "scratch"
    with start(out) as process:
        while not first.exists() and process.poll() is None:
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    assert [path for path in find_runs(out) if path.name[0] != "."] == [first]
    before = everything(first)
    with start(out) as process:
        told = process.communicate()[0]
    assert process.returncode == 0
    assert "1 of 3 parts are in" in told
    assert everything(first) == before
    for piece in SMALL.parts:
        again, once = (place / "probe" / piece.name / ROWS for place in (out, done))
        assert again.read_bytes() == once.read_bytes()
    make_report(out, Terminal(quiet=True))
    assert table_of(out).count(b"\n") == 3
