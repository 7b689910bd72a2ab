"""Running piece by piece: what is finished is neither lost nor repeated."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest

from policymix.core.errors import FileFormatError
from policymix.core.progress import silent
from policymix.experiments.plans import Experiment, Part
from policymix.experiments.runner import Wanted, missing, run_here
from policymix.experiments.runner import run_methods as run
from policymix.experiments.snapshots import read_snapshots
from policymix.storage.folders import ARRAYS, MANIFEST
from policymix.storage.runs import FACTS, ROWS, read_run

from support.probes import HELPFUL, MIXED, QUICK

SETTINGS = replace(QUICK, steps=200, refresh_every=50)
SCRATCH, MARS = Part("scratch"), Part("mars")
FULL, HASTY = Part("ucb"), Part("ucb", "ucb_reuse", 0.5)
PIECES = (SCRATCH, MARS, FULL, HASTY)
LOOKS = (0, 50, 200)
"""One of them is not at a test."""
TASK = replace(
    MIXED, target=replace(MIXED.domain, study=replace(MIXED.domain.study, looks=LOOKS))
)
SMALL = Experiment(TASK, SETTINGS, 2, 5, PIECES)


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """The finished experiment, which stays as it is."""
    out = tmp_path_factory.mktemp("done") / "probe"
    go(SMALL, out)
    return out


@pytest.fixture
def out(done, tmp_path):
    """A copy to change."""
    return shutil.copytree(done, tmp_path / "probe")


def go(experiment, out, begin=silent):
    """Run, and tell which pieces were run."""
    run_now = []
    parts = missing(experiment, out)
    wanted = [Wanted(experiment, part, out / part.name) for part in parts]
    run_here(wanted, begin, lambda done, _: run_now.append(done.part))
    return run_now


def state_of(out):
    """Every file below a folder with its bytes and its time."""
    files = (path for path in out.rglob("*") if path.is_file())
    return {
        path.relative_to(out).as_posix(): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in files
    }


def test_every_piece_becomes_a_folder_with_snapshots_where_a_mixture_is(done):
    names = {"scratch", "mars", "ucb", "ucb-reuse-0.5"}
    assert {path.name for path in done.iterdir()} == names
    for name in names:
        seen = {MANIFEST, ARRAYS} if name == "mars" else set()
        assert {path.name for path in (done / name).iterdir()} == {FACTS, ROWS} | seen
        assert read_run(done / name).has_snapshots == bool(seen)
        assert read_run(done / name).facts["status"] == "finished"
    facts, arrays = read_snapshots(done / "mars")
    assert facts["steps"] == list(LOOKS)
    assert arrays["right"].shape == (3, 2)


def test_the_facts_tell_what_a_piece_changes(done):
    swept, own = (read_run(done / name).facts for name in ("ucb-reuse-0.5", "ucb"))
    assert swept["sweep"] == {"setting": "ucb_reuse", "value": 0.5}
    assert own["sweep"] is None
    assert swept["settings"] == own["settings"] | {"ucb_reuse": 0.5}
    assert own["settings"]["ucb_reuse"] == SETTINGS.ucb_reuse == 0.85


@pytest.mark.parametrize("piece", [SCRATCH, MARS, HASTY], ids=lambda p: p.name)
def test_a_piece_has_the_rows_of_a_run_with_its_settings(done, tmp_path, piece):
    settings = SMALL.settings_of(piece)
    run(MIXED, [piece.method], settings, 5, 2, tmp_path / "run", silent)
    alone = (tmp_path / "run" / ROWS).read_bytes()
    assert (done / piece.name / ROWS).read_bytes() == alone


def test_what_is_finished_is_not_run_again(out):
    before = state_of(out)
    assert missing(SMALL, out) == []
    assert go(SMALL, out) == []
    assert state_of(out) == before


def test_a_piece_that_was_deleted_is_run_again_and_is_the_same(done, out):
    shutil.rmtree(out / "mars")
    before = state_of(out)
    assert missing(SMALL, out) == [MARS]
    assert go(SMALL, out) == [MARS]
    after = state_of(out)
    assert before.items() <= after.items()
    for name in (ROWS, ARRAYS, MANIFEST):
        assert (out / "mars" / name).read_bytes() == (done / "mars" / name).read_bytes()


def test_the_progress_of_a_piece_adds_up_to_its_samples(tmp_path):
    begun, taken = [], []

    def begin(*told):
        begun.append(told)
        return lambda samples, value: taken.append((samples, value))

    go(SMALL._replace(parts=(MARS,)), tmp_path / "probe", begin)
    assert begun == [("probe mars", 2 * 200, "score")]
    assert [samples for samples, _ in taken] == [0, 100, 100, 200]
    assert [bool(np.isnan(value)) for _, value in taken] == [False, True, False, False]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"seed": 6}, "seed"),
        ({"trials": 3}, "trials"),
        ({"settings": replace(SETTINGS, discount=0.8)}, "settings"),
        ({"task": HELPFUL}, "sources"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_piece_of_another_experiment_is_refused(out, change, field):
    before = state_of(out)
    shutil.rmtree(out / "mars")
    with pytest.raises(FileFormatError) as caught:
        go(SMALL._replace(**change), out)
    assert caught.value.path == str(out / "scratch" / FACTS)
    assert caught.value.field == field
    assert "--out" in str(caught.value)
    assert not (out / "mars").exists()
    assert state_of(out).items() < before.items()


def test_a_folder_of_another_piece_is_refused(out):
    (out / "ucb").rename(out / "mine")
    (out / "ucb-reuse-0.5").rename(out / "ucb")
    with pytest.raises(FileFormatError) as caught:
        missing(SMALL, out)
    assert caught.value.path == str(out / "ucb" / FACTS)
    assert caught.value.field in ("settings", "sweep")


def test_a_piece_that_was_damaged_is_not_run_over(out):
    lines = (out / "scratch" / ROWS).read_text().splitlines()
    (out / "scratch" / ROWS).write_text("\n".join(lines[:-1]) + "\n")
    before = state_of(out)
    with pytest.raises(FileFormatError, match="line 6"):
        go(SMALL, out)
    assert state_of(out) == before


def test_a_run_that_was_interrupted_is_no_finished_piece(out):
    facts = json.loads((out / "scratch" / FACTS).read_text())
    (out / "scratch" / FACTS).write_text(json.dumps(facts | {"status": "interrupted"}))
    with pytest.raises(FileFormatError) as caught:
        missing(SMALL, out)
    assert caught.value.path == str(out / "scratch" / FACTS)
    assert caught.value.field == "status"


@pytest.mark.parametrize("stop", [KeyboardInterrupt, OSError])
def test_a_piece_that_stops_in_the_middle_leaves_nothing_behind(done, tmp_path, stop):
    def begin(name, steps, figure):
        def advance(taken, value):
            if name == "probe mars" and taken > 0:
                raise stop

        return advance

    out = tmp_path / "probe"
    with pytest.raises(stop):
        go(SMALL, out, begin)
    assert [path.name for path in out.iterdir()] == ["scratch"]
    first = state_of(out)
    assert go(SMALL, out) == [MARS, FULL, HASTY]
    assert first.items() <= state_of(out).items()
    for piece in PIECES:
        again, before = (place / piece.name / ROWS for place in (out, done))
        assert again.read_bytes() == before.read_bytes()


def test_a_folder_that_cannot_be_written_leaves_nothing_behind(tmp_path, monkeypatch):
    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        go(SMALL, tmp_path / "probe")
    assert list((tmp_path / "probe").iterdir()) == []
