"""The user's own code that fails in the middle: who, when and why, and no traceback."""

import math
import re
from dataclasses import replace
from typing import Any

import pytest

from policymix.core.errors import PolicymixError, SourceError
from policymix.sources.experts import SourceTask
from policymix.sources.library import SourceLibrary
from policymix.training.run import TrialError
from policymix.training.task import TransferTask, prepare
from policymix.training.train import train

from support.own_probes import BRIEF, Line, homeward, stepping
from support.own_probes import unoptimised as unoptimised
from support.probes import MIXED, QUICK

pytestmark = [pytest.mark.learning, pytest.mark.usefixtures("unoptimised")]
ONLY = SourceLibrary([SourceTask("only", homeward, stepping)])
SETTINGS = replace(BRIEF, steps=120, evaluate_every=60)


class Failing(Line):
    """A copy that began with one of the seeds fails after so many steps."""

    def __init__(self, after, answer=None, seeds=(0,)):
        super().__init__()
        self.after, self.answer, self.seeds = after, answer, seeds
        self.taken, self.weak = 0, False

    def reset(self, *, seed=None, options=None):
        self.weak = self.weak or seed in self.seeds
        return super().reset(seed=seed)

    def step(self, action):
        self.taken += 1
        if self.taken <= self.after or not self.weak:
            return super().step(action)
        if self.answer is None:
            raise OSError("the motor is hot\nsecond line")
        return self.answer


def stopped(make, **options):
    task = TransferTask(make, ONLY, horizon=20)
    with pytest.raises(TrialError) as caught:
        train(task, "scratch", settings=SETTINGS, progress=False, **options)
    return caught.value


def test_an_environment_that_raises_is_told_with_step_trial_and_cause():
    error = stopped(lambda: Failing(70, seeds=(8,)), trials=3, seed=7)
    assert str(error).startswith("scratch, trial 1 (seed 8), ")
    assert "step 71: the target's step raised OSError: the motor is hot" in str(error)
    assert "second line" not in str(error)
    assert isinstance(error.__cause__, PolicymixError)
    assert {row.step for row in error.rows} == {0, 60}
    assert len(error.rows) == 6


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (([0.0, 1.0], 0.0, False, {}), r"step must return five values"),
        (([0.0], 0.0, False, False, {}), r"an observation of shape \(1,\), but"),
        (([0.0, 1.0], "much", False, False, {}), r"ValueError.*much"),
    ],
)
def test_what_is_no_answer_is_told_in_a_sentence(answer, words):
    error = stopped(lambda: Failing(70, answer))
    assert str(error).startswith("scratch, trial 0 (seed 0), step 71: ")
    assert re.search(words, str(error))


def test_an_environment_of_the_old_kind_is_refused_before_training():
    class Old(Line):
        def step(self, action) -> Any:
            return super().step(action)[:4]

    class Older(Line):
        def reset(self, *, seed=None, options=None) -> Any:
            return super().reset(seed=seed)[0]

    for kind, words in ((Old, "step must return five"), (Older, "reset must return")):
        with pytest.raises(PolicymixError, match=words):
            prepare(TransferTask(kind, ONLY, horizon=20))


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (([0.0], 0.0, False, False, {}), r"an observation of shape \(1,\), but"),
        (("left", 0.0, False, False, {}), r"an observation of shape \(\), but"),
        ((None, 0.0, False, False, {}), r"an observation of shape \(\), but"),
        ((["a", "b"], 0.0, False, False, {}), "observations are no numbers"),
    ],
)
def test_observations_that_are_none_are_told_before_training(answer, words):
    task = TransferTask(lambda: Failing(1, answer, range(10**8)), ONLY, horizon=20)
    with pytest.raises(PolicymixError, match=words):
        prepare(task)


def test_an_episode_begins_with_an_observation_of_the_same_shape():
    class Shrinking(Line):
        def reset(self, *, seed=None, options=None) -> Any:
            obs, info = super().reset(seed=seed)
            return (obs[:1] if seed is None else obs), info  # which is a later one

    error = stopped(Shrinking)
    assert "the target's reset returns an observation of shape (1,), but" in str(error)


def test_an_endless_reward_is_told_as_such_and_without_a_warning():
    error = stopped(lambda: Failing(70, ([0.0, 1.0], 1e308, False, False, {})))
    assert "the reward is not a finite number" in str(error)


