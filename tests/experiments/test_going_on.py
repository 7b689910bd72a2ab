"""Trials that were stopped go on: rows and looks are those of an undisturbed run."""

from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console

from policymix.core.errors import PolicymixError
from policymix.core.progress import silent
from policymix.experiments.comparison import STOPPED
from policymix.experiments.plans import Experiment, Part
from policymix.experiments.snapshots import reference
from policymix.experiments.visited import watch_visited
from policymix.experiments.watched import watch_part
from policymix.reports.compare import run_comparison
from policymix.storage.folders import ARRAYS
from policymix.storage.places import GOING_ON
from policymix.storage.runs import FACTS, ROWS, files_of
from policymix.training.loop import Loop
from policymix.training.run import TrialError
from policymix.training.task import TransferTask, prepare

from support.own_probes import BRIEF
from support.own_probes import unoptimised as unoptimised
from support.probes import MIXED, QUICK
from support.slope import Slope, library

pytestmark = [pytest.mark.learning, pytest.mark.usefixtures("unoptimised")]

SETTINGS = replace(BRIEF, steps=300, own_model=True, mixture_rate=2e-2)


class Motor(Slope):
    """A slope that counts the steps of all copies, and fails after some of them."""

    taken, enough = 0, 10**9

    def step(self, action):
        Motor.taken += 1
        if Motor.taken > Motor.enough:
            raise OSError("the motor is hot")
        return super().step(action)


@pytest.fixture(scope="module")
def slope():
    return prepare(TransferTask(lambda: Motor(), library()))


def compared(task, out, enough=10**9, settings=SETTINGS, trials=2):
    """The trials of a comparison, in which so many steps can be taken."""
    Motor.taken, Motor.enough = 0, enough
    run_comparison(task, ("mars",), settings, 0, trials, out, Console(quiet=True))


@pytest.fixture(scope="module")
def whole(slope, tmp_path_factory):
    """The files of a comparison that nothing stopped, and the steps that it took."""
    out = tmp_path_factory.mktemp("whole") / "out"
    compared(slope, out)
    return files_in(out), Motor.taken


def files_in(out):
    """All but the facts, which tell how long it took."""
    return {
        path.relative_to(out).as_posix(): path.read_bytes()
        for path in (out / "mars").rglob("*")
        if path.is_file() and path.name != FACTS
    }


def test_a_comparison_goes_on_where_the_environment_failed(slope, whole, tmp_path):
    expected, steps = whole
    with pytest.raises(TrialError, match=r"motor is hot.* goes on with mars from"):
        compared(slope, tmp_path, enough=3 * steps // 4)
    assert (tmp_path / GOING_ON).is_dir()
    with pytest.raises(PolicymixError, match=r"not brought back.* motor is hot"):
        compared(slope, tmp_path, enough=0)
    compared(slope, tmp_path)
    assert files_in(tmp_path) == expected
    assert len(expected) == 3
    assert 0 < Motor.taken < steps / 2
    assert not (tmp_path / GOING_ON).exists()
    assert not (tmp_path / STOPPED).exists()


def test_trials_that_were_to_be_added_go_on_as_well(slope, whole, tmp_path):
    compared(slope, tmp_path, trials=1)
    steps = Motor.taken
    with pytest.raises(TrialError, match="motor is hot"):
        compared(slope, tmp_path, enough=3 * steps // 4)
    compared(slope, tmp_path, trials=1)  # which are there, and leave the others aside
    assert Motor.taken == 0
    compared(slope, tmp_path)
    assert 0 < Motor.taken < steps / 2
    rows = f"mars/{ROWS}"
    assert files_in(tmp_path)[rows] == whole[0][rows]
    assert not (tmp_path / GOING_ON).exists()


def test_other_settings_begin_anew_and_say_so(slope, whole, tmp_path):
    expected, steps = whole
    other = replace(SETTINGS, mixture_rate=1e-3)
    with pytest.raises(TrialError):
        compared(slope, tmp_path, enough=3 * steps // 4, settings=other)
    with pytest.warns(UserWarning, match="mars was stopped when it had other settings"):
        compared(slope, tmp_path)
    assert files_in(tmp_path) == expected
    assert Motor.taken == steps
    assert not (tmp_path / GOING_ON).exists()


class Stopped(BaseException):
    """As a kill would stop it."""


def killed_at(step):
    """A progress bar that does not live longer."""

    def begin(title, total, unit):
        reached = 0

        def advance(taken, score):
            nonlocal reached
            reached += taken
            if reached == step * COMPILED.trials:
                raise Stopped

        return advance

    return begin


STUDY = replace(MIXED.domain.study, looks=(0, 50, 150, 250))
COMPILED = Experiment(
    replace(MIXED, target=replace(MIXED.domain, study=STUDY)),
    replace(QUICK, steps=300),
    trials=2,
    seed=5,
    parts=(Part("mars"),),
)


def by_study(begin, home=None, experiment=COMPILED):
    known = reference(experiment.task)
    part = experiment.parts[0]
    return watch_part(experiment, part, known, begin, recorded=True, home=home)


def in_visited_states(begin, home=None, experiment=COMPILED):
    return watch_visited(experiment, experiment.parts[0], begin, home=home)


@pytest.fixture(scope="module")
def advanced():
    """The lengths by which compiled trials have been brought forward."""
    lengths, advance = [], Loop.advance

    def counted(loop, length):
        lengths.append(length)
        advance(loop, length)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Loop, "advance", counted)
        yield lengths


def same(one, other):
    assert files_of({}, one.rows) == files_of({}, other.rows)
    assert one.files() == other.files()
    assert one.arrays.keys() == other.arrays.keys() != set()
    for name, array in one.arrays.items():
        np.testing.assert_array_equal(array, other.arrays[name], strict=True)


@pytest.mark.parametrize("watch", [by_study, in_visited_states])
def test_a_killed_run_has_seen_what_an_undisturbed_one_sees(watch, advanced, tmp_path):
    expected = watch(silent)
    for step, then in ((200, 100), (300, 0)):
        home = tmp_path / str(step)
        with pytest.raises(Stopped):
            watch(killed_at(step), home)
        advanced.clear()
        same(watch(silent, home), expected)
        assert sum(advanced) == then


@pytest.fixture(scope="module")
def left(tmp_path_factory):
    """Where a run was kept that was killed, and what it would have become."""
    home = tmp_path_factory.mktemp("left") / "home"
    with pytest.raises(Stopped):
        by_study(killed_at(200), home)
    return home, by_study(silent)


def test_a_damaged_state_is_told_of_and_not_gone_on_with(left, advanced):
    home, expected = left
    (arrays,) = home.rglob(ARRAYS)
    content = bytearray(arrays.read_bytes())
    content[-1] ^= 1
    arrays.write_bytes(content)
    advanced.clear()
    with pytest.warns(UserWarning, match=r"mars begins anew: .*arrays"):
        same(by_study(silent, home), expected)
    assert sum(advanced) == 300
