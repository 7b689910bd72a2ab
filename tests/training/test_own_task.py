"""A task in a file of the user's own is found by its place."""

import pytest

from policymix.core.errors import PolicymixError
from policymix.core.settings import DEFAULTS, TABLE_DEFAULTS
from policymix.environments.own_code import is_own_code
from policymix.training.task import TransferTask, domain_of, load_task

TASK = """
import policymix as pm
from near_the_task import NAME

def make():
    source = pm.SourceTask("only", lambda obs: 0, lambda obs, action: obs)
    return pm.TransferTask(NAME, pm.SourceLibrary([source]))

task = make()
number = 3

def broken():
    raise OSError("no licence")
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "near_the_task.py").write_text("NAME = 'CartPole-v1'")
    (tmp_path / "my_task.py").write_text(TASK)
    return tmp_path


@pytest.mark.parametrize(
    "place", ["{0}/my_task.py", "{0}/my_task.py:task", "{0}/my_task.py:make"]
)
def test_a_file_defines_a_task_or_makes_it(folder, place):
    task = load_task(place.format(folder))
    assert isinstance(task, TransferTask)
    assert task.target == "CartPole-v1"


def test_a_module_defines_a_task(folder):
    del folder
    assert load_task("my_task:task").sources.names == ("only",)


@pytest.mark.parametrize(
    ("place", "told"),
    [
        ("my_tusk.py", r"no such file. Did you mean .*my_task\.py"),
        ("my_task.py:tusk", "defines no 'tusk'. Did you mean 'task'"),
        ("my_task.py:number", "defines a int, no transfer task. Write task ="),
        ("my_task.py:broken", r"broken\(\) stopped at .*my_task\.py, line 13"),
    ],
)
def test_complaints_name_the_place(folder, place, told):
    with pytest.raises(PolicymixError, match=told):
        load_task(f"{folder}/{place}")


def test_domains_and_folders_are_no_code():
    assert not any(map(is_own_code, ("cartpole", "my-sources", "a/b", "C:\\a b")))
    assert all(map(is_own_code, ("a.py", "a/b.py:c", "a.b:c")))


@pytest.mark.parametrize(
    ("target", "settings"),
    [
        ("CartPole-v1", DEFAULTS),
        ("FrozenLake-v1", TABLE_DEFAULTS),
        ("Pendulum-v1", DEFAULTS),
    ],
)
def test_numbers_of_states_and_actions_have_tables(target, settings):
    assert domain_of(target, horizon=100).settings == settings