class Late:
    """Answers as usual while its task is prepared, and a while after."""

    def __init__(self, usual, otherwise):
        self.usual, self.otherwise, self.left = usual, otherwise, math.inf

    def __call__(self, *arguments):
        self.left -= 1
        return (self.usual if self.left > 0 else self.otherwise)(*arguments)


def told_late(method, part, otherwise):
    parts: dict[str, Any] = {"policy": homeward, "dynamics": stepping}
    parts[part] = late = Late(parts[part], otherwise)
    library = SourceLibrary([SourceTask("late", **parts)])
    task = prepare(TransferTask(lambda: Line(), library, horizon=20))
    late.left = 50
    with pytest.raises(TrialError) as caught:
        train(task, method, settings=SETTINGS, progress=False)
    return str(caught.value)


def leave(*arguments):
    raise OSError("the teacher left")


def test_an_impossible_action_late_is_called_that():
    told = told_late("phi1", "policy", lambda obs: 7)
    assert "the advice of source 'late' is no action" in told


def test_a_source_that_raises_late_is_told_with_the_steps():
    told = told_late("phi1", "policy", leave)
    assert "OSError: the teacher left" in told
    assert re.match(
        r"phi1, trial 0 \(seed 0\), (steps \d+ … \d+|after step \d+): ", told
    )


@pytest.mark.parametrize("part", ["policy", "dynamics"])
def test_answers_of_another_shape_late_are_called_that(part):
    told = told_late("mars", part, lambda *_: [1.0] * 5)
    words = rf"source 'late': its {part} returns .* needs numbers of shape"
    assert re.search(words, told)


@pytest.mark.parametrize("share", [0.1, 0.5, 1.0])
def test_a_source_that_raises_while_a_task_is_prepared_is_told_as_well(share):
    """Also at the last of all questions."""

    def ready(late):
        library = SourceLibrary([SourceTask("late", late, stepping)])
        return prepare(TransferTask(lambda: Line(), library, horizon=20))

    asked = []
    ready(Late(lambda obs: asked.append(obs) or homeward(obs), leave))
    late = Late(homeward, leave)
    late.left = math.ceil(share * len(asked))
    with pytest.raises(SourceError, match=r"'late': its policy fails .*teacher left"):
        ready(late)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"steps": 200.0}, r"steps is 200\.0: it must be int"),
        ({"steps": "200"}, "steps is '200': it must be int"),
        ({"steps": 0}, "steps is 0: it must be at least 1"),
        ({"seed": "7"}, "seed is '7': it must be a whole number"),
        ({"trials": 2.0}, r"trials is 2\.0: it must be a whole number"),
        ({"trials": 0}, "trials is 0"),
    ],
)
def test_numbers_that_are_none_are_told_in_a_sentence(options, words):
    with pytest.raises(PolicymixError, match=words):
        train(MIXED, "scratch", settings=QUICK, **options, progress=False)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"discount": "high"}, "discount is 'high': it must be float"),
        ({"discount": float("nan")}, "discount is nan: it must be finite"),
        ({"layers": [8]}, r"layers is \[8\]: it must be tuple"),
        ({"layers": (0,)}, "a width of layers is 0: it must be at least 1"),
        ({"epochs": 0}, "epochs is 0: it must be at least 1"),
    ],
)
def test_settings_that_make_no_run_are_told_in_a_sentence(change, words):
    with pytest.raises(PolicymixError, match=words):
        train(MIXED, "mars", settings=replace(QUICK, **change), progress=False)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {"settings": {"steps": 5}},
            r"settings is \{'steps': 5\}: it must be Settings",
        ),
        ({"settings": 5, "steps": 5}, "settings is 5: it must be Settings"),
        ({"method": 5}, "the method is 5: it must be a name"),
        ({"mixture": 5}, "mixture is 5: it must be a mixture"),
        ({"callback": 5}, "the callback is 5: it must be a function"),
        ({"callback": [print, "x"]}, "the callback is 'x': it must be a function"),
        ({"cores": -1}, "cores is -1: it must be at least 1"),
        ({"cores": 1.5}, r"cores is 1\.5: it must be a whole number"),
        ({"task": 5}, "the task is 5: it must be a domain's name"),
        ({"task": "x" * 5_000}, "there is no domain 'xxx"),
        ({"trials": 2**62}, "it must be at most 1,048,576"),
        ({"trials": True}, "trials is True: it must be a whole number"),
    ],
)
def test_arguments_of_another_kind_are_told_in_a_sentence(options, words):
    usual = {"task": MIXED, "method": "mars", "settings": QUICK, "progress": False}
    with pytest.raises(PolicymixError, match=words):
        train(**usual | options)
