"""Every generated family needs all four sources."""

import jax
import numpy as np
import pytest

from policymix.core.errors import DomainError
from policymix.domains.maze import generator as maze_generator
from policymix.domains.maze.files import load_mazes
from policymix.domains.maze.generator import generate_mazes, steps_alone, steps_by_room
from policymix.domains.maze.task import ROOMS, optimal_policy, rooms

from support.mazes import breadth_first, neighbours

SEEDS = range(25)


def walk(maze, policy):
    """Steps from start to goal in plain Python; the horizon if it never arrives."""
    cell = maze.start
    for steps in range(maze.horizon):
        if cell == maze.goal:
            return steps
        cell = list(neighbours(maze, cell))[policy[cell]]
    return maze.horizon


@pytest.mark.parametrize("seed", SEEDS)
def test_only_the_choice_by_room_solves_it(seed):
    family = generate_mazes(seed)
    target, owner = family.target, np.asarray(rooms(family.target))
    policies = np.stack([optimal_policy(s) for s in family.sources.values()])
    assert [walk(target, policy) for policy in policies] == [300] * 4
    chosen = policies[owner, np.arange(owner.size)]
    assert walk(target, chosen) == breadth_first(target)[target.start]


@pytest.mark.parametrize("seed", SEEDS)
def test_source_i_copies_room_i_and_the_cross_and_nothing_else(seed):
    family = generate_mazes(seed)
    walls = np.asarray(family.target.walls)
    owner = np.asarray(rooms(family.target)).reshape(walls.shape)
    cross = np.zeros_like(walls)
    cross[14, :] = cross[:, 14] = True
    assert np.sum(~walls & cross) == 3  # doors
    assert list(family.sources) == list(ROOMS)
    for index, source in enumerate(family.sources.values()):
        same = np.asarray(source.walls) == walls
        assert np.all(same[cross])
        for other in range(4):
            assert np.all(same[owner == other]) == (other == index)
        assert (source.start, source.goal) == (family.target.start, family.target.goal)
        assert source.start in breadth_first(source)


@pytest.mark.parametrize("seed", SEEDS)
def test_every_open_cell_can_reach_the_goal(seed):
    target = generate_mazes(seed).target
    is_open = np.flatnonzero(~np.asarray(target.walls).ravel())
    assert set(breadth_first(target)) == set(is_open.tolist())


def test_one_seed_one_family_and_seeds_differ():
    first, again = generate_mazes(3), generate_mazes(3)
    for one, other in zip(
        jax.tree.leaves((first.target, dict(first.sources))),
        jax.tree.leaves((again.target, dict(again.sources))),
        strict=True,
    ):
        np.testing.assert_array_equal(one, other)
    drawings = {
        np.asarray(generate_mazes(seed).target.walls).tobytes() for seed in SEEDS
    }
    assert len(drawings) == len(SEEDS)


def test_the_packaged_family_has_the_property_too():
    family = load_mazes()
    assert set(steps_alone(family).values()) == {300}
    assert steps_by_room(family) == 86


def test_it_gives_up_and_says_so(monkeypatch):
    monkeypatch.setattr(maze_generator, "SHORTEST_WAY", (10_000, 10_000))
    monkeypatch.setattr(maze_generator, "ATTEMPTS", 20)
    with pytest.raises(DomainError, match=r"seed 0: no family in 20 .*another"):
        generate_mazes(0)
