"""Maze sources: shortest ways by value iteration, dynamics by visiting every cell."""

import jax
import jax.numpy as jnp
import numpy as np

from policymix.core.kernels import Indicator
from policymix.core.progress import Advance, Begin
from policymix.domains.maze.task import MOVES, Maze, optimal_policy, steps_to_goal
from policymix.sources.dynamics import TableDynamics, fit_table
from policymix.sources.experts import SourceTask
from policymix.sources.policies import table_policy

SAMPLES = 60_000
BATCH = 2_000


def train_source(
    name: str, maze: Maze, seed: int, begin: Begin
) -> tuple[SourceTask, int]:
    """One source, and the samples it took.

    A table knows only pairs that were visited. Random starts and moves visit all of
    them: 60,000 samples miss one of some 2,800 pairs with probability 10⁻⁶.
    """
    policy = table_policy(optimal_policy(maze), len(MOVES))
    return SourceTask(
        name, policy, visit(maze, seed, begin(name, SAMPLES, "known")), Indicator()
    ), SAMPLES


def visit(maze: Maze, seed: int, advance: Advance) -> TableDynamics:
    """Try random actions in random cells from which the goal can be reached."""
    rng = np.random.default_rng(seed)
    reachable = np.flatnonzero(np.asarray(steps_to_goal(maze)) < maze.walls.size)
    reachable = reachable[~np.asarray(maze.walls).ravel()[reachable]]
    pairs = []
    for _ in range(SAMPLES // BATCH):
        pairs.append(
            (rng.choice(reachable, BATCH), rng.integers(len(MOVES), size=BATCH))
        )
        known = len({*zip(*map(np.concatenate, zip(*pairs, strict=True)), strict=True)})
        advance(BATCH, known / (len(reachable) * len(MOVES)))
    cells, actions = (jnp.asarray(np.concatenate(p)) for p in zip(*pairs, strict=True))
    next_cells = jax.vmap(maze.transition)(cells, actions)
    return fit_table(cells, actions, next_cells, maze.walls.size, len(MOVES))
