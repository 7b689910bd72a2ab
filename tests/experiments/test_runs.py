"""A run's folder: the contract of its two files, and what survives a failure."""

import csv
import json
from dataclasses import replace

import numpy as np
import pytest

from policymix.core.errors import FileFormatError, PolicymixError
from policymix.core.progress import silent
from policymix.experiments.runner import run_methods as run
from policymix.storage.places import GOING_ON
from policymix.storage.runs import FACTS, HEADER, ROWS
from policymix.training.run import TrainingRun, TrialError

from support.probes import MIXED, QUICK

pytestmark = pytest.mark.learning

SETTINGS = replace(QUICK, steps=200)


def go(out, methods=("phi1", "scratch"), seed=5):
    return run(MIXED, methods, SETTINGS, seed, 2, out, silent)


def read(out):
    with (out / ROWS).open(newline="") as file:
        rows = list(csv.reader(file))
    return rows, json.loads((out / FACTS).read_text())


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A folder of two methods, and the rows that were returned."""
    out = tmp_path_factory.mktemp("whole") / "out"
    return out, go(out)


def test_every_evaluation_of_every_trial_has_a_row(whole):
    out, returned = whole
    (header, *rows), facts = read(out)
    columns = "domain,method,trial,seed,step,score,alone,training"
    assert ",".join(header) == HEADER == columns
    keys = [(method, int(trial), int(step)) for _, method, trial, _, step, *_ in rows]
    assert sorted(keys) == sorted(
        (method, trial, step)
        for method in ("phi1", "scratch")
        for trial in (0, 1)
        for step in (0, 100, 200)
    )
    assert all(int(row[3]) == 5 + int(row[2]) for row in rows)
    assert [float(row[5]) for row in rows] == [row.score for row in returned]
    assert [float(row[6]) for row in rows] == [row.alone for row in returned]
    told = [float(row[7]) for row in rows]
    np.testing.assert_array_equal(told, [row.training for row in returned])
    assert facts["status"] == "finished"
    assert facts["settings"]["scale"] == SETTINGS.scale
    assert set(facts["wall_seconds"]) == {"phi1", "scratch"}
    assert all(len(digest) == 64 for digest in facts["sources"].values())
    assert facts["versions"]["jax"]


def test_the_same_seed_gives_the_same_bytes(whole, tmp_path):
    go(tmp_path / "again")
    one, two = ((out / ROWS).read_bytes() for out in (whole[0], tmp_path / "again"))
    assert one == two


@pytest.mark.parametrize(
    ("methods", "message"),
    [
        (("marz",), "Did you mean 'mars'"),
        (("mars", "mars"), "named twice"),
    ],
)
def test_bad_methods_are_refused_before_anything_is_written(tmp_path, methods, message):
    with pytest.raises(PolicymixError, match=message):
        go(tmp_path / "out", methods)
    assert not (tmp_path / "out").exists()


def test_a_folder_with_something_in_it_is_left_alone(tmp_path):
    (tmp_path / "mine").write_text("precious")
    with pytest.raises(PolicymixError, match="exists already"):
        go(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def breaking(monkeypatch, method, step, stop):
    """A method stops after the evaluation at a step."""
    usual = TrainingRun.pauses

    def pauses(run):
        for pause in usual(run):
            yield pause
            if (run.name, pause.step) == (method, step):
                raise stop

    monkeypatch.setattr(TrainingRun, "pauses", pauses)


@pytest.mark.parametrize(
    ("stop", "status"),
    [
        (TrialError("step 7: the reward", []), "stopped: step 7: the reward"),
        (KeyboardInterrupt(), "interrupted"),
    ],
)
def test_what_was_reached_survives(tmp_path, monkeypatch, stop, status):
    breaking(monkeypatch, "scratch", 0, stop)
    with pytest.raises(type(stop)):
        go(tmp_path / "out")
    (_, *rows), facts = read(tmp_path / "out")
    reached = [("phi1", step) for step in (0, 0, 100, 100, 200, 200)]
    assert [(row[1], int(row[4])) for row in rows] == [*reached, *[("scratch", 0)] * 2]
    assert facts["status"] == status
    assert list(facts["wall_seconds"]) == ["phi1"]
    kept = sorted(p.name for p in (tmp_path / "out").iterdir())
    assert kept == [GOING_ON, ROWS, FACTS]


def test_a_run_that_was_killed_goes_on_and_ends_as_if_nothing_had_been(
    whole, tmp_path, monkeypatch
):
    out = tmp_path / "out"
    with monkeypatch.context() as patch:
        breaking(patch, "phi1", 100, SystemExit())
        with pytest.raises(SystemExit):
            go(out)
    (_, *rows), facts = read(out)
    assert [int(row[4]) for row in rows] == [0, 0, 100, 100]
    assert facts["status"] == "running"
    with pytest.raises(FileFormatError, match=r"run\.json: methods: .* would have"):
        go(out, ("phi1",))
    with monkeypatch.context() as patch:
        breaking(patch, "scratch", 100, SystemExit())
        with pytest.raises(SystemExit):
            go(out)
    go(out)
    assert (out / ROWS).read_bytes() == (whole[0] / ROWS).read_bytes()
    assert sorted(p.name for p in out.iterdir()) == [ROWS, FACTS]
    with pytest.raises(PolicymixError, match="exists already"):
        go(out)


def test_whoever_stops_it_again_before_it_goes_on_loses_no_row(tmp_path, monkeypatch):
    out = tmp_path / "out"
    with monkeypatch.context() as patch:
        breaking(patch, "scratch", 100, KeyboardInterrupt())
        with pytest.raises(KeyboardInterrupt):
            go(out)
    reached = (out / ROWS).read_bytes()
    with monkeypatch.context() as patch:

        def compiling(*arguments, **options):
            raise KeyboardInterrupt

        patch.setattr("policymix.experiments.runner.TrainingRun", compiling)
        with pytest.raises(KeyboardInterrupt):
            go(out)
    assert (out / ROWS).read_bytes() == reached


def test_no_row_depends_on_the_other_methods(whole, tmp_path):
    alone = go(tmp_path / "alone", ("scratch",))
    assert alone == [row for row in whole[1] if row.method == "scratch"]


def test_a_state_too_large_to_keep_costs_the_method_that_was_stopped(
    whole, tmp_path, monkeypatch
):
    out = tmp_path / "out"
    monkeypatch.setattr("policymix.training.checkpoint.MAX_ARRAYS_BYTES", 1000)
    with monkeypatch.context() as patch:
        breaking(patch, "scratch", 100, SystemExit())
        with (
            pytest.warns(UserWarning, match="2 trials could have .*: stopped, "),
            pytest.raises(SystemExit),
        ):
            go(out)
    with pytest.warns(UserWarning, match="scratch begins anew"):
        go(out)
    assert (out / ROWS).read_bytes() == (whole[0] / ROWS).read_bytes()
    assert sorted(p.name for p in out.iterdir()) == [ROWS, FACTS]
