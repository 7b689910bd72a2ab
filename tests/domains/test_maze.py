"""The maze against plain-Python walks."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from policymix.core.encoders import OneHotGrid
from policymix.core.errors import DomainError
from policymix.domains.maze.files import load_mazes
from policymix.domains.maze.task import (
    DOWN,
    LEFT,
    RIGHT,
    ROOMS,
    UP,
    Maze,
    next_cells,
    optimal_policy,
    optimal_values,
    rollout_steps,
    room,
    rooms,
    steps_to_goal,
)

from support.mazes import breadth_first, neighbours

FAMILY = load_mazes()
TARGET = FAMILY.target
SMALL = Maze(walls=jnp.array([[0, 0, 0], [0, 1, 0], [0, 1, 0]], bool), start=6, goal=8)
"""A horseshoe: from 6 up, over the top and down to 8 in six steps."""


def step(maze, cell, action):
    return maze.step(jax.random.key(0), jnp.asarray(cell), jnp.asarray(action))


@pytest.mark.parametrize(
    ("cell", "action", "lands", "reward", "terminated"),
    [
        (6, UP, 3, -0.01, False),
        (6, RIGHT, 6, -0.02, False),  # a wall
        (6, LEFT, 6, -0.02, False),  # off the grid, not into the row above
        (6, DOWN, 6, -0.02, False),
        (0, UP, 0, -0.02, False),
        (2, RIGHT, 2, -0.02, False),  # off the grid, not into the row below
        (0, RIGHT, 1, -0.01, False),
        (5, DOWN, 8, 1.0, True),  # the goal's reward replaces the cost
    ],
)
def test_moves_bumps_and_goal(cell, action, lands, reward, terminated):
    result = step(SMALL, cell, action)
    assert int(result.next_obs) == lands
    assert float(result.reward) == pytest.approx(reward)
    assert bool(result.terminated) == terminated


def test_table_is_a_plain_walk_everywhere():
    table = np.asarray(next_cells(TARGET))
    assert table.dtype == np.int32
    for cell in range(TARGET.walls.size):
        np.testing.assert_array_equal(table[cell], list(neighbours(TARGET, cell)))


def test_the_optimum_is_86_steps():
    assert breadth_first(TARGET)[TARGET.start] == 86
    assert int(steps_to_goal(TARGET)[TARGET.start]) == 86
    assert int(rollout_steps(TARGET, optimal_policy(TARGET))) == 86


def test_steps_equal_breadth_first_search_everywhere():
    expected = breadth_first(TARGET)
    steps = np.asarray(steps_to_goal(TARGET))
    walls = np.asarray(TARGET.walls).ravel()
    for cell in np.flatnonzero(~walls):
        assert steps[cell] == expected.get(int(cell), walls.size)


def test_values_are_those_of_the_shortest_way():
    """V = g^(d−1) − 0.01 (1 − g^(d−1)) / (1 − g), d steps away at discount g."""
    steps = np.asarray(steps_to_goal(TARGET))
    met = ~np.asarray(TARGET.walls).ravel() & (steps < TARGET.walls.size) & (steps > 0)
    share = 0.95 ** (steps[met] - 1.0)
    values = np.asarray(optimal_values(TARGET, 0.95))
    np.testing.assert_allclose(values[met], share - 0.2 * (1 - share), atol=1e-6)
    assert values[TARGET.goal] == 0.0


def test_policy_is_greedy_in_the_values():
    cells = jnp.arange(TARGET.walls.size)
    values, table = optimal_values(TARGET, 0.95), next_cells(TARGET)
    rewards = jax.vmap(lambda c, n: TARGET.reward(c, jnp.asarray(0), n))
    action_values = np.stack(
        [rewards(cells, table[:, a]) + 0.95 * values[table[:, a]] for a in range(4)], 1
    )
    chosen = np.asarray(optimal_policy(TARGET))
    gap = action_values.max(axis=1) - action_values[np.arange(len(chosen)), chosen]
    away = np.arange(len(chosen)) != TARGET.goal
    assert gap[away].max() < 1e-6


def test_ties_go_to_the_first_action():
    """From the corner of an open square, up and right are equally good: up is first."""
    square = Maze(walls=jnp.zeros((3, 3), bool), start=6, goal=2)
    np.testing.assert_array_equal(
        np.asarray(optimal_policy(square))[[3, 4, 6, 7]], [UP, UP, UP, UP]
    )


def test_a_policy_that_bumps_for_ever_takes_the_horizon():
    assert int(rollout_steps(SMALL, jnp.full(9, LEFT))) == SMALL.horizon == 300


def test_rooms_are_quadrants_and_doors_have_one_owner():
    quadrants = np.asarray(rooms(TARGET)).reshape(29, 29)
    corners = quadrants[[0, 28, 28, 0], [0, 0, 28, 28]]
    np.testing.assert_array_equal(corners, [0, 1, 2, 3])
    assert np.bincount(quadrants.ravel()).tolist() == [225, 210, 196, 210]
    doors = [14 * 29 + 3, 22 * 29 + 14, 14 * 29 + 25]
    assert [int(room(TARGET, jnp.asarray(door))) for door in doors] == [0, 1, 3]


def test_source_i_is_right_in_room_i_and_only_there():
    """Every action from every open cell of its room; elsewhere most cells differ."""
    is_open, truth = ~np.asarray(TARGET.walls).ravel(), np.asarray(next_cells(TARGET))
    inside = np.asarray(rooms(TARGET))
    for index, name in enumerate(ROOMS):
        table = np.asarray(next_cells(FAMILY.sources[name]))
        right = np.all(table == truth, axis=1)
        for other in range(4):
            share = right[is_open & (inside == other)].mean()
            assert (share == 1.0) if other == index else (share < 0.5)


def test_no_source_reaches_the_goal_alone_but_choosing_by_room_does():
    policies = np.stack([optimal_policy(s) for s in FAMILY.sources.values()])
    alone = [int(rollout_steps(TARGET, jnp.asarray(p))) for p in policies]
    assert alone == [300] * 4
    own = [
        int(rollout_steps(source, jnp.asarray(policy)))
        for source, policy in zip(FAMILY.sources.values(), policies, strict=True)
    ]
    assert own == [breadth_first(s)[s.start] for s in FAMILY.sources.values()]
    chosen = policies[np.asarray(rooms(TARGET)), np.arange(841)]
    assert int(rollout_steps(TARGET, jnp.asarray(chosen))) == 86


def test_goals_and_spaces_are_shared():
    for source in FAMILY.sources.values():
        assert source.spec == TARGET.spec
        assert (source.start, source.goal) == (TARGET.start, TARGET.goal)
    encoder = OneHotGrid(*TARGET.walls.shape)
    assert encoder(jnp.asarray(TARGET.start)).shape == (58,)


def test_variants_share_one_compilation():
    """Layouts are data: a source is no new program."""
    traced = []

    @jax.jit
    def steps(maze):
        traced.append(maze)
        return steps_to_goal(maze)

    for maze in (TARGET, *FAMILY.sources.values()):
        steps(maze)
    assert len(traced) == 1


def test_an_unknown_source_is_told_the_names():
    with pytest.raises(DomainError, match=r"'upper-left'.*Did you mean 'lower-left'\?"):
        FAMILY.variant("lower left")
    assert FAMILY.variant(None) is TARGET
