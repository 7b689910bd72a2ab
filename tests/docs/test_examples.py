"""The examples are short, and they run."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
SAMPLES = {
    "own_environment": "400",
    "sb3_models": "300",
    "data_only": "300",
    "continuous_control": "300",
}


def test_every_example_is_run_here_and_fits_on_a_page():
    files = sorted(EXAMPLES.glob("*.py"))
    assert {file.stem for file in files} == set(SAMPLES)
    assert {file.name: n for file in files if (n := lines_of(file)) > 60} == {}


def lines_of(file):
    return len(file.read_text().splitlines())


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_examples_run_to_their_last_line(name, tmp_path):
    last = {
        "own_environment": "trust at 7.5 m",
        "sb3_models": "transfer/log_evidence",
        "data_only": "mars [",
        "continuous_control": "the right simulator is trusted in",
    }
    done = subprocess.run(
        [sys.executable, EXAMPLES / f"{name}.py", SAMPLES[name]],
        cwd=tmp_path,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-2_000:]
    assert last[name] in done.stdout
