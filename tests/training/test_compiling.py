"""Programs are compiled once: an equal call finds them all."""

from dataclasses import replace

import jax.monitoring
import numpy as np
import pytest

import policymix as pm
from policymix.beliefs.belief import gather_evidence
from policymix.training.task import prepare
from policymix.training.train import train

from support.own_probes import Line
from support.probes import MIXED, QUICK, on_host

pytestmark = pytest.mark.learning

EVENT = "/jax/core/compile/backend_compile_duration"
SMALL = pm.Settings(
    layers=(8,),
    mixture_layers=(8,),
    epochs=1,
    evaluation_episodes=1,
    final_episodes=1,
)
compiled = []


@pytest.fixture(scope="module", autouse=True)
def _count():
    """Every program that XLA compiles is noted."""

    def note(event: str, duration_secs: float, **more):
        if event == EVENT:
            compiled.append(duration_secs)

    jax.monitoring.register_event_duration_secs_listener(note)


def programs(call):
    """How many programs a call compiles."""
    before = len(compiled)
    call()
    return len(compiled) - before


def brief(task, method="mars-explicit", **more):
    more = {"settings": QUICK, **more}
    return train(task, method, steps=100, trials=2, progress=False, **more)


@pytest.mark.parametrize("method", ["mars", "caps", "scratch"])
def test_an_equal_call_on_a_domain_compiles_nothing(method):
    brief(MIXED, method)
    assert programs(lambda: brief(MIXED, method)) == 0


def test_a_domain_that_is_loaded_again_compiles_nothing():
    brief("cartpole", settings=SMALL)
    assert programs(lambda: brief("cartpole", settings=SMALL)) == 0
    assert programs(lambda: brief("cartpole", settings=SMALL, seed=5)) == 0


def test_an_equal_call_on_an_environment_compiles_nothing():
    task = on_host(MIXED)
    brief(task)
    assert programs(lambda: brief(task)) == 0


def homeward(obs):
    return 0 if obs[0] > 0 else 1


def stepping(obs, action):
    return np.asarray(obs)


def own_task(policy=homeward):
    source = pm.SourceTask("plain", policy, stepping)
    return pm.TransferTask(Line, pm.SourceLibrary([source]), horizon=20)


def test_equal_calls_with_the_same_python_functions_compile_nothing():
    task = prepare(own_task())
    brief(task, settings=SMALL)
    assert programs(lambda: brief(task, settings=SMALL)) == 0


def test_other_python_functions_in_another_task_compile_no_program_of_the_loop():
    def train_on(policy):
        brief(prepare(own_task(policy)), settings=SMALL)

    def prepare_alone(policy):
        prepare(own_task(policy))

    train_on(homeward)
    tried = programs(lambda: prepare_alone(lambda obs: int(obs[0] > 0)))
    assert programs(lambda: train_on(lambda obs: int(obs[0] > 0))) == tried


def test_evidence_is_gathered_by_one_program():
    cells = np.arange(6)
    rows = (cells, np.zeros(6, int), cells + 1)
    gather_evidence(MIXED.sources, rows)
    assert programs(lambda: gather_evidence(MIXED.sources, rows)) == 0


def test_the_count_can_rise():
    wider = replace(QUICK, layers=(3,))
    assert programs(lambda: brief(MIXED, "scratch", settings=wider)) > 0
