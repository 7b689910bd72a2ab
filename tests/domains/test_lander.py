"""The lander: Gymnasium's physics draw for draw, and four tasks that differ in data."""

import copy
import dataclasses
import pickle
import sys
import warnings
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils.env_checker import check_env

from policymix.core.errors import DomainError, MissingExtraError
from policymix.domains.lander.physics import Lander, reference
from policymix.domains.lander.picture import make_lander as typed_make_lander
from policymix.domains.lander.task import (
    HOVERING,
    SOURCES,
    TARGET,
    UNMODIFIED,
    DrawAhead,
    in_hover_box,
)

TASKS = [None, *SOURCES]
make_lander: Any = typed_make_lander  # tests look behind Gymnasium's interface


def episode(env, choose, seed=None):
    """Play to the end; returns observations, rewards, `terminated` and `info`."""
    obs, _ = env.reset(seed=seed)
    observations, rewards = [obs], []
    while True:
        obs, reward, terminated, truncated, info = env.step(choose(obs))
        observations.append(obs)
        rewards.append(reward)
        if terminated or truncated:
            return np.array(observations), np.array(rewards), terminated, info


def random_pilot(seed):
    rng = np.random.default_rng(seed)
    return lambda obs: int(rng.integers(4))


def good_pilot(env) -> Any:
    return lambda obs: reference.heuristic(env, obs)


def state_of(env):
    return env.np_random.bit_generator.state


@pytest.mark.parametrize("pilot", ["random", "heuristic"])
def test_unmodified_task_is_gymnasiums_own(pilot):
    """Exactly equal over several episodes, of which only the first is seeded."""
    theirs: Any = gymnasium.make("LunarLander-v3").unwrapped
    ours = Lander(UNMODIFIED)
    for number in range(6):
        seed = 7 if number == 0 else None
        obs, _ = theirs.reset(seed=seed)
        mine, _ = ours.reset(seed=seed)
        assert ours.sky_polys == theirs.sky_polys
        choose = good_pilot(theirs) if pilot == "heuristic" else random_pilot(number)
        terminated = False
        while not terminated:
            np.testing.assert_array_equal(mine, obs)
            action = choose(obs)
            obs, reward, terminated, _, _ = theirs.step(action)
            mine, my_reward, my_terminated, truncated, _ = ours.step(action)
            assert my_reward == reward
            assert my_terminated == terminated
            if number % 2:  # looking puts back what was drawn ahead
                assert state_of(ours) == state_of(theirs)
            if truncated:
                break
        np.testing.assert_array_equal(mine, obs)
    assert state_of(ours) == state_of(theirs)


def test_a_generator_given_by_hand_is_used_from_where_it_stands():
    """And the one it replaces is left where single draws would have left it."""
    theirs: Any = gymnasium.make("LunarLander-v3").unwrapped
    ours: Any = Lander(UNMODIFIED)
    for env in (theirs, ours):
        env.reset(seed=5)
        first = env.np_random
        for _ in range(3):
            env.step(2)
        env.np_random = np.random.Generator(np.random.MT19937(8))
        env.first, env.seen = first.bit_generator.state, [env.step(1)[0]]
        env.seen += [env.reset()[0], env.step(3)[0]]
    assert ours.first == theirs.first
    np.testing.assert_array_equal(ours.seen, theirs.seen)
    assert ours.np_random_seed == theirs.np_random_seed == -1


@pytest.mark.parametrize("used", [0, 1, 127, 128, 129, 300])
def test_draws_ahead_are_single_draws_and_can_be_put_back(used):
    rng, single = np.random.default_rng(0), np.random.default_rng(0)
    for generator in (rng, single):  # half of a 64-bit draw is kept for the next
        generator.integers(9, dtype=np.uint32)
    ahead = DrawAhead()
    for _ in range(used):
        assert (ahead.ready or ahead.refill(rng)).pop() == single.random()
    ahead.put_back()
    assert rng.bit_generator.state == single.bit_generator.state


@pytest.mark.parametrize("pilot", ["random", "heuristic"])
def test_target_defers_the_whole_return_to_the_end(pilot):
    """Same states as the unmodified task, zero reward until the end, same sum."""
    sparse, dense = make_lander(), Lander(UNMODIFIED)
    for seed in range(3):
        runs = []
        for env in (sparse, dense):
            choose = good_pilot(env) if pilot == "heuristic" else random_pilot(seed)
            runs.append(episode(env, choose, seed))
        (states, rewards, _, info), (states_dense, rewards_dense, _, _) = runs
        np.testing.assert_array_equal(states, states_dense)
        assert not rewards[:-1].any()
        assert rewards[-1] == info["raw_return"]
        assert rewards[-1] == pytest.approx(rewards_dense.sum())


def test_target_pays_at_the_time_out_and_ends_there():
    """A time-out is terminal in the target, cut short (truncated) in a source."""
    for deferred, expected in ((True, 1), (False, 0)):
        params = dataclasses.replace(UNMODIFIED, deferred=deferred, horizon=20)
        _, rewards, terminated, info = episode(Lander(params), lambda obs: 0, seed=0)
        assert len(rewards) == 20
        assert terminated == expected
        assert info["outcome"] == "time-out"
        assert rewards.sum() == pytest.approx(info["raw_return"])
        assert bool(rewards[:-1].any()) != deferred
    assert TARGET.horizon == 1000


