"""What the mixture believed during training, as the page's scrubber reads it."""

from functools import partial
from typing import Any

import numpy as np

from policymix.domains.maze.files import load_mazes
from policymix.experiments.snapshots import PLANES, Axis, Plane
from policymix.reports.lines import plain
from policymix.reports.palette import SOURCES
from policymix.reports.results import Results, Seen


def belief_of(results: Results) -> dict[str, Any] | None:
    """What the scrubber shows."""
    seen = results.seen.get("mars")
    if seen is None or "weights" not in seen.arrays:
        return None
    views = {"maze": cells, "lander": paths}
    views |= {name: partial(plane, sides) for name, sides in PLANES.items()}
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


def plane(sides: Plane, seen: Seen) -> dict[str, Any]:
    """Two numbers of a state."""

    def side(axis: Axis) -> dict[str, Any]:
        return {"label": axis.label, "values": plain(axis.values)}

    return {
        "kind": "plane",
        "x": side(sides.x),
        "y": side(sides.y),
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
