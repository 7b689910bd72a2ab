"""The command line: what it prints, its exit status, and what it leaves behind."""

import re
import shlex
import subprocess
import sys
from dataclasses import fields, replace
from pathlib import Path

import jax.numpy as jnp
import pytest

from policymix import __version__
from policymix.cli import arguments, bench, demo
from policymix.cli import main as cli
from policymix.cli.usage import explain
from policymix.core.errors import UsageError, did_you_mean
from policymix.environments.registry import DOMAINS
from policymix.methods.recipes import METHODS
from policymix.sources.dynamics import TableDynamics
from policymix.sources.experts import SourceTask
from policymix.sources.library import SourceLibrary
from policymix.training.task import load_task

from support.known import PAPER

COMMAND = str(Path(sys.executable).with_name("policymix"))
PAGES = [
    *([], ["--help"], ["sources"]),
    *([*words.split(), "--help"] for words in cli.COMMANDS),
]
EXAMPLE = re.compile(r"^ +(policymix [a-z].*)$", re.MULTILINE)


def run(monkeypatch, capsys, *arguments):
    monkeypatch.setattr(sys, "argv", ["policymix", *map(str, arguments)])
    with pytest.raises(SystemExit) as caught:
        cli.main()
    printed = capsys.readouterr()
    return caught.value.code or 0, printed.out + printed.err


def page(monkeypatch, capsys, *words, columns=80):
    monkeypatch.setenv("COLUMNS", str(columns))
    code, printed = run(monkeypatch, capsys, *words)
    assert code == 0
    return printed


def test_without_arguments_it_says_how_to_begin(monkeypatch, capsys):
    printed = page(monkeypatch, capsys)
    lines = printed.splitlines()
    assert "from several simulators" in lines[0]
    for words in cli.COMMANDS:
        assert sum(line.startswith(f"  {words}  ") for line in lines) == 1
    assert EXAMPLE.findall(printed)[0] == "policymix demo"
    assert len(EXAMPLE.findall(printed)) == 3
    assert "docs/" in printed
    assert "make docs" in printed
    assert len(lines) < 24
    assert max(map(len, lines)) < 80


def test_pages_and_complaints_load_nothing_heavy():
    heavy = ("jax", "scipy", "matplotlib", "equinox", "torch")
    code = f"""
import sys
from policymix.cli import main as cli
for typed in [], ["--help"], ["run", "--help"], ["run", "maez", "--out", "x"]:
    sys.argv = ["policymix", *typed]
    try:
        cli.main()
    except SystemExit:
        pass
print([name for name in {heavy} if name in sys.modules])
"""
    printed = subprocess.check_output([sys.executable, "-c", code], text=True)
    assert printed.splitlines()[-1] == "[]"


@pytest.mark.parametrize("words", cli.COMMANDS)
def test_help_of_a_command_tells_all_of_it(monkeypatch, capsys, words):
    command = cli.COMMANDS[words]
    printed = page(monkeypatch, capsys, *words.split(), "--help")
    everything = page(monkeypatch, capsys, "--help")
    assert f"usage: policymix {words} " in printed
    for field in (field.name for field in fields(command)):
        assert f"--{field} " in printed or field in ("place", "domain")
    said = " ".join(command.__doc__.split())
    assert said in " ".join(printed.split())
    assert said in " ".join(everything.split())
    assert EXAMPLE.findall(printed) == list(command.examples) != []
    assert page(monkeypatch, capsys, "help", *words.split()) == printed


@pytest.mark.parametrize("columns", [60, 80, 200])
@pytest.mark.parametrize("words", PAGES, ids=" ".join)
def test_every_printed_example_is_understood(monkeypatch, capsys, words, columns):
    examples = EXAMPLE.findall(page(monkeypatch, capsys, *words, columns=columns))
    examples = [line for line in examples if not re.search("  |COMMAND", line)]
    assert examples
    for example in examples:
        typed = shlex.split(example)[1:]
        name = cli.find_command(typed)
        tokens = typed[len(name.split()) :]
        assert isinstance(cli.parse(name, tokens), cli.COMMANDS[name])
        assert explain(cli.COMMANDS[name], tokens) is None


@pytest.mark.parametrize("words", PAGES, ids=" ".join)
def test_pages_fit_a_narrow_terminal_without_colours(monkeypatch, capsys, words):
    printed = page(monkeypatch, capsys, *words, columns=60)
    examples = EXAMPLE.findall(printed)
    for line in printed.splitlines():
        assert len(line) <= 60 or line.strip() in examples
    assert "\x1b" not in printed


