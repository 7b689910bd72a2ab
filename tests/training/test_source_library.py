"""The shipped sources do what the manifests say, and training makes such libraries."""

import json
from importlib.resources import files

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from policymix.core.progress import silent
from policymix.domains.maze import sources as maze_library
from policymix.domains.maze.files import load_mazes
from policymix.domains.maze.task import (
    optimal_policy,
    rollout_steps,
    rooms,
    steps_to_goal,
)
from policymix.environments.domain import score_of
from policymix.sources.library import SourceLibrary
from policymix.sources.policies import policy_of
from policymix.training.task import load_task

FRESH = 9_000_000
"""Seeds that neither training nor the manifests have seen."""


@pytest.mark.parametrize("name", ["maze", "cartpole"])
def test_manifests_record_their_command_and_scores(name):
    task = load_task(name)
    assert task.facts["command"].startswith(f"policymix sources train {name} --seed ")
    assert set(task.facts["sources"]) == set(task.sources.names)
    assert task.sources.names == tuple(task.domain.family().sources)


def test_maze_policies_are_optimal():
    task = load_task("maze")
    for source in task.sources.sources:
        maze = load_mazes().sources[source.name]
        actions = jnp.argmax(source.policy.probabilities, axis=1)  # pyright: ignore[reportFunctionMemberAccess]
        shortest = int(steps_to_goal(maze)[maze.start])
        assert int(rollout_steps(maze, actions)) == shortest
        assert task.facts["sources"][source.name]["own_score"] == shortest


def test_maze_sources_help_only_by_room():
    """No source alone reaches the target's goal; choosing by room takes 86 steps."""
    task, target = load_task("maze"), load_mazes().target
    actions = jnp.stack(
        [jnp.argmax(s.policy.probabilities, axis=1) for s in task.sources.sources]  # pyright: ignore[reportFunctionMemberAccess]
    )
    assert [int(rollout_steps(target, a)) for a in actions] == [300] * 4
    by_room = jnp.take_along_axis(actions, rooms(target)[None], axis=0)[0]
    assert int(rollout_steps(target, by_room)) == 86
    assert int(rollout_steps(target, optimal_policy(target))) == 86


def test_maze_models_know_every_reachable_pair():
    for source in load_task("maze").sources.sources:
        maze = load_mazes().sources[source.name]
        open_cells = np.asarray(steps_to_goal(maze)) < maze.walls.size
        open_cells &= ~np.asarray(maze.walls).ravel()
        table = np.asarray(source.dynamics.next_obs)  # pyright: ignore[reportFunctionMemberAccess]
        assert np.all(table[open_cells] >= 0)
        assert np.all(table[~open_cells] == -1)


def test_maze_sources_explain_their_own_room_of_the_target():
    task, target = load_task("maze"), load_mazes().target
    cells = np.flatnonzero(~np.asarray(target.walls).ravel())
    reachable = cells[np.asarray(steps_to_goal(target))[cells] < target.walls.size]
    obs = jnp.repeat(jnp.asarray(reachable), 4)
    action = jnp.tile(jnp.arange(4), len(reachable))
    next_obs = jax.vmap(target.transition)(obs, action)
    explained = jax.vmap(task.sources.log_likelihoods)(obs, action, next_obs) == 0
    for index in range(4):
        room = np.asarray(rooms(target))[obs] == index
        share = np.asarray(explained)[room].mean(axis=0)
        assert share[index] > 0.95
        assert np.all(np.delete(share, index) < 0.8)


@pytest.mark.parametrize("source", load_task("cartpole").sources.sources)
def test_cartpole_sources_balance_at_home(source):
    task = load_task("cartpole")
    home = task.domain.family().variant(source.name)
    score = score_of(task.domain, home, policy_of(source.policy), 100, FRESH)
    assert score >= 475


@pytest.mark.parametrize("source", load_task("cartpole").sources.sources)
def test_cartpole_models_are_accurate_at_home_and_wrong_abroad(source):
    facts = load_task("cartpole").facts["sources"][source.name]
    assert facts["own_error"] <= 1e-4 < facts["own_still"] / 100
    assert facts["target_error"] > 100 * facts["own_error"]


def test_shipped_files_are_small():
    for name in ("maze", "cartpole"):
        folder = files(f"policymix.domains.{name}") / "library"
        sizes = [len(file.read_bytes()) for file in folder.iterdir()]
        assert len(sizes) == 2
        assert sum(sizes) < 500_000


def test_training_a_maze_source_gives_the_shipped_one():
    shipped = load_task("maze").sources.sources[0]
    maze = load_mazes().sources[shipped.name]
    source, samples = maze_library.train_source(shipped.name, maze, 0, silent)
    assert samples == 60_000
    np.testing.assert_array_equal(source.dynamics.next_obs, shipped.dynamics.next_obs)  # pyright: ignore[reportFunctionMemberAccess]


def test_saving_a_shipped_library_again_changes_nothing(tmp_path):
    task = load_task("cartpole")
    task.sources.save(tmp_path / "again", task.facts)
    shipped = files("policymix.domains.cartpole") / "library"
    for file in ("manifest.json", "arrays.safetensors"):
        assert (tmp_path / "again" / file).read_bytes() == (shipped / file).read_bytes()
    assert SourceLibrary.load(tmp_path / "again").names == task.sources.names
    json.loads((tmp_path / "again" / "manifest.json").read_text())
