"""The command line: what it prints, its exit status, and what it leaves behind."""

import inspect
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from dataclasses import fields, replace
from operator import attrgetter
from pathlib import Path
from typing import get_args

import jax.numpy as jnp
import pytest

from policymix import __version__
from policymix.cli import bench, values
from policymix.cli import main as cli
from policymix.cli.commands import EXAMPLES, app
from policymix.cli.where import Where
from policymix.core.errors import did_you_mean
from policymix.environments import registry
from policymix.environments.registry import DEMO
from policymix.methods.names import BUILT_IN
from policymix.methods.recipes import METHODS
from policymix.sources.dynamics import TableDynamics
from policymix.sources.experts import SourceTask
from policymix.sources.library import SourceLibrary
from policymix.training.task import load_task

from support.command_line import typed as run
from support.drafts import draw_drafts

COMMAND = str(Path(sys.executable).with_name("policymix"))
PAGES = [
    *([], ["--help"], ["sources"]),
    *([*words.split(), "--help"] for words in EXAMPLES),
]
EXAMPLE = re.compile(r"^ +(policymix [a-z].*?) *$", re.MULTILINE)


def page(monkeypatch, capsys, *words, columns=80):
    monkeypatch.setenv("COLUMNS", str(columns))
    for each in (app, app.meta):  # they keep the width that they saw first
        monkeypatch.setattr(each, "_fallback_console", None)
    code, printed = run(monkeypatch, capsys, *words)
    assert code == 0
    return printed


def sentence(printed):
    """Without frames and line breaks."""
    return " ".join(re.sub("[│╭╮╰╯─]", " ", printed).split())


def test_without_arguments_it_says_how_to_begin(monkeypatch, capsys):
    printed = page(monkeypatch, capsys)
    assert "from several simulators" in printed.split("╭")[0]
    for words in EXAMPLES:
        assert len(re.findall(rf"^│ {words.split()[0]}  ", printed, re.M)) == 1
    assert EXAMPLE.findall(printed)[0] == "policymix demo"
    assert len(EXAMPLE.findall(printed)) == 3
    assert "docs/" in printed
    assert "make docs" in printed
    assert len(printed.splitlines()) <= 40
    assert printed == page(monkeypatch, capsys, "--help")


def test_pages_and_complaints_load_nothing_heavy():
    heavy = ("jax", "scipy", "matplotlib", "equinox", "torch")
    code = f"""
import sys
import time
from policymix.cli import main as cli
for typed in [], ["--help"], ["run", "--help"], ["run", "maez", "--out", "x"], [
    "run", "maze", "--methods", "mrs", "--out", "x"
]:
    sys.argv = ["policymix", *typed]
    try:
        cli.main()
    except SystemExit:
        pass
print([name for name in {heavy} if name in sys.modules])
"""
    printed = subprocess.check_output([sys.executable, "-c", code], text=True)
    assert printed.splitlines()[-1] == "[]"


def test_help_of_a_command_tells_all_of_it(monkeypatch, capsys):
    for words, examples in EXAMPLES.items():
        printed = page(monkeypatch, capsys, *words.split(), "--help")
        said, command = sentence(printed), app[words.split()[0]]
        for word in words.split()[1:]:
            command = command[word]
        assert f"Usage: policymix {words} " in printed
        function = command.default_command
        assert function is not None
        names = list(inspect.signature(function).parameters)
        description, _, options = str(inspect.getdoc(function)).partition("Args:")
        if "where" in names:  # one name in the code, several options
            names = [
                *(name for name in names if name != "where"),
                *map(attrgetter("name"), fields(Where)),
            ]
            options = options.replace("where: Who does the work.", "")
            options += str(inspect.getdoc(Where)).partition("Args:")[2]
        for name in names:
            shown = name.upper() if name in ("domain", "folder") else f"--{name}"
            assert f" {shown} " in said, f"{words}: {name}"
        for text in [description, *re.findall(r": (.+)", options)]:
            plain = " ".join(text.replace("`", "").split())
            assert plain in said or "methods" in plain, f"{words}: {plain}"
        assert EXAMPLE.findall(printed) == list(examples) != []
        assert max(map(len, examples)) <= 58, f"{words}: too long for 60 columns"
        assert "--load FILE" in printed
        assert page(monkeypatch, capsys, "help", *words.split()) == printed