@pytest.mark.parametrize("source", TASKS)
def test_checkers_have_nothing_to_say(source, monkeypatch):
    from stable_baselines3.common.env_checker import check_env as sb3_check_env

    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")  # "human" is checked as well
    spec = EnvSpec(
        "Lander-v0",
        "policymix.domains.lander.picture:make_lander",
        kwargs={"source": source},
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(gymnasium.make(spec).unwrapped)
        sb3_check_env(gymnasium.make(spec))


@pytest.mark.parametrize("source", TASKS)
def test_spaces_are_shared_and_hold(source):
    """Whatever the pilot does: at random, climbing for ever, spinning for ever."""
    env = make_lander(source)
    assert env.observation_space == make_lander().observation_space
    assert env.action_space == make_lander().action_space
    pilots = [random_pilot(s) for s in range(5)] + [lambda o: 2, lambda o: 1]
    for seed, choose in enumerate(pilots):
        for obs in episode(env, choose, seed)[0]:
            assert env.observation_space.contains(obs)


def test_bounds_are_needed():
    """A low-mass craft under full thrust leaves Gymnasium's own box."""
    observations = episode(make_lander("low-mass"), lambda obs: 2, seed=0)[0]
    assert not all(
        gymnasium.make("LunarLander-v3").observation_space.contains(obs)
        for obs in observations
    )


@pytest.mark.parametrize("source", TASKS)
def test_seeds_are_honoured_and_terrain_is_new_each_episode(source):
    env, twin = make_lander(source), make_lander(source)
    first, again = env.reset(seed=3)[0], twin.reset(seed=3)[0]
    np.testing.assert_array_equal(first, again)
    terrains = [env.unwrapped.sky_polys]
    assert terrains[0] == twin.unwrapped.sky_polys
    for _ in range(3):
        env.reset()
        assert env.unwrapped.sky_polys not in terrains
        terrains.append(env.unwrapped.sky_polys)
    env.reset(seed=3)
    assert env.unwrapped.sky_polys == terrains[0]


def test_land_starts_low_anywhere_above_the_pad_with_its_legs_on():
    env = make_lander("land")
    starts = []
    for seed in range(60):
        obs, _ = env.reset(seed=seed)
        starts.append(obs[:2])
        hull = np.array(env.unwrapped.lander.position)
        legs = [np.array(leg.position) - hull for leg in env.unwrapped.legs]
        np.testing.assert_allclose(legs[0] * [-1, 1], legs[1], atol=0.1)
        assert np.linalg.norm(legs[0]) < 1.0
    x, y = np.transpose(starts)
    assert x.min() < -0.4
    assert x.max() > 0.4
    assert np.abs(x).max() < 0.55
    np.testing.assert_allclose(y, 0.4, atol=0.03)


def test_low_mass_weighs_a_tenth():
    masses = {}
    for source in (None, "low-mass"):
        env = make_lander(source).unwrapped
        env.reset(seed=0)
        masses[source] = [body.mass for body in (env.lander, *env.legs)]
    np.testing.assert_allclose(masses["low-mass"], 0.1 * np.array(masses[None]), 1e-5)


def test_coming_to_rest_pays_a_hundred():
    env = make_lander("land")
    _, rewards, terminated, info = episode(env, good_pilot(env), seed=1)
    assert terminated
    assert info["outcome"] == "rest"
    assert rewards[-1] == 100.0


def test_hover_fails_near_the_ground():
    observations, rewards, terminated, info = episode(
        make_lander("hover"), lambda obs: 0, seed=0
    )
    assert terminated
    assert info["outcome"] == "failure"
    assert rewards[-1] == -100.0
    assert observations[-1][1] < 0.1
    assert (observations[:-1, 1] >= 0.1).all()


def test_hover_is_best_at_rest_inside_its_box():
    centre = [0.0, 0.4, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    assert in_hover_box(centre)
    assert HOVERING.judge(*centre) == (0.0, 1.0, False)
    for component, value in [(0, 0.2), (1, 0.6), (1, 0.2), (3, 0.1), (4, -0.1)]:
        other = list(centre)
        other[component] = value
        assert HOVERING.judge(*other)[0] < 0.0
    assert HOVERING.judge(0.2, *centre[1:]) == pytest.approx((-20.0, 0.0, False))


def test_unknown_source_is_named_with_a_suggestion():
    with pytest.raises(
        DomainError, match=r"'hoover'.*'hover', 'land', 'low-mass'"
    ) as e:
        make_lander("hoover")
    assert "Did you mean 'hover'?" in str(e.value)


def test_missing_box2d_says_what_to_install(monkeypatch):
    for name in list(sys.modules):
        if name.startswith(("Box2D", "gymnasium.envs.box2d")):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.delitem(sys.modules, "policymix.domains.lander.physics")
    monkeypatch.setitem(sys.modules, "Box2D", None)
    with pytest.raises(MissingExtraError, match=r"policymix\[box2d\]"):
        make_lander()


def test_illegal_action_is_refused():
    env = make_lander()
    env.reset(seed=0)
    with pytest.raises(ValueError, match="action 4"):
        env.step(4)


def test_picture_shows_the_craft():
    """The hull's colour is where the hull is, and plumes do not alter the flight."""
    env, blind = make_lander(render_mode="rgb_array"), make_lander()
    env.reset(seed=0)
    blind.reset(seed=0)
    for _ in range(20):
        obs, *_ = env.step(2)
        np.testing.assert_array_equal(obs, blind.step(2)[0])
    picture = env.render()
    env.close()
    assert picture.shape == (400, 600, 3)
    position = env.unwrapped.lander.position
    column, row = round(position.x * 30), 400 - round(position.y * 30)
    assert tuple(picture[row, column]) == (128, 102, 230)


@pytest.mark.parametrize(
    "clone", [copy.deepcopy, lambda e: pickle.loads(pickle.dumps(e))]
)
def test_copies_are_the_same_task(clone):
    env = clone(make_lander("low-mass"))
    assert env.unwrapped.params == SOURCES["low-mass"]
    np.testing.assert_array_equal(
        env.reset(seed=1)[0], make_lander("low-mass").reset(seed=1)[0]
    )
