"""A small part of the fault suite: kills, full disks, several writers.

All of it is `python benchmarks/faults`.
"""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_nothing_is_lost_by_writing(tmp_path):
    parts = ("saving", "limits", "disk", "writers", "one-file")
    told = tmp_path / "told.json"
    command = [sys.executable, ROOT / "benchmarks" / "faults", *parts]
    done = subprocess.run(
        [*map(str, command), "--share", "0.05", "--out", str(told)],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(told.read_text())["parts"]
    assert set(found) == set(parts)
    assert all(found[name]["times"] >= 10 for name in parts if name != "disk")
