"""What the mixture believed during training, as the page's scrubber reads it."""

from typing import Any

import numpy as np

from policymix.domains.maze_files import load_mazes
from policymix.experiments.snapshots import ANGLES, POSITIONS
from policymix.reports.lines import plain
from policymix.reports.palette import SOURCES
from policymix.reports.results import Results, Seen


def belief_of(results: Results) -> dict[str, Any] | None:
    """What the scrubber shows."""
    seen = results.seen.get("mars")
    if seen is None or "weights" not in seen.arrays:
        return None
    views = {"maze": cells, "cartpole": plane, "lander": paths}
    if results.domain not in views:
        return None
    sources = [
        {"name": name, "colour": SOURCES[place % len(SOURCES)]}
        for place, name in enumerate(seen.sources)
    ]
    common = {"method": "mars", "trial": 0, "sources": sources, "steps": seen.steps}
    return common | views[results.domain](seen)


def cells(seen: Seen) -> dict[str, Any]:
    """The maze."""
    maze = load_mazes().target
    rows, columns = maze.walls.shape
    return {
        "kind": "cells",
        "rows": rows,
        "columns": columns,
        "walls": np.asarray(maze.walls).astype(int).ravel().tolist(),
        "start": int(maze.start),
        "goal": int(maze.goal),
        "weights": seen.arrays["weights"].tolist(),
    }


def plane(seen: Seen) -> dict[str, Any]:
    """CartPole's position and angle."""
    return {
        "kind": "plane",
        "x": {"label": "cart position x (m)", "values": plain(POSITIONS)},
        "y": {"label": "pole angle (rad)", "values": plain(ANGLES)},
        "weights": seen.arrays["weights"].tolist(),
    }


def paths(seen: Seen) -> dict[str, Any]:
    """The lander's ways through the air."""
    moments = zip(seen.arrays["places"], seen.arrays["weights"], strict=True)
    return {
        "kind": "paths",
        "x": {"label": "horizontal position", "low": -1.0, "high": 1.0},
        "y": {"label": "altitude", "low": -0.15, "high": 1.6},
        "paths": [
            [
                {
                    "x": plain(track[:, 0]),
                    "y": plain(track[:, 1]),
                    "weights": weights.tolist(),
                }
                for track, weights in zip(*moment, strict=True)
            ]
            for moment in moments
        ],
        "scores": plain(seen.arrays["scores"]),
    }
