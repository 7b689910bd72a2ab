"""The examples are short, and they run."""

from pathlib import Path

import pytest

from support.reader import hurry, run_program

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
    run_program(EXAMPLES / f"{name}.py", [SAMPLES[name]], tmp_path, monkeypatch)
    assert last[name] in capsys.readouterr().out