def test_every_printed_example_is_understood(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    Path("my-run").mkdir()
    Path("my-sources").mkdir()
    Path("my-sources/manifest.json").touch()
    monkeypatch.setattr("policymix.cli.rules.method_names", lambda: (*BUILT_IN, "my"))
    for words in PAGES:
        for columns in (60, 80, 200):
            printed = page(monkeypatch, capsys, *words, columns=columns)
            examples = EXAMPLE.findall(printed)
            assert examples
            for example in examples:
                line = example.replace("--load my.py", "")
                typed = shlex.split(line.replace("--out my-sources", "--out new"))[1:]
                command, *_ = app.parse_args(typed, exit_on_error=False)
                name = command.__name__.removeprefix("do_")
                assert name == typed[typed[0] == "sources"], example


def test_pages_fit_a_narrow_terminal_without_colours(monkeypatch, capsys):
    for words in PAGES:
        printed = page(monkeypatch, capsys, *words, columns=60)
        assert max(map(len, printed.splitlines())) <= 60
        assert "\x1b" not in printed


def test_help_names_every_domain_and_group(monkeypatch, capsys):
    every = ["run", "reproduce", "sources", "sources show", "sources train", "check"]
    for words in ["", *every]:
        printed = page(monkeypatch, capsys, *words.split(), "--help")
        named = set(re.findall(r"[a-z]+(?:-[a-z0-9]+)*", printed))
        many = ("advice", "acrobot", "likelihood")
        advice, machines, parts = (set(registry.GROUPS[g]) for g in many)
        rest = set(registry.domain_names()) - advice - machines - parts
        assert rest <= named, words
        assert advice & named, words
        assert machines & named, words
    printed = sentence(page(monkeypatch, capsys, "reproduce", "--help", columns=200))
    for group, domains in registry.GROUPS.items():
        assert f"{group}: {', '.join(domains)}" in printed


def test_names_that_are_checked_early_are_those_that_exist(monkeypatch, capsys):
    assert set(BUILT_IN) == set(METHODS)
    assert set(get_args(values.Part)) == set(bench.USUAL)
    said = page(monkeypatch, capsys, "run", "--help")
    assert {*BUILT_IN, "phi1", "phi2"} <= set(re.findall(r"[\w-]+", said))
    said = page(monkeypatch, capsys, "bench", "--help", columns=200)
    assert ", ".join(bench.USUAL) in said


def test_version(monkeypatch, capsys):
    for option in ("--version", "-V"):
        assert page(monkeypatch, capsys, option) == f"policymix {__version__}\n"


def test_the_module_is_the_command():
    module = [sys.executable, "-m", "policymix"]
    printed = subprocess.check_output(module, text=True)
    assert printed == subprocess.check_output([COMMAND], text=True)


WRONG = [
    ("reprduce", 'Unknown command "reprduce". Did you mean "reproduce"?'),
    ("RUN maze", 'Unknown command "RUN". Available commands: '),
    ("source show maze", 'Did you mean "sources"?'),
    ("source", 'Did you mean "sources"?'),
    ("sources shw maze", 'Did you mean "show"?'),
    ("sources maze", 'Did you mean "show"?'),
    ("train maze", 'Did you mean "sources"?'),
    ("cartpole", 'Did you mean "run"?'),
    ("xyz", "commands: sources, demo, run, reproduce, new, report, check, bench"),
    ("xyz", "More: policymix --help"),
    ("--hlep", "Did you mean '--help'?"),
    ("--quick reproduce all", "there is no option --quick without a command"),
    ("run maze --trails 5 --out new", "option: --trails. Did you mean --trials?"),
    ("run maze -o new", "--out FOLDER is missing"),
    ("demo --quick", "Unknown option: --quick.\nMore: policymix demo --help"),
    ("check maze --seed 1", "Unknown option: --seed."),
    ("run cartpol --out new", "'cartpol'. Did you mean 'cartpole'?"),
    ("run CARTPOLE --out new", "Did you mean 'cartpole'?"),
    ("run ./nowhere --out new", "no domain and no folder './nowhere'."),
    ("check maz", "Did you mean 'maze'?"),
    ("check uesd", "Did you mean 'used'?"),
    ("check used", "used: it holds no sources: there is no manifest.json in it"),
    ("sources show nowhere", "no domain and no folder 'nowhere'"),
    ("sources train cartpol --out new", "Did you mean 'cartpole'?"),
    ("sources train used --out new", "there is no domain 'used'."),
    ("reproduce maez --out new", "Did you mean 'maze'?"),
    ("reproduce al --out new", "Did you mean 'all'?"),
    ("report uesd", "FOLDER uesd: there is no such folder. Did you mean 'used'?"),
    ("report file", "FOLDER file: it is a file, not a folder"),
    ("run maze --methods mrs --out new", "no method 'mrs'. Did you mean 'mars'?"),
    ("run maze --methods mars,phi1 --out new", "spaces: --methods mars phi1"),
    ("run maze --methods --out new", "--methods METHOD... is missing: mars, mars-exp"),
    ("run maze --methods mars mars --out new", "'mars' is named twice"),
    ("run maze --methods phi0 --out new", "there is no method 'phi0'"),
    (
        "run maze mars --out new",
        "'mars' is a word too many.\nFor example: policy",
    ),
    ("run maze cartpole --out new", "'cartpole' is a word too many."),
    ("run --methods mars maze --out new", "DOMAIN is missing: Its name"),
    ("new", "policymix: FOLDER is missing: Where"),
    ("bench --parts source", 'value "source" for --parts. Choose from: "speed", "sour'),
    ("bench --parts source", 'Did you mean "sources"?'),
    ("bench --parts", "--parts PART... is missing: What to measure."),
    ("bench speed", "'speed' is a word too many."),
    ("run maze --trials five --out new", "--trials five: this must be a whole number"),
    ("run maze --steps 1e3 --out new", "--steps 1e3: this must be a whole number"),
    ("bench --seconds x", "--seconds x: this must be a number"),
    ("bench --seconds 0", "--seconds 0: Must be > 0"),
    ("bench --seconds inf", "--seconds inf: Must be < inf"),
    ("bench --trials 1 x", "--trials x: this must be a whole number"),
    ("run maze --trials 0 --out new", "--trials 0: Must be >= 1"),
    ("run maze --steps=-3 --out new", "--steps -3: Must be >= 1"),
    ("demo --seed -1", "--seed -1: Must be >= 0"),
    ("bench --trials 1 0", "--trials 1 0: Must be >= 1"),
    ("bench --domain pendulu", "--domain pendulu: there is no domain 'pendulu'. Did"),
    ("bench --methods mars mars", "'mars' is named twice"),
    ("run", "DOMAIN is missing: Its name, a folder"),
    ("run maze", "--out FOLDER is missing: Where to write"),
    ("run maze", "For example: policymix run cartpole"),
    ("run maze new", "--out FOLDER is missing"),
    ("run maze --out", "--out FOLDER is missing"),
    ("run maze --out a --out b", "--out specified multiple times"),
    ("report", "FOLDER is missing: What run, reproduce or demo wrote"),
    ("run maze --out used", "--out used: there is something in it already."),
    ("sources train maze --out used", "--out used: there is something in it already."),
    ("demo --out file", "--out file: file is a file."),
    ("reproduce maze --out file/new", "is a file. Choose a folder"),
    ("bench --out file", "--out file: file is a file."),
    ("run maze --load fil.py --out new", "--load fil.py: there is no such file."),
    ("run maze --load file", "--load file: there is no such module. Give the file"),
    ("run maze --load", "--load FILE is missing: Your own Python file or module"),
]


def test_a_wrong_line_gets_a_short_answer(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    Path("file").touch()
    Path("used").mkdir()
    Path("used/something").touch()
    bad = []
    for typed, message in WRONG:
        code, printed = run(monkeypatch, capsys, *shlex.split(typed))
        short = printed.startswith("policymix: ") and printed.count("\n") <= 4
        if not (message in printed and code == 2 and short):
            bad.append(
                f"{typed}\n  wanted {message!r}, status 2; got {code}\n{printed}"
            )
    assert not bad, "\n".join(bad)
    left = sorted(path.name for path in tmp_path.rglob("*"))
    assert left == ["file", "something", "used"]


def test_complaints_go_to_standard_error(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["policymix", "reprduce"])
    with pytest.raises(SystemExit):
        cli.main()
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "reproduce" in printed.err


def test_a_folder_that_may_not_be_written_to_is_refused_at_once(
    monkeypatch, capsys, tmp_path
):
    monkeypatch.setattr("os.access", lambda *given: False)
    code, printed = run(monkeypatch, capsys, "demo", "--out", tmp_path / "new")
    assert code == 2
    assert f"you may not write in {tmp_path}" in printed


def test_what_goes_wrong_outside_is_said_in_a_line(monkeypatch, capsys, tmp_path):
    for error, status, message in (
        (PermissionError(13, "Permission denied", "x"), 1, "Permission denied: 'x'"),
        (KeyboardInterrupt(), 130, "stopped; what was finished is kept"),
    ):

        def fail(*_, error=error):
            raise error

        monkeypatch.setattr("policymix.cli.demo.demo", fail)
        code, printed = run(monkeypatch, capsys, "demo", "--out", tmp_path / "new")
        assert (code, printed.count("\n")) == (status, 1)
        assert message in printed


def test_an_end_that_another_program_asks_for_is_an_interrupt(
    monkeypatch, capsys, tmp_path
):
    usual = signal.getsignal(signal.SIGTERM)

    def ended(*_):
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(5)

    monkeypatch.setattr("policymix.cli.demo.demo", ended)
    code, printed = run(monkeypatch, capsys, "demo", "--out", tmp_path / "new")
    assert code == 128 + signal.SIGTERM
    assert "stopped; what was finished is kept" in printed
    assert signal.getsignal(signal.SIGTERM) is usual


def test_a_reader_that_has_seen_enough_is_no_error():
    both = f"{shlex.quote(COMMAND)} --help | true"
    done = subprocess.run(["sh", "-c", both], capture_output=True, text=True)
    assert done.stderr == ""


def test_guesses():
    for name, meant in {
        **{"mrs": "mars", "MARS": "mars", "scr": "scratch"},
        **{"": None, "zzz": None},
    }.items():
        guess = did_you_mean(name, ("scratch", "mars", "mars-reward"))
        assert guess == (f" Did you mean {meant!r}?" if meant else ""), name


def test_show_prints_scores_and_the_command(monkeypatch, capsys):
    code, printed = run(monkeypatch, capsys, "sources", "show", "maze")
    assert code == 0
    assert "upper-left" in printed
    assert "policymix sources train maze --seed 0" in printed


@pytest.mark.learning
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


@pytest.mark.learning
def test_training_the_maze_writes_the_shipped_library(monkeypatch, capsys, tmp_path):
    out = tmp_path / "lib [red]"
    code, printed = run(monkeypatch, capsys, "sources", "train", "maze", "--out", out)
    assert code == 0
    assert SourceLibrary.load(out).names[0] == "upper-left"
    assert f"library written to {out}" in printed
    code, printed = run(monkeypatch, capsys, "sources", "train", "maze", "--out", out)
    assert code == 2
    assert "something in it already" in printed


def test_a_missing_extra_is_named(monkeypatch, capsys, tmp_path):
    monkeypatch.setitem(sys.modules, "Box2D", None)
    monkeypatch.delitem(sys.modules, "policymix.domains.lander.physics", raising=False)
    monkeypatch.delitem(sys.modules, "gymnasium.envs.box2d.lunar_lander", raising=False)
    monkeypatch.delitem(sys.modules, "gymnasium.envs.box2d", raising=False)
    out = tmp_path / "lib"
    train = ("sources", "train", "lander", "--out", out)
    for typed in (train, ("bench", "--parts", "speed")):
        code, printed = run(monkeypatch, capsys, *typed)
        assert code == 1
        assert "policymix[box2d]" in printed
    assert not out.exists()


def test_bench_measures_the_methods_of_a_domain_with_as_many_trials(
    monkeypatch, capsys
):
    monkeypatch.setattr(bench, "our_chunks", lambda *_: lambda: 1)
    line = "--parts gpu-scale --domain pendulum --methods scratch mars --seconds 0.001"
    given = (*line.split(), "--trials", 512, 4096)
    code, printed = run(monkeypatch, capsys, "bench", *given)
    assert code == 0
    assert "Many trials: pendulum" in printed
    rows = [
        line.split()[:3]
        for line in printed.splitlines()
        if " mars " in line or " scratch " in line
    ]
    assert rows == [
        ["pendulum", method, count]
        for method in ("scratch", "mars")
        for count in ("512", "4,096")
    ]


@pytest.mark.learning
def test_demo_compares_prints_and_reports(monkeypatch, capsys, tmp_path):
    domain = registry.find_domain(DEMO)
    few = replace(
        domain,
        settings=replace(domain.settings, steps=500),
        study=replace(domain.study, methods=("mars", "phi2", "vote")),
    )
    monkeypatch.setitem(registry.DOMAINS, DEMO, few)
    draw_drafts(monkeypatch)
    arguments = ("demo", "--out", tmp_path / "demo", "--trials", 2)
    code, printed = run(monkeypatch, capsys, *arguments)
    assert code == 0
    for method in ("mars", "phi2", "vote"):
        assert (tmp_path / "demo" / DEMO / method / "run.json").exists()
        assert method in printed
    assert f"{domain.title}: {domain.measure}" in printed
    assert "lower-left" in printed, "the second source, by name"
    assert "After 500 samples the most trusted source is the right one" in printed
    assert str(tmp_path / "demo" / "report.html") in printed.replace("\n", "")
    page = (tmp_path / "demo" / "report.html").read_text("utf-8")
    assert domain.study.about in page
    assert "one source alone: lower-left" in page
    code, printed = run(monkeypatch, capsys, *arguments)
    assert "3 of 3 parts" in printed


def test_run_prints_a_summary_and_where_the_rows_are(monkeypatch, capsys, tmp_path):
    out = tmp_path / "out [red]"
    given = ("--methods", "scratch", "--trials", 2, "--steps", 300, "--out", out)
    code, printed = run(monkeypatch, capsys, "run", "maze", *given)
    assert code == 0
    assert printed.count("300.0 ± 0.0") == 3, "over the run, at its end and alone"
    assert "alone at the end" in printed
    assert str(out / "evaluations.csv") in printed
    assert len((out / "evaluations.csv").read_text().splitlines()) == 1 + 2 * 2


def test_a_source_that_the_task_does_not_have_is_named(monkeypatch, capsys, tmp_path):
    given = ("--methods", "phi9", "--out", tmp_path / "out")
    code, printed = run(monkeypatch, capsys, "run", "maze", *given)
    assert code == 1
    assert "there is no method 'phi9'" in printed
    assert not (tmp_path / "out").exists()