@pytest.mark.parametrize(
    "words",
    ["", "run", "reproduce", "sources", "sources show", "sources train", "check"],
)
def test_help_names_every_domain(monkeypatch, capsys, words):
    printed = page(monkeypatch, capsys, *words.split(), "--help")
    assert set(DOMAINS) <= set(re.findall(r"[a-z]+(?:-[a-z]+)*", printed))


def test_help_says_what_all_is(monkeypatch, capsys):
    printed = page(monkeypatch, capsys, "reproduce", "--help", columns=200)
    assert "or all: the paper's maze, cartpole and lander" in printed
    assert set(PAPER) == {"maze", "cartpole", "lander"}


def test_names_that_are_checked_early_are_those_that_exist(monkeypatch, capsys):
    assert set(arguments.DOMAINS) == set(DOMAINS)
    assert {*METHODS, "phi1", "phi2", "phi3"} == set(arguments.METHODS)
    assert arguments.PARTS == bench.PARTS
    said = page(monkeypatch, capsys, "run", "--help")
    assert set(arguments.METHODS) - {"phi3"} <= set(re.findall(r"[\w-]+", said))
    said = page(monkeypatch, capsys, "bench", "--help", columns=200)
    assert ", ".join(bench.PARTS) in said


@pytest.mark.parametrize("option", ["--version", "-V"])
def test_version(monkeypatch, capsys, option):
    printed = page(monkeypatch, capsys, option)
    assert printed == f"policymix {__version__}\n"


def test_the_module_is_the_command():
    module = [sys.executable, "-m", "policymix"]
    printed = subprocess.check_output(module, text=True)
    assert printed == subprocess.check_output([COMMAND], text=True)


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ("reprduce", "no command 'reprduce'. Did you mean 'reproduce'?"),
        ("repro", "Did you mean 'reproduce'?"),
        ("RUN maze", "Did you mean 'run'?"),
        ("source show maze", "Did you mean 'sources show'?"),
        ("source train maze", "Did you mean 'sources train'?"),
        ("source", "Did you mean 'sources'?"),
        ("sources shw maze", "Did you mean 'sources show'?"),
        ("sources maze", "Did you mean 'sources show maze'?"),
        ("train maze", "Did you mean 'sources train'?"),
        ("cartpole", "Did you mean 'run cartpole'?"),
        ("version", "Did you mean '--version'?"),
        ("xyz", "Commands: demo, sources show"),
        ("--hlep", "Did you mean '--help'?"),
        ("--quick reproduce all", "Options follow the command"),
        (
            "run maze --trails 5 --out new",
            "no option '--trails'. Did you mean '--trials'?",
        ),
        ("run maze -o new", "Did you mean '--out'?"),
        ("demo --quick", "no option '--quick'. There are --out, --trials, --seed"),
        ("check maze --seed 1", "no option '--seed'. There are none"),
        ("run cartpol --out new", "'cartpol'. Did you mean 'cartpole'?"),
        ("run CARTPOLE --out new", "Did you mean 'cartpole'?"),
        ("run ./nowhere --out new", "no domain and no folder './nowhere'."),
        ("check maz", "Did you mean 'maze'?"),
        ("check uesd", "Did you mean 'used'?"),
        ("check used", "used holds no sources: there is no manifest.json in it"),
        ("sources show nowhere", "no domain and no folder 'nowhere'"),
        ("sources train cartpol --out new", "Did you mean 'cartpole'?"),
        ("sources train used --out new", "there is no domain 'used'."),
        ("reproduce maez --out new", "Did you mean 'maze'?"),
        ("reproduce al --out new", "Did you mean 'all'?"),
        ("report uesd", "no folder 'uesd'. Did you mean 'used'?"),
        ("report file", "file is a file, not a folder"),
        ("run maze --methods mrs --out new", "no method 'mrs'. Did you mean 'mars'?"),
        ("run maze --methods mars,phi1 --out new", "spaces: --methods mars phi1"),
        ("run maze --methods --out new", "--methods needs at least one name."),
        ("run maze --methods mars mars --out new", "names 'mars' twice"),
        ("run maze mars --out new", "Did you mean '--methods mars'?"),
        ("run maze cartpole --out new", "'cartpole' is a word too many."),
        ("run --methods mars maze --out new", "'maze' is meant, write it before --me"),
        ("bench --parts source", "no part 'source'. Did you mean 'sources'?"),
        ("bench sb3", "Did you mean '--parts sb3'?"),
        ("run maze --trials five --out new", "--trials is 'five': it must be a whole"),
        ("run maze --steps 1e3 --out new", "--steps is '1e3': it must be a whole"),
        ("bench --seconds x", "--seconds is 'x': it must be a number"),
        ("bench --trials 1 x", "--trials is 'x': it must be a whole number"),
        ("run maze --trials 0 --out new", "--trials is 0: it must be at least 1"),
        ("run maze --steps=-3 --out new", "--steps is -3: it must be at least 1"),
        ("demo --seed -1", "--seed is -1: it must be at least 0"),
        ("bench --trials 1 0", "--trials is 0: it must be at least 1"),
        ("run", "DOMAIN is missing: maze, "),
        ("run maze", "--out FOLDER is missing: where to write"),
        ("run maze", "For example: policymix run cartpole"),
        ("run maze new", "Did you mean '--out new'?"),
        ("run maze --out", "--out needs a value: --out FOLDER"),
        ("report", "FOLDER is missing: what run, reproduce or demo wrote"),
        ("run maze --out used", "--out used: this folder is in use."),
        ("sources train maze --out used", "--out used: this folder is in use."),
        ("demo --out file", "--out file: file is a file."),
        ("reproduce maze --out file/new", "is a file. Choose a folder"),
        ("bench --out file", "--out file: file is a file."),
    ],
)
def test_a_wrong_line_gets_a_short_answer(
    monkeypatch, capsys, tmp_path, typed, message
):
    monkeypatch.chdir(tmp_path)
    Path("file").touch()
    Path("used").mkdir()
    Path("used/something").touch()
    code, printed = run(monkeypatch, capsys, *shlex.split(typed))
    assert message in printed
    assert code == 2
    assert printed.startswith("policymix: ")
    assert printed.count("\n") <= 4
    assert sorted(path.name for path in tmp_path.rglob("*")) == [
        *("file", "something", "used")
    ]


