"""Tasks that differ are told apart, whatever their functions are made of."""

from functools import partial

import jax.numpy as jnp
import numpy as np
import pytest

from policymix.sources.experts import SourceTask
from policymix.sources.fingerprint import fingerprint
from policymix.sources.library import SourceLibrary
from policymix.sources.simulators import Simulator
from policymix.training.identity import identity_of
from policymix.training.task import TransferTask, load_task, prepare

from support.own_probes import Line, homeward, stepping, task


def moved(size, obs, action):
    """Python that JAX cannot trace."""
    return [obs[0] + (size if action == 1 else -size), obs[1]]


def moved_jax(size, obs, action):
    return obs + jnp.array([size, 0.0]) * (2 * action - 1)


def reader(size):
    return lambda obs, action: moved(size, obs, action)


class Dear(Line):
    """The same with another reward."""

    def step(self, action):
        obs, reward, terminated, truncated, info = super().step(action)
        return obs, 2 * reward, terminated, truncated, info


class Moody(Line):
    """Does what it likes, whatever the seed."""

    def reset(self, *, seed=None, options=None):
        return super().reset(seed=int(np.random.default_rng().integers(2**31)))


def print_of(**parts):
    return identity_of(task(**parts))["sources"]["only"]


@pytest.mark.parametrize(
    "made", [partial(partial, moved), partial(partial, moved_jax), reader]
)
def test_functions_of_the_same_code_differ_by_what_they_read(made):
    prints = [print_of(dynamics=made(size)) for size in (0.25, 0.25, 0.26)]
    assert prints[0] == prints[1] != prints[2]


def test_simulators_differ_by_their_physics():
    def put(env, obs):
        env.place = float(obs[0])

    prints = [
        print_of(dynamics=Simulator(Line(step), put)) for step in (0.25, 0.25, 0.3)
    ]
    assert prints[0] == prints[1] != prints[2]


def test_policies_on_the_host_differ_by_what_they_do():
    prints = [print_of(policy=lambda obs, at=at: int(obs[0] < at)) for at in (0, 0.5)]
    assert prints[0] != prints[1]


def test_targets_differ_by_what_they_do_and_pay():
    targets = [Line, lambda: Line(0.25), lambda: Line(0.26), Dear]
    prints = [identity_of(task(target=target))["target"] for target in targets]
    assert prints[0] == prints[1]
    assert len(set(prints)) == 3


def test_what_is_left_to_chance_is_not_held_to_it():
    rng = np.random.default_rng(0)
    assert "target" not in identity_of(task(target=Moody))
    prepared = task(policy=lambda obs: int(rng.integers(2)))
    assert prepared.prints is not None
    assert prepared.prints.sources == {}
    print_of = identity_of(prepared)["sources"]["only"]
    assert print_of == fingerprint(prepared.sources.sources[0])


def test_sources_of_the_package_are_what_they_are_made_of():
    prepared = prepare(load_task("cartpole"))
    assert identity_of(prepared) == {
        "sources": {s.name: fingerprint(s) for s in prepared.sources.sources}
    }
    own = SourceLibrary([SourceTask("mine", lambda obs: 0, lambda obs, action: obs)])
    assert prepare(TransferTask("cartpole", own)).prints is not None


def test_the_same_task_made_again_is_the_same():
    one, other = (identity_of(task(homeward, stepping)) for _ in range(2))
    assert one == other
