"""Runs of a folder, put together; those that cannot be compared are refused."""

import numpy as np
import pytest

from policymix.core.errors import FileFormatError, PolicymixError
from policymix.experiments.plans import Experiment, Part
from policymix.experiments.runner import facts_of
from policymix.reports.results import place_of, put_together, read_results
from policymix.storage.runs import FACTS, read_run

from support.known import PAPER
from support.made_runs import change, look_of, run_of, spread, write_domain, write_run
from support.probes import MIXED

CURVES = {"scratch": spread(60, 3), "mars": spread(40, 3)}


def read_one(place):
    (results,) = read_results(place)
    return results


# Made-up runs are like real ones


@pytest.mark.parametrize("piece", [Part("mapse"), Part("mapse", "mapse_reuse", 0.9)])
def test_made_up_facts_are_those_of_the_runner(piece, tmp_path):
    experiment = Experiment(MIXED, PAPER["maze"], 3, 0, (piece,))
    sweep = (piece.setting, piece.value) if piece.setting else None
    made = read_run(write_run(tmp_path / "it", "maze", CURVES, sweep=sweep)).facts
    real = facts_of(experiment, piece)
    assert made.keys() == real.keys()
    assert {n: type(v) for n, v in made.items()} == {
        n: type(v) for n, v in real.items()
    }
    assert made["sweep"] == real["sweep"]


# What belongs together


def test_runs_are_gathered_by_domain(tmp_path):
    write_domain(tmp_path, "maze", CURVES, seed=5)
    write_domain(tmp_path, "cartpole", {"ucb": spread(200, 2)})
    found = {results.domain: results for results in read_results(tmp_path)}
    assert {name: list(r.curves) for name, r in found.items()} == {
        "cartpole": ["ucb"],
        "maze": ["mars", "scratch"],
    }
    for name, scores in CURVES.items():
        curve = found["maze"].curves[name]
        np.testing.assert_array_equal(curve.scores, scores)
        np.testing.assert_array_equal(curve.steps, [0, 1000, 2000, 3000, 4000])
        assert curve.seeds == (5, 6, 7)
    assert found["maze"].sign == -1, "fewer steps are better"
    assert found["cartpole"].sign == 1


def test_a_folder_may_be_the_run_itself(tmp_path):
    write_run(tmp_path / "run", "maze", CURVES)
    apart = write_domain(tmp_path / "apart", "maze", CURVES)
    together = read_one(tmp_path / "run")
    assert list(together.curves) == list(read_one(apart).curves)
    assert together.wall_seconds == read_one(apart).wall_seconds == 60


def test_methods_are_listed_in_the_house_order(tmp_path):
    order = ["mars", "mapse", "caps", "ucb", "phi1", "phi2", "scratch"]
    order += ["mars-explicit", "mars-lookahead", "mars-reward", "follow", "oracle"]
    order += ["jumpstart", "prql"]
    write_run(tmp_path / "run", "maze", {name: spread(5, 2) for name in sorted(order)})
    results = read_one(tmp_path)
    assert list(results.curves) == order


def test_single_sources_are_listed_by_number():
    names = [f"phi{number}" for number in range(1, 13)]
    assert sorted(reversed(names), key=place_of) == names


def test_a_sweep_has_the_domains_own_value_from_the_main_piece(tmp_path):
    write_domain(tmp_path, "maze", {"mapse": spread(50), "scratch": spread(60)})
    for value, level in ((0.995, 70), (0.9, 80)):
        write_run(
            tmp_path / "maze" / f"mapse-reuse-{value}",
            "maze",
            {"mapse": spread(level)},
            sweep=("mapse_reuse", value),
        )
    results = read_one(tmp_path)
    assert list(results.sweeps) == [("mapse", "mapse_reuse")]
    values = results.sweeps["mapse", "mapse_reuse"]
    means = {value: curve.scores.mean() for value, curve in values.items()}
    assert means == {0.9: 80, 0.99: 50, 0.995: 70}
    assert list(means) == sorted(means)
    assert results.curves["mapse"].scores.mean() == 50, "a sweep is no method"
    assert results.facts["settings"]["mapse_reuse"] == PAPER["maze"].mapse_reuse == 0.99


def test_a_sweep_without_its_main_piece_has_only_what_was_run(tmp_path):
    write_domain(tmp_path, "maze", {"mars": spread(50)})
    sweep = ("ucb_reuse", 0.9)
    write_run(tmp_path / "maze" / "ucb", "maze", {"ucb": spread(60)}, sweep=sweep)
    results = read_one(tmp_path)
    assert list(results.sweeps["ucb", "ucb_reuse"]) == [0.9]
    assert list(results.curves) == ["mars"]


def test_snapshots_are_read_with_the_method_they_belong_to(tmp_path):
    looks = [look_of("cartpole", step, [step / 1000, 1]) for step in (0, 100, 500)]
    write_domain(tmp_path, "cartpole", CURVES, looks=looks)
    seen = read_one(tmp_path).seen
    assert list(seen) == ["mars"], "nobody looked at scratch"
    assert seen["mars"].steps == (0, 100, 500)
    assert seen["mars"].sources == ("rough", "slippery", "long-pole")
    np.testing.assert_array_equal(
        seen["mars"].arrays["right"], [[0, 1], [0.1, 1], [0.5, 1]]
    )
    for place, look in enumerate(looks):
        np.testing.assert_array_equal(
            seen["mars"].arrays["weights"][place], look.arrays["weights"]
        )


