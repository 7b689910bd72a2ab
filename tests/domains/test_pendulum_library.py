"""The shipped sources of Transfer-Pendulum, its picture and its environment."""

import gymnasium
import jax.numpy as jnp
import numpy as np
import pytest

from policymix.domains.pendulum.experiment import states
from policymix.domains.pendulum.task import observed
from policymix.environments.domain import score_of
from policymix.environments.registry import register_environments
from policymix.sources.policies import policy_of
from policymix.training.check import check_task
from policymix.training.task import load_task, prepare


@pytest.fixture(scope="module")
def task():
    return prepare(load_task("pendulum"))


def test_sources_hold_the_rod_up_at_home_and_miss_it_abroad(task):
    domain = task.domain
    for source in task.sources.sources:
        policy = policy_of(source.policy, domain.spec().action)
        home = score_of(domain, domain.family().variant(source.name), policy, 20, 10)
        abroad = score_of(domain, domain.target, policy, 20, 10)
        assert home > -300.0
        assert abroad < home - 150.0


def test_the_right_source_is_that_of_the_side(task):
    assert task.right_source is not None
    for angle, place in ((0.5, 0), (-0.5, 1)):
        obs = observed(jnp.array(angle), jnp.zeros(()))
        assert task.right_source(obs) == place
    assert states().shape == (33, 64, 1, 3)


def test_the_library_is_sound(task):
    assert all(finding.sound for finding in check_task(task))


@pytest.mark.parametrize("source", [None, "west"])
def test_the_environment_is_drawn_and_takes_torques(source):
    register_environments()
    env = gymnasium.make(
        "policymix/TransferPendulum-v0", source=source, render_mode="rgb_array"
    )
    obs, _ = env.reset(seed=0)
    after, reward, terminated, truncated, _ = env.step(np.array([0.7], np.float32))
    assert env.observation_space.contains(after)
    assert np.any(obs != after)
    assert float(reward) < 0.0
    assert not terminated
    assert not truncated
    picture = env.render()
    assert isinstance(picture, np.ndarray)
    assert picture.shape == (400, 600, 3)
    env.close()
