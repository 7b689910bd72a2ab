"""Blocks of trials on executors: the same files, whatever becomes of workers."""

import os
from concurrent.futures import BrokenExecutor, Future
from dataclasses import replace

import pytest

from policymix.core.errors import PolicymixError
from policymix.core.progress import silent
from policymix.experiments import blocks
from policymix.experiments.blocks import Block, run_block, run_on
from policymix.experiments.executors import Processes, open_executor
from policymix.experiments.plans import Experiment, Part
from policymix.experiments.runner import Wanted, run_here
from policymix.experiments.snapshots import reference
from policymix.storage.runs import FACTS

from support.probes import MIXED, QUICK

TASK = replace(
    MIXED,
    target=replace(MIXED.domain, study=replace(MIXED.domain.study, looks=(0, 100))),
)
SETTINGS = replace(QUICK, steps=100, refresh_every=50, evaluate_every=50)
SMALL = Experiment(TASK, SETTINGS, 3, 5, (Part("scratch"), Part("mars-explicit")))


class Here:
    """An executor whose workers die at the first tries of some blocks.

    Args:
        deaths: how often the worker of the block with this first trial dies.
        error: how that looks to whoever waits.
    """

    workers = 1

    def __init__(self, deaths=None, error: type[Exception] = BrokenExecutor):
        self.deaths, self.error, self.begun = dict(deaths or {}), error, []

    def submit(self, function, /, *arguments):
        (block,) = arguments
        self.begun.append((block.part.name, block.first))
        answer = Future()
        if self.deaths.get(block.first, 0) > 0:
            self.deaths[block.first] -= 1
            answer.set_exception(self.error("the node is gone"))
        else:
            answer.set_result(function(block))
        return answer


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    """Workers find the small experiment under its name."""
    monkeypatch.setattr(blocks, "planned", lambda *_: (SMALL, reference(SMALL.task)))


def wanted_in(out):
    return [Wanted(SMALL, part, out / part.name) for part in SMALL.parts]


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    """All files but the facts, which tell how long it took."""
    out = tmp_path_factory.mktemp("here")
    run_here(wanted_in(out), silent, lambda *_: None)
    return files_in(out)


def files_in(out):
    return {
        path.relative_to(out).as_posix(): path.read_bytes()
        for path in out.rglob("*")
        if path.is_file() and path.name != FACTS
    }


@pytest.mark.parametrize("size", [1, 2, 5])
def test_blocks_of_any_size_are_the_files_of_one_piece(here, tmp_path, size):
    told = []
    run_on(Here(), wanted_in(tmp_path), False, size, lambda w, b, m: told.append(b))
    assert files_in(tmp_path) == here
    assert sum(block.trials for block in told) == 2 * SMALL.trials


def test_a_block_whose_worker_is_lost_runs_again_and_nothing_twice(here, tmp_path):
    executor = Here({2: 2})
    run_on(executor, wanted_in(tmp_path), False, 2, lambda *_: None)
    assert files_in(tmp_path) == here
    assert len(executor.begun) == len(set(executor.begun)) + 2


def test_what_is_lost_again_and_again_is_named_and_the_rest_is_kept(tmp_path):
    executor, wanted = Here({2: 3}), wanted_in(tmp_path)
    with pytest.raises(
        PolicymixError, match=r"1 of 2 parts (.|\n)* trials 2 to 2 were begun 3"
    ):
        run_on(executor, wanted, False, 2, lambda *_: None)
    assert [each.out.exists() for each in wanted].count(True) == 1


def test_a_mistake_of_the_trial_itself_is_not_tried_again(tmp_path):
    executor = Here({0: 9}, error=PolicymixError)
    with pytest.raises(PolicymixError, match="the node is gone"):
        run_on(executor, wanted_in(tmp_path)[:1], False, 5, lambda *_: None)
    assert len(executor.begun) == 1


def test_a_worker_tells_what_is_wrong_in_a_sentence_that_can_travel(monkeypatch):
    def fail(*_):
        raise blocks_error()

    def blocks_error():
        from policymix.core.errors import FileFormatError

        return FileFormatError("place", "field", "it is odd", "Mend it")

    monkeypatch.setattr(blocks, "planned", fail)
    with pytest.raises(PolicymixError, match="place: field: it is odd") as caught:
        run_block(Block("maze", False, 0, Part("mars"), 0, 1))
    assert type(caught.value) is PolicymixError


def test_processes_outlive_one_that_dies():
    processes = Processes(1)
    try:
        with pytest.raises(BrokenExecutor):
            processes.submit(os._exit, 1).result()
        assert processes.submit(abs, -3).result() == 3
    finally:
        processes.shutdown()


def test_an_executor_that_is_not_there_is_named():
    with (
        pytest.raises(
            PolicymixError, match="no executor 'slurm': choose processes, ray"
        ),
        open_executor("slurm"),
    ):
        pass
