"""The contests with other libraries, which live in benchmarks/."""

import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def contests(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    import contests  # pyright: ignore[reportMissingImports]

    return contests


def test_the_share_counts_every_thread(contests):
    share = contests.host_share(loop=100.0, host=200.0, threads=1)
    assert share == pytest.approx(0.5)
    share = contests.share_of([100.0, 100.0], [200.0, 100.0], trials=10, threads=2)
    assert share.share == pytest.approx((0.25 + 0.5) / 2)
    assert share.loop_microseconds == pytest.approx(1e5)


def test_the_fastest_way_is_found(contests):
    name, looks = contests.fastest({"slow": lambda: 1, "fast": lambda: 10**9})
    assert name == "fast"
    assert {look.times_that_of for look in looks} == {"fast"}


def test_environments_alone_are_stepped(contests):
    pytest.importorskip("Box2D")
    from policymix.domains.lander.picture import make_lander

    assert contests.host_chunks(make_lander, 2)() == 2 * contests.CHUNK


def test_the_script_takes_contests_by_name():
    pytest.importorskip("Box2D")
    script = [sys.executable, str(BENCHMARKS / "against_sb3.py"), "--contests", "landr"]
    told = subprocess.run(script, capture_output=True, text=True)
    assert told.returncode == 2
    assert "lander" in told.stderr
    assert "Traceback" not in told.stderr
