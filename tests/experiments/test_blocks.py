"""Blocks of trials on executors: the same files, whatever becomes of workers."""

import os
import subprocess
import sys
from concurrent.futures import BrokenExecutor, Future
from dataclasses import replace

import pytest

from policymix.core.errors import PolicymixError
from policymix.core.executor import at_work
from policymix.core.progress import silent
from policymix.experiments import blocks
from policymix.experiments.blocks import Block, Blockwise, run_block, run_on
from policymix.experiments.executors import Processes, open_executor
from policymix.experiments.plans import Experiment, Part
from policymix.experiments.run_blocks import run_methods_on
from policymix.experiments.runner import Wanted, run_here, run_methods
from policymix.experiments.snapshots import reference
from policymix.experiments.visited import watch_visited
from policymix.reports.compare import compare
from policymix.sources.experts import SourceTask
from policymix.sources.library import SourceLibrary
from policymix.storage.places import GOING_ON
from policymix.storage.runs import FACTS, ROWS, files_of
from policymix.training import source_library
from policymix.training.loop import lanes_of
from policymix.training.task import TransferTask, prepare

from support.own_probes import BRIEF, Line, homeward, stepping
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
        first = getattr(arguments[0], "first", 0)
        self.begun.append(arguments[:1])
        answer = Future()
        if self.deaths.get(first, 0) > 0:
            self.deaths[first] -= 1
            answer.set_exception(self.error("the node is gone"))
        else:
            answer.set_result(function(*arguments))
        return answer


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    """Workers find the small experiment under its name."""
    monkeypatch.setattr(blocks, "task_at", lambda *_: SMALL.task)
    monkeypatch.setattr(blocks, "reference_at", lambda *_: reference(SMALL.task))


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
    run_on(Blockwise(Here(), size), wanted_in(tmp_path), lambda w, b, m: told.append(b))
    assert files_in(tmp_path) == here
    assert sum(block.trials for block in told) == 2 * SMALL.trials


def test_a_block_whose_worker_is_lost_runs_again_and_nothing_twice(here, tmp_path):
    executor = Here({2: 2})
    run_on(Blockwise(executor, 2), wanted_in(tmp_path), lambda *_: None)
    assert files_in(tmp_path) == here
    tried = [(block.part.name, block.first) for (block,) in executor.begun]
    assert len(tried) == len(set(tried)) + 2


def test_what_is_lost_again_and_again_is_named_and_the_rest_is_kept(tmp_path):
    executor, wanted = Here({2: 3}), wanted_in(tmp_path)
    with pytest.raises(
        PolicymixError, match=r"1 of 2 parts (.|\n)* trials 2 to 2: begun 3 times"
    ):
        run_on(Blockwise(executor, 2), wanted, lambda *_: None)
    assert [each.out.exists() for each in wanted].count(True) == 1


def test_a_mistake_of_the_trial_itself_is_not_tried_again(tmp_path):
    executor = Here({0: 9}, error=PolicymixError)
    with pytest.raises(PolicymixError, match="the node is gone"):
        run_on(Blockwise(executor), wanted_in(tmp_path)[:1], lambda *_: None)
    assert len(executor.begun) == 1


def test_a_worker_tells_what_is_wrong_in_a_sentence_that_can_travel(monkeypatch):
    def fail(*_):
        raise blocks_error()

    def blocks_error():
        from policymix.core.errors import FileFormatError

        return FileFormatError("place", "field", "it is odd", "Mend it")

    monkeypatch.setattr(blocks, "task_at", fail)
    with pytest.raises(PolicymixError, match="place: field: it is odd") as caught:
        run_block(Block("maze", SETTINGS, Part("mars"), 0, 0, trials=1, lanes=1))
    assert type(caught.value) is PolicymixError


def test_processes_outlive_one_that_dies():
    processes = Processes(1)
    try:
        with pytest.raises(BrokenExecutor):
            processes.submit(os._exit, 1).result()
        assert processes.submit(abs, -3).result() == 3
    finally:
        processes.shutdown()


COUNT = """
from pathlib import Path
from policymix.core.executor import at_work
with at_work():
    import jax
    jax.numpy.ones(3).block_until_ready()
names = [path.read_text() for path in Path("/proc/self/task").glob("*/comm")]
print(sum("XLAEigen" in name for name in names), "PJRT_NPROC" in os.environ)
"""
MEMORY = "XLA_PYTHON_CLIENT_PREALLOCATE"


