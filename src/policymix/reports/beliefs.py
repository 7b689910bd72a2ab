"""What the mixture believed during training, as the page's scrubber reads it."""

from typing import Any

from policymix.environments.study import Axis, Cells, Paths, Plane, Points
from policymix.reports.lines import numbers
from policymix.reports.palette import SOURCE_COLOURS
from policymix.reports.results import Results, Seen

ROW_BY_ROW = "Every cell is a state; they are numbered row by row."


def belief_of(results: Results) -> dict[str, Any] | None:
    """What the scrubber shows."""
    method, view = results.believer, results.view
    if method is None or view is None:
        return None
    seen = results.seen[method]
    if "weights" not in seen.arrays:
        return None
    sources = [
        {"name": name, "colour": SOURCE_COLOURS[place % len(SOURCE_COLOURS)]}
        for place, name in enumerate(seen.sources)
    ]
    common = {"method": method, "trial": 0, "sources": sources, "steps": seen.steps}
    if isinstance(view, Cells):
        return common | cell_data(view, seen)
    if isinstance(view, Plane):
        return common | plane_data(view, seen)
    if isinstance(view, Points):
        return common | point_data(view, seen)
    return common | path_data(view, seen)


def cell_data(view: Cells, seen: Seen) -> dict[str, Any]:
    """A grid."""
    walls = view.walls()
    rows, columns = walls.shape
    return {
        "kind": "cells",
        "hint": "○ start, ☆ goal, ■ wall" if view.start() >= 0 else ROW_BY_ROW,
        "rows": rows,
        "columns": columns,
        "walls": walls.astype(int).ravel().tolist(),
        "start": view.start(),
        "goal": view.goal(),
        "weights": seen.arrays["weights"].tolist(),
    }


def plane_data(view: Plane, seen: Seen) -> dict[str, Any]:
    """Two numbers of a state."""

    def side(axis: Axis) -> dict[str, Any]:
        return {"label": axis.label, "values": numbers(axis.values)}

    return {
        "kind": "plane",
        "hint": "",
        "x": side(view.x),
        "y": side(view.y),
        "weights": seen.arrays["weights"].tolist(),
    }


def path_data(view: Paths, seen: Seen) -> dict[str, Any]:
    """Ways through the first two numbers of a state."""

    def side(axis: Axis) -> dict[str, Any]:
        low, high = float(axis.values[0]), float(axis.values[-1])
        return {"label": axis.label, "low": low, "high": high}

    moments = zip(seen.arrays["places"], seen.arrays["weights"], strict=True)
    return {
        "kind": "paths",
        "hint": "○ start, ◇ end, ▁ ground",
        "x": side(view.x),
        "y": side(view.y),
        "paths": [
            [
                {
                    "x": numbers(track[:, 0]),
                    "y": numbers(track[:, 1]),
                    "weights": weights.tolist(),
                }
                for track, weights in zip(*moment, strict=True)
            ]
            for moment in moments
        ],
        "scores": numbers(seen.arrays["scores"]),
    }


def point_data(view: Points, seen: Seen) -> dict[str, Any]:
    """States that were visited; the reader chooses two of their numbers."""
    states = seen.arrays["visited"].reshape(-1, len(view.labels))
    return {
        "kind": "points",
        "hint": "Every square is a state that training visited.",
        "labels": list(view.labels),
        "x": {"label": view.labels[view.axes[0]]},
        "y": {"label": view.labels[view.axes[1]]},
        "axes": list(view.axes),
        "states": numbers(states),
        "weights": seen.arrays["weights"].tolist(),
    }
