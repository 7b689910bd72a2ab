"""A simulator does what its environment would have done, from any state."""

from concurrent.futures import ThreadPoolExecutor

import gymnasium
import numpy as np
import pytest

from policymix.core.errors import SourceError
from policymix.sources.simulators import Simulator

from support.own_probes import Line


def rollout(env, steps=60, seed=3):
    """Transitions of an environment that goes its own way."""
    env.action_space.seed(seed)
    obs, _ = env.reset(seed=seed)
    rows = []
    for _ in range(steps):
        action = env.action_space.sample()
        next_obs, _, terminated, truncated, _ = env.step(action)
        rows.append((np.array(obs), action, np.array(next_obs)))
        obs = env.reset()[0] if terminated or truncated else next_obs
    return rows


def agree(simulator, rows):
    for obs, action, next_obs in rows:
        np.testing.assert_allclose(
            simulator(obs, action), next_obs, rtol=1e-4, atol=1e-5
        )


CLASSIC = ["CartPole-v1", "MountainCar-v0", "Acrobot-v1", "Pendulum-v1"]


@pytest.mark.parametrize("name", CLASSIC)
def test_it_equals_the_environment_in_any_order(name):
    rows = rollout(gymnasium.make(name))
    simulator = Simulator(gymnasium.make(name))
    agree(simulator, rows)
    agree(simulator, rows[::-1])


def test_it_can_be_asked_longer_than_an_episode_lasts():
    rows = rollout(gymnasium.make("CartPole-v1", max_episode_steps=20))
    agree(Simulator(gymnasium.make("CartPole-v1", max_episode_steps=20)), rows)


def test_mujoco_is_set_by_positions_and_velocities():
    pytest.importorskip("mujoco")
    rows = rollout(gymnasium.make("InvertedPendulum-v5"))
    agree(Simulator(gymnasium.make("InvertedPendulum-v5")), rows)


@pytest.mark.parametrize("name", ["Hopper-v5", "HalfCheetah-v5", "Swimmer-v5"])
def test_where_a_body_is_does_not_matter_to_what_it_does(name):
    pytest.importorskip("mujoco")
    rows = rollout(gymnasium.make(name), 30)
    simulator = Simulator(gymnasium.make(name))
    for obs, action, next_obs in rows:
        gaps = np.abs(simulator(obs, action) - next_obs)
        assert np.all(gaps < 1e-2 * (1 + np.abs(next_obs)))


def test_a_function_sets_what_has_no_usual_way():
    pytest.importorskip("mujoco")
    from policymix.domains.cheetah.task import make_cheetah, set_cheetah

    rows = rollout(make_cheetah("light"), 30)
    light, earth = (
        Simulator(make_cheetah(name), set_cheetah) for name in ("light", "earth")
    )
    for obs, action, next_obs in rows:
        np.testing.assert_allclose(light(obs, action), next_obs, rtol=1e-2, atol=1e-2)
    gaps = [np.abs(earth(obs, action) - after).max() for obs, action, after in rows]
    assert max(gaps) > 0.1, "gravity matters"


def test_states_may_be_numbers():
    simulator = Simulator(gymnasium.make("FrozenLake-v1", is_slippery=False))
    assert [int(simulator(np.array(0), action)) for action in range(4)] == [0, 4, 1, 0]
    assert int(simulator(np.array(14), 2)) == 15


def test_threads_take_turns():
    rows = rollout(gymnasium.make("CartPole-v1"), 400)
    simulator = Simulator(gymnasium.make("CartPole-v1"))
    with ThreadPoolExecutor(2) as threads:
        halves = rows[:200], rows[200:]
        list(threads.map(lambda half: agree(simulator, half), halves))


class Buffered(Line):
    """Writes every observation into the same array."""

    buffer = np.zeros(2, np.float32)

    def observe(self):
        self.buffer[:] = super().observe()
        return self.buffer


def put(env, obs):
    env.place = float(obs[0])


def test_an_environment_may_reuse_its_array():
    simulator = Simulator(Buffered(), put)
    first = simulator(np.array([0.5, 1.0]), 1)
    second = simulator(np.array([-2.0, 1.0]), 0)
    np.testing.assert_allclose([first[0], second[0]], [0.75, -2.25])


class Windy(Line):
    def step(self, action):
        self.place += self.np_random.normal()
        return super().step(action)


class Fuelled(Line):
    """The second component is tiny, and is no part of what can be set."""

    burnt = 0.0

    def step(self, action):
        self.burnt += 1e-4
        return super().step(action)

    def observe(self):
        return np.array([1e4 * self.place, self.burnt], np.float32)


def put_large(env, obs):
    env.place = float(obs[0]) / 1e4


REMEDY = r"set_state\(env, obs\).*fit_dynamics\(env\)"


@pytest.mark.parametrize(
    ("env", "set_state", "words"),
    [
        (Windy, put, r"does not repeat itself.*component 0"),
        (Fuelled, put_large, r"does not repeat itself.*component 1"),
        (Line, lambda env, obs: None, r"does not repeat itself"),
        (Line, lambda env, obs: env.nonsense(), r"cannot be put .*AttributeError"),
        (Line, None, r"cannot be set from its observations"),
    ],
)
def test_what_does_not_come_back_is_refused(env, set_state, words):
    with pytest.raises(SourceError, match=f"{words}.*{REMEDY}"):
        Simulator(env(), set_state)


@pytest.mark.parametrize("name", ["FrozenLake-v1", "Ant-v5"])
def test_chance_and_hidden_states_are_refused(name):
    pytest.importorskip("mujoco")
    with pytest.raises(SourceError, match=rf"{name}.*(repeat|be set).*{REMEDY}"):
        Simulator(gymnasium.make(name))
