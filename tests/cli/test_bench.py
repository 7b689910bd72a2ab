"""The benchmark command: its figures are numbers, and its file is whole or absent."""

import json
import math
import subprocess
import sys

import pytest

from policymix.cli import bench, timing
from policymix.environments.registry import EXAMPLE


def waiting(samples):
    """A chunk that does nothing but count its calls."""
    calls = []
    return calls, lambda: calls.append(samples) or samples


def test_ratios_are_those_of_the_same_round():
    speeds = {"ours": [20.0, 90.0, 40.0], "theirs": [10.0, 30.0, 40.0]}
    ours, theirs = timing.ratios_to(speeds, "theirs")
    assert ours == timing.Versus("ours", 40.0, 1.0, 2.0, 3.0, "theirs")
    assert theirs == timing.Versus("theirs", 30.0, 1.0, 1.0, 1.0, "theirs")


def test_contestants_take_turns_after_a_warm_up():
    order = []
    contestants = {name: lambda name=name: order.append(name) or 1 for name in "ab"}
    speeds = timing.contest(contestants, 0.0, rounds=2)
    assert order == list("aabb" * 3)
    assert all(len(found) == 2 and min(found) > 0 for found in speeds.values())


def test_a_rate_takes_two_chunks_at_least_and_fills_its_seconds():
    calls, chunk = waiting(5)
    assert timing.rate(chunk, 0.0) > 0
    assert len(calls) == 2
    timing.rate(chunk, 0.01)
    assert len(calls) > 4


def test_speeds_are_positive_and_finite():
    (found,) = bench.speed([EXAMPLE], ["scratch"], [1], 0.1)
    assert (found.domain, found.method, found.trials) == (EXAMPLE, "scratch", 1)
    for figure in (found.samples_per_second, found.compile_seconds):
        assert 0 < figure < math.inf


def test_domains_that_the_host_steps_get_fewer_trials():
    pytest.importorskip("Box2D")
    assert bench._counts("lander", (1, 20, 160)) == [1, 10, 20]
    assert bench._counts("lander", (1,)) == [1]
    assert bench._counts(EXAMPLE, (1, 20, 160)) == (1, 20, 160)


def test_variants_compete_with_the_first_of_their_own_method(monkeypatch):
    made = []
    monkeypatch.setattr(bench, "our_chunks", lambda *given: made.append(given))
    monkeypatch.setattr(
        bench, "contest", lambda names, *_: {name: [2.0, 2.0] for name in names}
    )
    work = bench.USUAL["capacities"]._replace(methods=("mars", "phi1"), trials=(2, 3))
    rows = bench.against_first(work, bench.capacities, 0.1)
    assert len(rows) == len(made) == 2 * 2 * len(bench.CAPACITIES)
    for row in rows:
        method, trials, *_ = row.contestant.split(", ")
        assert row.times_that_of == f"{method}, {trials}, 1,000 rows"
    assert {given[-1].capacity for given in made} == set(bench.CAPACITIES)


@pytest.mark.parametrize("part", bench.USUAL)
def test_what_is_asked_for_is_measured_and_nothing_else_is_changed(monkeypatch, part):
    found = []
    monkeypatch.setattr(
        bench, "measure_part", lambda name, work, *_: found.append(work) or {}
    )
    bench.bench([part], domain="pendulum", trials=(512, 4096))
    bench.bench([part], methods=("mars",))
    asked, other = found
    usual = bench.USUAL[part]
    assert asked == usual._replace(domains=("pendulum",), trials=(512, 4096))
    assert other == usual._replace(methods=("mars",))


def test_a_library_is_widened_by_repetition():
    from policymix.training.task import load_task

    task = load_task(EXAMPLE)
    wide = bench.widen(task, 5)
    assert wide.sources.names[3] == f"{task.sources.names[0]}-3"
    assert len(set(wide.sources.names)) == 5


def test_the_file_holds_all_figures_and_no_place(monkeypatch, capsys, tmp_path):
    figures = [timing.MethodSpeed(EXAMPLE, "mars", 20, 12_345.5, 2.25)]
    monkeypatch.setattr(bench, "measure_part", lambda part, *_: {part: figures})
    out = tmp_path / "new"
    bench.bench(["gpu-scale"], seconds=0.5, out=out)
    assert [file.name for file in out.iterdir()] == [bench.FILE]
    text = (out / bench.FILE).read_text()
    content = json.loads(text)
    (row,) = content["figures"]["gpu-scale"]
    assert timing.MethodSpeed(**row) == figures[0]
    assert {"jax", "numpy", "python", "policymix"} <= set(content["versions"])
    assert content["cores"] >= 1
    assert content["device"]["kind"]
    assert str(tmp_path) not in text
    assert "12,346" in capsys.readouterr().out


def test_a_failure_leaves_the_old_file(monkeypatch, tmp_path):
    monkeypatch.setattr(bench, "measure_part", lambda part, *_: {part: []})
    monkeypatch.setattr(bench, "table", lambda *_: "")
    bench.bench(["gpu-scale"], out=tmp_path)
    before = (tmp_path / bench.FILE).read_bytes()
    monkeypatch.setattr(bench, "circumstances", lambda: {"bad": math.nan})
    with pytest.raises(ValueError, match="JSON"):
        bench.bench(["gpu-scale"], out=tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == [bench.FILE]
    assert (tmp_path / bench.FILE).read_bytes() == before


def test_importing_needs_neither_gymnasium_nor_jax():
    blocked = "sys.modules.update(dict.fromkeys(('gymnasium', 'Box2D', 'jax')))"
    code = f"import sys; {blocked}; import policymix.cli.bench"
    subprocess.run([sys.executable, "-c", code], check=True)
