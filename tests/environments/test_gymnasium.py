"""The domains seen through Gymnasium, as a user of Stable-Baselines3 would."""

import dataclasses
import subprocess
import sys
import warnings
from importlib.util import find_spec

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.error import InvalidAction, ResetNeeded
from gymnasium.utils.env_checker import check_env
from gymnasium.wrappers import RecordEpisodeStatistics

from policymix.core.errors import DomainError
from policymix.domains.cartpole.picture import (
    ROUGH,
    SLIPPERY,
    draw_cartpole,
    make_cartpole,
)
from policymix.domains.cartpole.task import cartpole_family, constant_force
from policymix.domains.maze.files import load_mazes
from policymix.domains.maze.generator import generate_mazes
from policymix.domains.maze.picture import make_maze
from policymix.domains.maze.task import optimal_policy, steps_to_goal
from policymix.environments.drawing import INK, RED
from policymix.environments.gymnasium import DomainEnv
from policymix.environments.registry import ENVIRONMENTS, register_environments

MAZE, CARTPOLE = "policymix/TransferMaze-v0", "policymix/TransferCartPole-v0"
VARIANTS = [
    *((MAZE, {"source": name}) for name in (None, *load_mazes().sources)),
    (MAZE, {"maze_seed": 7, "source": "lower-right"}),
    *((CARTPOLE, {"source": name}) for name in (None, *cartpole_family().sources)),
]

register_environments()


def episode(env, policy, seed=None):
    """Every outcome of one episode, the reset's observation first."""
    obs, _ = env.reset(seed=seed)
    rows = [obs]
    while True:
        obs, reward, terminated, truncated, _ = env.step(policy(obs))
        rows.append((obs, reward, terminated, truncated))
        if terminated or truncated:
            return rows


