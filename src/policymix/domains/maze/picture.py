"""Transfer-Maze as a Gymnasium environment, and its picture."""

import numpy as np
from jaxtyping import Int

from policymix.domains.maze.files import load_mazes
from policymix.domains.maze.generator import generate_mazes
from policymix.domains.maze.task import Maze, rooms
from policymix.environments.drawing import (
    GREEN,
    INK,
    RED,
    TINTS,
    WHITE,
    Picture,
    disc,
)
from policymix.environments.gymnasium import DomainEnv

CELL = 16
"""Pixels of a cell's side."""


def make_maze(
    source: str | None = None,
    maze_seed: int | None = None,
    render_mode: str | None = None,
) -> DomainEnv:
    """Transfer-Maze's target (None) or a source, named after the room it knows.

    `maze_seed` takes a generated family instead of the packaged one; it draws the
    walls, whereas the seed of `reset` draws what happens among them.
    """
    family = load_mazes() if maze_seed is None else generate_mazes(maze_seed)
    return DomainEnv(family.variant(source), draw_maze, render_mode)


def draw_maze(maze: Maze, obs: Int[np.ndarray, ""]) -> Picture:
    """Walls, tinted rooms, start (green), goal (red) and the agent (dark disc)."""
    shape = maze.walls.shape
    floor = np.asarray(TINTS)[np.asarray(rooms(maze)).reshape(shape)]
    cells = np.where(np.asarray(maze.walls)[..., None], INK, floor)
    cells[np.unravel_index(maze.start, shape)] = GREEN
    cells[np.unravel_index(maze.goal, shape)] = RED
    canvas = cells.astype(np.float32).repeat(CELL, axis=0).repeat(CELL, axis=1)
    canvas[::CELL] *= 0.96
    canvas[:, ::CELL] *= 0.96
    row, column = ((place + 0.5) * CELL for place in np.unravel_index(int(obs), shape))
    disc(canvas, (column, row), 0.42 * CELL, WHITE)
    disc(canvas, (column, row), 0.34 * CELL, INK)
    return np.rint(canvas).astype(np.uint8)