def test_runs_that_did_not_finish_are_named(tmp_path):
    write_domain(tmp_path, "maze", CURVES)
    short = {"caps": spread(70, 3, tests=3)}
    steps = {"steps": 4000}
    write_run(
        *(tmp_path / "maze" / "caps", "maze", short),
        settings=steps,
        status="interrupted",
    )
    results = read_one(tmp_path)
    assert results.unfinished == (str(tmp_path / "maze" / "caps"),)
    assert results.curves["caps"].steps[-1] == 2000


# What is refused


def test_a_place_without_runs_says_how_to_make_one(tmp_path):
    with pytest.raises(PolicymixError, match="policymix run or policymix reproduce"):
        read_results(tmp_path)
    with pytest.raises(PolicymixError, match=rf"{tmp_path} holds no run.*{FACTS}"):
        read_results(tmp_path)


def test_a_method_that_was_run_twice_names_both_folders(tmp_path):
    for name in ("first", "second"):
        write_run(tmp_path / name, "maze", {"mars": spread(40, 3)})
    with pytest.raises(PolicymixError, match="mars on maze is both in") as caught:
        read_results(tmp_path)
    for name in ("first", "second"):
        assert str(tmp_path / name) in str(caught.value)


def test_a_value_that_was_swept_twice_names_both_folders(tmp_path):
    write_domain(tmp_path, "maze", {"mapse": spread(40)})
    for name in ("first", "second"):
        sweep = ("mapse_reuse", 0.9)
        write_run(tmp_path / name, "maze", {"mapse": spread(50)}, sweep=sweep)
    with pytest.raises(PolicymixError, match="mapse_reuse") as caught:
        read_results(tmp_path)
    for name in ("first", "second"):
        assert str(tmp_path / name) in str(caught.value)


@pytest.mark.parametrize(
    ("field", "other"),
    [
        ("seed", {"seed": 1}),
        ("trials", {}),
        ("settings", {"settings": {"scale": 3.0}}),
        ("settings", {"times": [0, 2000, 4000, 6000, 8000]}),
        ("sources", {"names": ["somewhere", "else"]}),
        ("sources", {"sources": {"upper-left": "0" * 64}}),
        ("measure", {"measure": "return"}),
        ("better", {"better": "higher"}),
    ],
)
def test_runs_that_differ_are_not_compared(field, other, tmp_path):
    first = write_run(tmp_path / "first", "maze", {"mars": spread(40, 3)})
    trials = 4 if field == "trials" else 3
    second = tmp_path / "second"
    write_run(second, "maze", {"scratch": spread(60, trials)}, **other)
    with pytest.raises(FileFormatError, match=f": {field}: not the same") as caught:
        read_results(tmp_path)
    assert caught.value.path == str(second / FACTS)
    assert caught.value.field == field
    assert str(first / FACTS) in str(caught.value)


def test_a_sweep_may_change_its_own_setting_only(tmp_path):
    write_domain(tmp_path, "maze", {"mapse": spread(40)})
    folder = tmp_path / "maze" / "other"
    write_run(
        *(folder, "maze", {"mapse": spread(50)}),
        sweep=("mapse_reuse", 0.9),
        settings={"scale": 3.0},
    )
    with pytest.raises(FileFormatError, match="settings: not the same") as caught:
        read_results(tmp_path)
    assert caught.value.path == str(folder / FACTS)


def test_other_machines_and_hours_do_not_matter(tmp_path):
    write_domain(tmp_path, "maze", CURVES)
    change(
        tmp_path / "maze" / "mars",
        devices="1 × gpu",
        versions={"jax": "9"},
        wall_seconds={"mars": 1.0},
    )
    assert read_one(tmp_path).wall_seconds == 31


def test_nothing_but_sweeps_cannot_be_reported(tmp_path):
    sweep = ("mapse_reuse", 0.9)
    write_run(tmp_path / "it", "maze", {"mapse": spread(50)}, sweep=sweep)
    with pytest.raises(PolicymixError, match=str(tmp_path)):
        read_results(tmp_path)


def test_a_run_that_stopped_before_its_first_test_cannot_be_reported(tmp_path):
    nothing = {"mars": np.zeros((0, 3))}
    write_run(
        *(tmp_path / "it", "maze", nothing), times=[0, 1000], status="interrupted"
    )
    with pytest.raises(PolicymixError, match=str(tmp_path)):
        read_results(tmp_path)


def test_what_a_killed_runner_left_half_written_is_no_run(tmp_path):
    """`write_folder` fills a hidden folder and renames it."""
    write_domain(tmp_path, "maze", CURVES)
    write_run(tmp_path / "maze" / ".mars.abc123", "maze", {"mars": spread(40, 3)})
    assert list(read_one(tmp_path).curves) == ["mars", "scratch"]


def test_the_order_of_folders_says_nothing():
    runs = [run_of("maze", {name: CURVES[name]}) for name in CURVES]
    forth, back = put_together("maze", runs), put_together("maze", runs[::-1])
    assert list(forth.curves) == list(back.curves) == ["mars", "scratch"]