@pytest.mark.parametrize(("name", "kwargs"), VARIANTS)
def test_gymnasiums_checker_is_content(name, kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(gymnasium.make(name, **kwargs).unwrapped)


@pytest.mark.parametrize(("name", "kwargs"), VARIANTS)
def test_stable_baselines_checker_is_content(name, kwargs):
    checker = pytest.importorskip("stable_baselines3.common.env_checker")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env = gymnasium.make(name, render_mode="rgb_array", **kwargs)
        checker.check_env(env, skip_render_check=False)


def test_every_observation_is_in_the_box_the_failing_one_too():
    env = make_cartpole("slippery")
    for seed in range(20):
        rows = episode(env, lambda obs: 3 if obs[0] > 0 else 0, seed)
        assert all(env.observation_space.contains(row[0]) for row in rows[1:])
        last = rows[-1]
        assert last[2]
        assert last[1] == 0.0


@pytest.mark.parametrize("make", [make_maze, lambda: make_cartpole("rough")])
def test_a_seed_fixes_the_episode(make):
    actions = np.random.default_rng(0).integers(4, size=30)

    def run(seed):
        env = make()
        observations = [env.reset(seed=seed)[0]]
        observations += [env.step(action)[0] for action in actions[:10]]
        return np.array(observations)

    np.testing.assert_array_equal(run(5), run(5))


def test_episodes_and_seeds_start_differently():
    env = make_cartpole()
    starts = [env.reset(seed=seed)[0][0] for seed in range(5)]
    starts += [env.reset()[0][0] for _ in range(5)]
    assert len(set(starts)) == 10


def test_the_optimal_policy_solves_the_maze_in_86_steps():
    policy = np.asarray(optimal_policy(load_mazes().target))
    rows = episode(make_maze(), lambda obs: policy[obs])
    assert len(rows) - 1 == 86
    assert rows[-1][1:] == (1.0, True, False)
    assert all(row[1:] == (pytest.approx(-0.01), False, False) for row in rows[1:-1])


def test_reaching_the_goal_at_the_horizon_is_no_truncation():
    """Step up and down again 107 times: exactly the optimum's 86 steps are left."""
    policy = np.asarray(optimal_policy(load_mazes().target))
    env = make_maze()
    obs, outcome = env.reset()
    for action in [1, 3] * 107:
        obs, *outcome, _ = env.step(action)
        assert outcome == [pytest.approx(-0.01), False, False]
    for _ in range(86):
        obs, *outcome, _ = env.step(policy[obs])
    assert outcome == [1.0, True, False]


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_nothing_but_the_environment_enforces_the_horizon(name):
    assert gymnasium.spec(name).max_episode_steps is None
    if name == MAZE:
        assert "TimeLimit" not in str(gymnasium.make(name))


def test_a_walk_into_a_wall_is_truncated_at_the_horizon():
    rows = episode(gymnasium.make(MAZE, source="lower-left"), lambda obs: 1)
    assert len(rows) - 1 == 300
    assert rows[-1][2:] == (False, True)
    assert not any(row[3] for row in rows[1:-1])


def test_a_cart_that_nothing_moves_is_truncated_at_the_horizon():
    """No push and no gravity."""
    still = dataclasses.replace(
        constant_force(0.0), gravity=0.0, start_spread=(1.5, 0.0, 0.0, 0.0)
    )
    rows = episode(DomainEnv(still, draw_cartpole), lambda obs: 0)
    assert len(rows) - 1 == 500
    assert rows[-1][1:] == (1.0, False, True)


@pytest.mark.parametrize(
    ("name", "source", "message"),
    [
        (CARTPOLE, "slipery", "'rough', 'slippery', 'long-pole'.*mean 'slippery'?"),
        (MAZE, "attic", "Transfer-Maze has no source 'attic': it has 'upper-left'"),
    ],
)
def test_an_unknown_source_is_told_the_names(name, source, message):
    with pytest.raises(DomainError, match=message):
        gymnasium.make(name, source=source)


def test_sources_move_differently():
    """One push from one state: the velocity grows in the ratio of the forces."""
    gains = {}
    for source in ("rough", "slippery"):
        env = make_cartpole(source)
        before = env.reset(seed=3)[0]
        gains[source] = env.step(3)[0][1] - before[1]
    assert gains["slippery"] / gains["rough"] == pytest.approx(15, rel=0.05)


def test_a_maze_seed_draws_the_walls():
    env = make_maze(maze_seed=11)
    family = generate_mazes(11)
    policy = np.asarray(optimal_policy(family.target))
    steps = int(steps_to_goal(family.target)[family.target.start])
    assert len(episode(env, lambda obs: policy[obs])) - 1 == steps


def test_misuse_is_refused():
    env = make_cartpole()
    with pytest.raises(ResetNeeded):
        env.step(0)
    env.reset()
    with pytest.raises(InvalidAction, match=r"4 is not in Discrete\(4\)"):
        env.step(4)
    with pytest.raises(DomainError, match="rgb_array"):
        make_cartpole(render_mode="ascii")


def test_observations_are_the_callers_own():
    env = make_cartpole()
    obs, _ = env.reset(seed=0)
    obs[:] = 99.0
    assert env.observation_space.contains(env.step(0)[0])


def test_wrappers_and_vector_environments_work():
    envs = gymnasium.make_vec(CARTPOLE, 3, wrappers=[RecordEpisodeStatistics])
    obs, _ = envs.reset(seed=0)
    assert obs.shape == (3, 4)
    assert envs.step(np.array([0, 1, 2]))[0].dtype == np.float32
    envs.close()


def test_registering_is_light_and_repeatable():
    """Neither jax nor a domain is loaded; a second call changes nothing."""
    spec = find_spec("policymix.environments.registry")
    assert spec is not None
    program = f"""
import runpy, sys, warnings
warnings.simplefilter("error")
register = runpy.run_path({spec.origin!r})["register_environments"]
register()
register()
import gymnasium
print(sorted(name for name in gymnasium.registry if name.startswith("policymix/")))
print("jax" in sys.modules, any("policymix.domains" in m for m in sys.modules))
"""
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert run.stdout.splitlines() == [str(sorted(ENVIRONMENTS)), "False False"]


def test_the_domains_do_without_gymnasium():
    """Compiled trials run on machines that have none."""
    program = """
import sys
sys.modules["gymnasium"] = None
import policymix.domains.cartpole.task, policymix.domains.maze.generator
import policymix.domains.maze.files
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_the_maze_is_drawn():
    env = make_maze(render_mode="rgb_array")
    obs, _ = env.reset()
    before = env.render()
    assert before is not None
    assert before.shape == (29 * 16, 29 * 16, 3)
    maze = load_mazes().target
    row, column = divmod(maze.goal, 29)
    np.testing.assert_array_equal(before[row * 16 + 8, column * 16 + 8], RED)
    wall = np.argwhere(np.asarray(maze.walls))[0] * 16 + 8
    np.testing.assert_array_equal(before[tuple(wall)], INK)
    env.step(1)
    after = env.render()
    changed = np.unique(np.argwhere(np.any(before != after, axis=2)) // 16, axis=0)
    row, column = divmod(int(obs), 29)
    assert changed.tolist() == [[row - 1, column], [row, column]]


def test_the_track_shows_the_surface():
    """Ice under the crest at x = 0, earth under the trough at x = π/5."""
    family = cartpole_family()
    state = np.array([-1.0, 0, 0, 0], np.float32)
    picture = draw_cartpole(family.target, state)
    np.testing.assert_allclose(picture[395, 300], SLIPPERY, atol=2)
    np.testing.assert_allclose(
        picture[395, 300 + round(110 * np.pi / 5)], ROUGH, atol=2
    )
    rough = draw_cartpole(family.sources["rough"], state)
    np.testing.assert_allclose(rough[395], np.broadcast_to(ROUGH, (600, 3)), atol=1)


@pytest.mark.parametrize("x", [-9.0, 0.0, 9.0])
def test_a_cart_out_of_the_picture_is_still_a_picture(x):
    target = cartpole_family().target
    picture = draw_cartpole(target, np.array([x, 0, 0.5, 0], np.float32))
    assert picture.shape == (400, 600, 3)
    empty = draw_cartpole(target, np.array([9.0, 0, 0, 0], np.float32))
    assert np.array_equal(picture, empty) == (x != 0.0)


def test_a_step_is_the_domains_own():
    env = make_cartpole()
    obs, _ = env.reset(seed=1)
    expected = jax.jit(cartpole_family().target.transition)(
        jnp.asarray(obs), jnp.asarray(2)
    )
    np.testing.assert_allclose(env.step(2)[0], expected, atol=1e-6)
