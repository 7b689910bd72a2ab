"""The tasks of the page on strangers are sound, whoever changes their parts."""

from pathlib import Path

import pytest

from policymix.training.check import check_task
from policymix.training.task import load_task

pytestmark = pytest.mark.shown

HERE = Path(__file__).parents[2]
PAGE = (HERE / "docs/howto/strangers.md").read_text()
FILES = sorted(
    file
    for file in (HERE / "benchmarks/strangers").glob("*.py")
    if f"(../../benchmarks/strangers/{file.name})" in PAGE
)


def test_there_are_seven():
    assert len(FILES) == 7


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_the_task_is_sound(file):
    pytest.importorskip("Box2D")  # warnings of its own are errors otherwise, and crash
    pytest.importorskip("mujoco")
    findings = check_task(load_task(file))
    assert len(findings) >= 4
    assert all(finding.sound for finding in findings), findings