@pytest.mark.parametrize(("asked", "told"), [(None, "1 False"), ("3", "3 True")])
def test_a_worker_computes_with_one_thread_unless_told_otherwise(asked, told):
    """Twelve workers on 16 cores made a load of 82, and took twice their time."""
    env = {
        **os.environ,
        "JAX_PLATFORMS": "cpu",
        **({"PJRT_NPROC": asked} if asked else {}),
    }
    command = [sys.executable, "-c", f"import os\n{COUNT}"]
    found = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    assert found.stdout.strip() == told


@pytest.mark.parametrize(("asked", "told"), [(None, "false"), ("true", "true")])
def test_driver_and_workers_share_the_memory_of_a_gpu_unless_told_otherwise(
    monkeypatch, asked, told
):
    """JAX takes three quarters of it when it begins, and the next one fails."""
    monkeypatch.delenv(MEMORY, raising=False)
    if asked:
        monkeypatch.setenv(MEMORY, asked)
    with open_executor("processes", workers=1) as executor:
        assert os.environ[MEMORY] == told
        assert executor is not None
        assert executor.submit(os.getenv, MEMORY).result() == told
    assert os.environ.get(MEMORY) == asked
    with at_work():
        assert os.environ[MEMORY] == told
    assert os.environ.get(MEMORY) == asked


def test_an_executor_that_is_not_there_is_named():
    with (
        pytest.raises(
            PolicymixError, match="no executor 'slurm': choose processes, ray"
        ),
        open_executor("slurm"),
    ):
        pass


def test_a_run_in_blocks_is_the_run_and_goes_on_with_or_without_workers(tmp_path):
    methods = [part.method for part in SMALL.parts]
    numbers = (methods, SETTINGS, SMALL.seed, SMALL.trials)
    whole, out = tmp_path / "whole", tmp_path / "out"
    expected = run_methods(TASK, *numbers, whole, silent)
    lost = Blockwise(Here({2: 6}), 2)
    with pytest.raises(PolicymixError, match="2 of 2 parts could not be run"):
        run_methods_on(lost, TASK, *numbers, out, silent)
    once = Here({0: 3})
    with pytest.raises(PolicymixError, match="1 of 2 parts could not be run"):
        run_methods_on(Blockwise(once, 2), TASK, *numbers, out, silent)
    kept = (out / ROWS).read_bytes()
    assert kept.count(b"\n") == 1 + len(expected) // 2
    run_methods(TASK, *numbers, out, silent)
    assert (out / ROWS).read_bytes() == (whole / ROWS).read_bytes()
    assert not (out / GOING_ON).exists()


@pytest.mark.learning
def test_a_run_on_an_environment_has_the_same_rows_in_blocks(tmp_path, monkeypatch):
    sources = SourceLibrary([SourceTask("only", homeward, stepping)])
    task = prepare(TransferTask(Line, sources, horizon=20))
    monkeypatch.setattr(blocks, "task_at", lambda *_: task)
    settings = replace(BRIEF, steps=120, evaluate_every=60)
    numbers = (("scratch",), settings, 5, 1)
    here = run_methods(task, *numbers, tmp_path / "here", silent)
    there = run_methods_on(
        Blockwise(Here(), 1), task, *numbers, tmp_path / "there", silent
    )
    assert list(map(str, there)) == list(map(str, here))  # nan is nan


def test_looks_at_visited_states_are_those_of_one_piece(tmp_path):
    """The first block says in which states the mixtures of the others are looked at."""
    found, part = [], SMALL.parts[1]
    wanted = Wanted(SMALL, part, tmp_path, look="visited")
    blockwise = Blockwise(Here(), 2)
    run_on(blockwise, [wanted], lambda *_: None, lambda w, made, _: found.append(made))
    whole = watch_visited(SMALL, part, silent, lanes=lanes_of(SMALL.trials))
    assert found[0].files() == whole.files()
    assert files_of({}, found[0].rows) == files_of({}, whole.rows)
    assert whole.arrays["trust"].shape[1] == SMALL.trials


def test_each_source_is_trained_by_a_worker_and_again_if_that_is_lost(monkeypatch):
    known = {source.name: source for source in MIXED.sources.sources}

    def train(domain, name, seed):
        return known[name], {"own_score": float(seed), "domain": domain}

    monkeypatch.setattr(source_library, "trained_source", train)
    executor, seeds = Here({0: 2}), {name: 7 + i for i, name in enumerate(known)}
    found = source_library.train_all_on(executor, "maze", seeds, silent)
    assert [source.name for source, _ in found] == list(known)
    assert [facts["own_score"] for _, facts in found] == list(seeds.values())
    assert len(executor.begun) == len(known) + 2


def test_a_task_in_memory_is_not_sent(tmp_path):
    with pytest.raises(PolicymixError, match="give its place: a domain"):
        compare(TASK, out=tmp_path / "out", executor=Here())
    assert not (tmp_path / "out").exists()
