"""A training that was interrupted ends as one that was not, to the last byte."""

from dataclasses import replace

import gymnasium
import jax
import numpy as np
import pytest

from policymix.core.errors import FileFormatError, PolicymixError
from policymix.environments.recorded import RecordedTasks
from policymix.storage.folders import ARRAYS, pack, read_folder, write_folder
from policymix.training import checkpoint
from policymix.training.loggers import CSVLogger
from policymix.training.train import train

from support.own_probes import BRIEF, Line
from support.own_probes import task as own_task
from support.own_probes import unoptimised as unoptimised
from support.probes import MIXED, QUICK

pytestmark = pytest.mark.usefixtures("unoptimised")
LINE = replace(BRIEF, steps=300)
"""Episodes of 20 steps, so that every checkpoint but the last cuts one … """
CUT = replace(LINE, evaluate_every=90, refresh_every=90)
"""… in the middle."""


def run(task=MIXED, method="mars", settings=QUICK, **more):
    options = {"steps": 300, "trials": 3, "progress": False, "cores": 1}
    return train(task, method, settings=settings, **{**options, **more})


def same(one, other):
    np.testing.assert_equal([r[2:] for r in one.rows], [r[2:] for r in other.rows])
    for mine, its in zip(one.agents, other.agents, strict=True):
        jax.tree.map(np.testing.assert_array_equal, mine.trial, its.trial)


class Stopped(BaseException):
    """As a kill would stop it."""


def breaking_at(step):
    def callback(now):
        if now.step == step:
            raise Stopped

    return callback


@pytest.fixture(scope="module")
def whole():
    return run()


@pytest.fixture(scope="module")
def line():
    return own_task(target=Line, horizon=20)


def test_compiled_trials_go_on_as_if_nothing_had_been(whole, tmp_path):
    """Neither looks nor cores matter, and an evaluation that broke is repeated."""
    heard = []
    with pytest.raises(Stopped):
        run(checkpoint=tmp_path / "a", callback=breaking_at(200))
    assert [p.name for p in (tmp_path / "a").iterdir()] == ["step-000000000100"]
    again = run(
        checkpoint=tmp_path / "a", cores=2, callback=lambda now: heard.append(now.step)
    )
    assert heard == [200, 300]
    same(again, whole)
    assert again.status == "finished"


def test_environments_of_the_host_go_on_in_the_middle_of_an_episode(line, tmp_path):
    settings = {"settings": CUT, "method": "scratch"}
    whole = run(line, checkpoint=tmp_path / "whole", **settings)
    for step in (180, 270):
        with pytest.raises(Stopped):
            run(
                line,
                checkpoint=tmp_path / "cut",
                callback=breaking_at(step),
                **settings,
            )
    again = run(line, checkpoint=tmp_path / "cut", **settings)
    same(again, whole)


def test_who_stops_can_go_on_and_who_has_finished_has_finished(whole, tmp_path):
    stopped = run(checkpoint=tmp_path, callback=lambda now: now.step < 100)
    assert (stopped.status, len(stopped.rows)) == ("stopped", 6)
    same(run(checkpoint=tmp_path), whole)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    heard = []
    same(run(checkpoint=tmp_path, callback=heard.append), whole)
    assert heard == []
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"seed": 1}, "seeds"),
        ({"steps": 400}, r"settings\.steps: 300, but this training has 400"),
        ({"method": "scratch"}, "method: 'mars'"),
    ],
)
def test_another_training_does_not_go_on_from_there(changed, words, kept):
    with pytest.raises(FileFormatError, match=words):
        run(checkpoint=kept, **changed)


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    place = tmp_path_factory.mktemp("kept")
    run(checkpoint=place, callback=lambda now: False)
    return place


def test_an_altered_checkpoint_is_refused(tmp_path):
    run(method="scratch", checkpoint=tmp_path, callback=lambda now: False)
    [file] = tmp_path.rglob(ARRAYS)
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    with pytest.raises(FileFormatError, match=ARRAYS):
        run(method="scratch", checkpoint=tmp_path)


