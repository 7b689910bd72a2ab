"""Transfer-Maze: four rooms, and sources that each know one of them.

A state is a cell, numbered row · columns + column. The paper's section 4.1; its drawing
was never published, so the packaged one is ours (29 × 29, since 58 = 29 + 29 inputs).
"""

from collections.abc import Callable
from typing import TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from policymix.core.types import Discrete, DiscreteAction, Key, Scalar, TaskSpec
from policymix.environments.base import DeterministicDomain

LEFT, UP, RIGHT, DOWN = range(4)
MOVES = np.array([(0, -1), (-1, 0), (0, 1), (1, 0)], np.int32)
"""(row, column) change of every action."""
ROOMS = ("upper-left", "lower-left", "lower-right", "upper-right")
"""In the order in which the way from start to goal crosses them."""
FAMILY_NAME = "Transfer-Maze"


class Maze(DeterministicDomain):
    """A grid of cells; a move into a wall or off the grid is a bump and stays put."""

    walls: Bool[Array, "rows columns"]
    start: int
    goal: int
    goal_reward: float = 1.0
    step_reward: float = -0.01
    bump_reward: float = -0.02
    horizon: int = eqx.field(static=True, default=300)

    @property
    def spec(self) -> TaskSpec:
        """A cell in, a direction out: left, up, right, down."""
        return TaskSpec(Discrete(self.walls.size), Discrete(len(MOVES)))

    def initial(self, key: Key) -> Int[Array, ""]:
        """Every episode begins in the same cell; the key is not needed."""
        del key
        return jnp.asarray(self.start, jnp.int32)

    def transition(self, obs: Int[Array, ""], action: DiscreteAction) -> Int[Array, ""]:
        """The cell in that direction, or the same one after a bump."""
        rows, columns = self.walls.shape
        row_change, column_change = jnp.asarray(MOVES)[action]
        row, column = obs // columns + row_change, obs % columns + column_change
        inside = (row >= 0) & (row < rows) & (column >= 0) & (column < columns)
        open_ahead = inside & ~self.walls.at[row, column].get(mode="clip")
        return jnp.where(open_ahead, row * columns + column, obs)

    def reward(
        self, obs: Int[Array, ""], action: DiscreteAction, next_obs: Int[Array, ""]
    ) -> Scalar:
        """The goal's reward *replaces* the cost of the step into it."""
        del action
        cost = jnp.where(next_obs == obs, self.bump_reward, self.step_reward)
        return jnp.where(self.terminal(next_obs), self.goal_reward, cost)

    def terminal(self, obs: Int[Array, ""]) -> Bool[Array, ""]:
        """The goal is reached."""
        return obs == self.goal


def room(maze: Maze, obs: Int[Array, ""]) -> Int[Array, ""]:
    """Index into ROOMS of the quadrant a cell lies in.

    It is also the index of the source that is right there. Doors lie in the wall
    between two rooms: those of the middle row count as upper, the others as left.
    """
    rows, columns = maze.walls.shape
    lower, right = obs // columns > rows // 2, obs % columns > columns // 2
    return jnp.where(right, jnp.where(lower, 2, 3), jnp.where(lower, 1, 0))


@jax.jit
def rooms(maze: Maze) -> Int[Array, " cells"]:
    """The room of every cell, walls included."""
    return jax.vmap(lambda cell: room(maze, cell))(jnp.arange(maze.walls.size))


@jax.jit
def next_cells(maze: Maze) -> Int[Array, "cells actions"]:
    """The dynamics as a table."""
    actions = jnp.arange(len(MOVES))
    row = jax.vmap(maze.transition, in_axes=(None, 0))
    return jax.vmap(row, in_axes=(0, None))(jnp.arange(maze.walls.size), actions)


Table = TypeVar("Table", bound=Array)


def _settle(sweep: Callable[[Table], Table], first: Table) -> Table:
    """Sweep until nothing changes."""
    start = (first, sweep(first))
    changed = lambda pair: jnp.any(pair[0] != pair[1])  # noqa: E731
    return jax.lax.while_loop(changed, lambda p: (p[1], sweep(p[1])), start)[0]


@jax.jit
def optimal_values(
    maze: Maze, discount: float | Scalar = 0.95
) -> Float[Array, " cells"]:
    """V(s) = max_a r + discount · V(s'), by value iteration; zero at the goal.

    The sweeps start from below and only ever rise, so that rounding lets them settle.
    Needs a discount below 1: a cell without a way to the goal would fall for ever.
    """
    cells, table = jnp.arange(maze.walls.size), next_cells(maze)
    reward = jax.vmap(lambda obs, nexts: maze.reward(obs, jnp.asarray(0), nexts))
    rewards = jax.vmap(reward, in_axes=(None, 1), out_axes=1)(cells, table)
    worst = jnp.full(maze.walls.size, maze.bump_reward / (1.0 - discount))

    def sweep(values: Float[Array, " cells"]) -> Float[Array, " cells"]:
        return jnp.max(rewards + discount * values[table], axis=1).at[maze.goal].set(0)

    return _settle(sweep, worst.at[maze.goal].set(0))


@jax.jit
def steps_to_goal(maze: Maze) -> Int[Array, " cells"]:
    """Length of the shortest way from every cell; the number of cells if there is none.

    Value iteration in whole numbers, one per step, so that equal ways are *exactly*
    equal and ties break alike on every machine.
    """
    table, never = next_cells(maze), maze.walls.size

    def sweep(steps: Int[Array, " cells"]) -> Int[Array, " cells"]:
        nearest = jnp.min(steps[table], axis=1) + 1
        return jnp.minimum(nearest, never).at[maze.goal].set(0)

    return _settle(sweep, jnp.full(never, never).at[maze.goal].set(0))


@jax.jit
def optimal_policy(maze: Maze) -> Int[Array, " cells"]:
    """The action of every cell that leads nearest to the goal; ties go to the first.

    With the rewards of this task a shorter way is worth more at any discount.
    """
    return jnp.argmin(steps_to_goal(maze)[next_cells(maze)], axis=1)


@jax.jit
def rollout_steps(maze: Maze, policy: Int[Array, " cells"]) -> Int[Array, ""]:
    """Steps that a policy takes from start to goal; the horizon if it never arrives."""

    def step(cell: Int[Array, ""], _: None) -> tuple[Int[Array, ""], Bool[Array, ""]]:
        moved = jnp.where(
            maze.terminal(cell), cell, maze.transition(cell, policy[cell])
        )
        return moved, maze.terminal(cell)

    first = maze.initial(jax.random.key(0))
    _, arrived = jax.lax.scan(step, first, length=maze.horizon)
    return jnp.sum(~arrived)
