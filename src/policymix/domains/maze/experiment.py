"""Transfer-Maze: settings, what is run, and how its mixture is looked at."""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files

import jax.numpy as jnp
import numpy as np

from policymix.core.encoders import OneHotGrid
from policymix.core.settings import Settings
from policymix.domains.maze.files import load_mazes
from policymix.domains.maze.picture import draw_maze
from policymix.domains.maze.task import ROOMS, room
from policymix.environments.domain import Domain, RightSource, length_of
from policymix.environments.study import REUSE_SWEEPS, Cells, Study

SETTINGS = Settings(
    steps=200_000,
    evaluate_every=2_000,
    evaluation_episodes=1,
    discount=0.95,
    epsilon_start=0.12,
    epsilon_decay=1.0,
    epsilon_floor=0.12,
    layers=None,
    learning_rate=0.8,
    shaped_rate=0.8,
    refresh_every=2_000,
    epochs=4,
    scale=1.0,
    mapse_reuse=0.99,
    exit_rate=0.4,
)
PAPER = {
    "discount": 0.95,
    "epsilon_start": 0.12,
    "epsilon_decay": 1.0,
    "epsilon_floor": 0.12,
    "layers": "table",
    "learning_rate": 0.8,
    "shaped_rate": 0.08,
    "refresh_every": "table",
    "penalty": "table",
    "updates": "episode",
    "mixture_layers": (30, 30),
    "mixture_rate": 1e-3,
    "epochs": 4,
    "scale": 1.0,
    "mapse_reuse": 0.99,
    "ucb_reuse": 0.85,
    "exit_rate": 0.4,
}
"""Table 1; "table" marks what a table of values has no use for."""
OWN_DECISIONS = {
    1: "the maze has 29 × 29 cells, since the mixture has 58 = 29 + 29 inputs",
    8: "batch and replay of the maze, which the paper does not give",
    9: "the maze's MARS learns at the rate of the other methods",
}


@cache
def right_room(names: tuple[str, ...]) -> RightSource:
    """The source that knows the room of a cell."""
    maze = load_mazes().target
    places = jnp.array([names.index(name) for name in ROOMS])
    return lambda cell: places[room(maze, cell)]


def pictures() -> Mapping[str, np.ndarray]:
    """The source mazes and the target."""
    family = load_mazes()
    mazes = {**family.sources, "target": family.target}
    return {name: draw_maze(m, np.asarray(m.start)) for name, m in mazes.items()}


MAZE = Domain(
    name="maze",
    family=load_mazes,
    encoder=OneHotGrid(29, 29),
    measure="steps to goal",
    score=length_of,
    right=right_room,
    better="lower",
    settings=SETTINGS,
    shipped=files("policymix.domains.maze") / "library",
    trainer="policymix.domains.maze.sources:train_source",
    study=Study(
        title="Transfer-Maze",
        trials=20,
        quick=(2, 120_000),
        effort=(35.0, 1.0),
        looks=(0, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000),
        shown=(0, 5_000, 10_000, 20_000, 50_000, 100_000),
        view=Cells(
            walls=lambda: np.asarray(load_mazes().target.walls),
            start=lambda: int(load_mazes().target.start),
            goal=lambda: int(load_mazes().target.goal),
        ),
        truth="the room's own source",
        sweeps=REUSE_SWEEPS,
        claims=("caps-keeps-up", "no-source-suffices"),
        paper=PAPER,
        decisions=OWN_DECISIONS,
        reasons={"shaped_rate": 9, "batch": 8, "capacity": 8},
        drawings=(
            "Transfer-Maze: start (green), goal (red), four sources and the target",
            pictures,
        ),
    ),
)