def test_a_checkpoint_that_could_not_be_read_is_not_begun(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint, "MAX_ARRAYS_BYTES", 10_000)
    with pytest.raises(PolicymixError, match="Lower capacity or trials"):
        run(method="scratch", checkpoint=tmp_path / "a")
    assert not (tmp_path / "a").exists()


def test_a_table_goes_on_with_its_training(tmp_path):
    path = tmp_path / "log.csv"
    options = {"method": "scratch", "checkpoint": tmp_path / "kept"}
    for step in (0, 100):
        with pytest.raises(Stopped):
            run(callback=[CSVLogger(path), breaking_at(step)], **options)
    run(callback=CSVLogger(path), **options)
    lines = [line.split(",") for line in path.read_text().splitlines()[1:]]
    expected = [(str(t), str(s)) for s in (0, 100, 200, 300) for t in range(3)]
    assert [(line[2], line[4]) for line in lines] == expected


class Lost(Line):
    """Its seed does not decide where it begins."""

    def reset(self, *, seed=None, options=None):
        del seed
        return super().reset(options=options)


def test_an_environment_that_does_not_come_back_is_named(tmp_path):
    lost = own_task(target=Lost, horizon=20)
    options = {"settings": CUT, "method": "scratch", "checkpoint": tmp_path}
    run(lost, callback=lambda now: now.step < 90, **options)
    with pytest.raises(PolicymixError, match="did not come back to where it was"):
        run(lost, **options)


def test_recorded_environments_come_back():
    """Also after an end, with the seed of the episode they are in."""

    def make():
        return gymnasium.wrappers.TimeLimit(Line(), 5)

    first, second = RecordedTasks(make, 2), RecordedTasks(make, 2)
    reached = first.reset([3, 4])
    rng = np.random.default_rng(0)
    for _ in range(13):
        reached = first.step(rng.integers(2, size=2)).obs
    assert [history[0] for history in first.histories] == [2, 2]
    second.reset([3, 4])
    np.testing.assert_array_equal(second.replay(first.histories, 13), reached)
    for _ in range(13):
        actions = rng.integers(2, size=2)
        one, other = first.step(actions), second.step(actions)
        np.testing.assert_array_equal(one.obs, other.obs)


@pytest.mark.parametrize(
    ("name", "forge"),
    [
        ("places", lambda x: x.astype(np.float32)),
        ("places", lambda x: -x),
        ("places", lambda x: x[:0]),
        ("scores", lambda x: x[..., None]),
        ("replay", lambda x: x[..., :-1]),
        ("lengths", lambda x: np.ones(9, np.int64)),
        ("what failed", lambda x: np.full_like(x, 127)),
    ],
)
def test_arrays_of_another_shape_or_place_are_refused(kept, tmp_path, name, forge):
    """As a forger would leave them: with digests that are right."""
    [place] = kept.glob("step-*")
    facts, arrays = read_folder(place, checkpoint.FORMAT, checkpoint.VERSION)
    if name == "what failed":
        name = f"trial.{max(int(n[6:]) for n in arrays if n.startswith('trial.'))}"
    arrays |= {name: forge(arrays[name])}
    told = {k: v for k, v in facts.items() if k not in ("arrays", "format", "version")}
    forged = pack(checkpoint.FORMAT, checkpoint.VERSION, told, arrays)
    write_folder(tmp_path / "forged" / place.name, forged)
    with pytest.raises(FileFormatError, match="arrays: not those of this run"):
        run(checkpoint=tmp_path / "forged")


def test_what_a_killed_one_was_to_remove_is_removed(tmp_path):
    run(method="scratch", checkpoint=tmp_path, callback=lambda now: now.step < 100)
    (tmp_path / "step-000000000000").mkdir()
    run(method="scratch", checkpoint=tmp_path, callback=lambda now: False)
    assert [path.name for path in tmp_path.iterdir()] == ["step-000000000200"]