def test_complaints_go_to_standard_error(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["policymix", "reprduce"])
    with pytest.raises(SystemExit):
        cli.main()
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "reproduce" in printed.err


def test_what_cannot_be_explained_is_said_by_the_parser(monkeypatch):
    monkeypatch.setattr(cli, "explain", lambda command, tokens: None)
    with pytest.raises(UsageError, match=r"not understood:\n(.|\n)*Missing value"):
        cli.parse("demo", ["--out"])


def test_a_folder_that_may_not_be_written_to_is_refused_at_once(
    monkeypatch, capsys, tmp_path
):
    monkeypatch.setattr("os.access", lambda *given: False)
    code, printed = run(monkeypatch, capsys, "demo", "--out", tmp_path / "new")
    assert code == 2
    assert f"you may not write in {tmp_path}" in printed


@pytest.mark.parametrize(
    ("error", "status", "message"),
    [
        (PermissionError(13, "Permission denied", "x"), 1, "Permission denied: 'x'"),
        (KeyboardInterrupt(), 130, "stopped; what was finished is kept"),
    ],
)
def test_what_goes_wrong_outside_is_said_in_a_line(
    monkeypatch, capsys, tmp_path, error, status, message
):
    def fail(self):
        raise error

    monkeypatch.setattr(arguments.Demo, "run", fail)
    code, printed = run(monkeypatch, capsys, "demo", "--out", tmp_path / "new")
    assert (code, printed.count("\n")) == (status, 1)
    assert message in printed


def test_a_reader_that_has_seen_enough_is_no_error():
    both = f"{shlex.quote(COMMAND)} --help | true"
    done = subprocess.run(["sh", "-c", both], capture_output=True, text=True)
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("name", "meant"),
    [("mrs", "mars"), ("MARS", "mars"), ("scr", "scratch"), ("", None), ("zzz", None)],
)
def test_guesses(name, meant):
    guess = did_you_mean(name, ("scratch", "mars", "mars-reward"))
    assert guess == (f" Did you mean {meant!r}?" if meant else "")


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


def test_training_the_maze_writes_the_shipped_library(monkeypatch, capsys, tmp_path):
    out = tmp_path / "lib"
    code, printed = run(monkeypatch, capsys, "sources", "train", "maze", "--out", out)
    assert code == 0
    assert SourceLibrary.load(out).names[0] == "upper-left"
    assert "library written to" in printed
    code, printed = run(monkeypatch, capsys, "sources", "train", "maze", "--out", out)
    assert code == 2
    assert "is in use" in printed


def test_a_missing_extra_is_named(monkeypatch, capsys, tmp_path):
    monkeypatch.setitem(sys.modules, "Box2D", None)
    monkeypatch.delitem(sys.modules, "policymix.domains.lander.physics", raising=False)
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


def test_a_source_that_the_task_does_not_have_is_named(monkeypatch, capsys, tmp_path):
    given = ("--methods", "phi9", "--out", tmp_path / "out")
    code, printed = run(monkeypatch, capsys, "run", "maze", *given)
    assert code == 1
    assert "there is no method 'phi9'" in printed
    assert not (tmp_path / "out").exists()
