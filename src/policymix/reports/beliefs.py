"""What the mixture believed during training, as the page's scrubber reads it."""

from typing import Any

from policymix.environments.study import Axis, Cells, Paths, Plane
from policymix.reports.lines import numbers
from policymix.reports.palette import SOURCE_COLOURS
from policymix.reports.results import Results, Seen


def belief_of(results: Results) -> dict[str, Any] | None:
    """What the scrubber shows."""
    seen, view = results.seen.get("mars"), results.study.view
    if seen is None or "weights" not in seen.arrays or view is None:
        return None
    sources = [
        {"name": name, "colour": SOURCE_COLOURS[place % len(SOURCE_COLOURS)]}
        for place, name in enumerate(seen.sources)
    ]
    common = {"method": "mars", "trial": 0, "sources": sources, "steps": seen.steps}
    if isinstance(view, Cells):
        return common | cell_data(view, seen)
    if isinstance(view, Plane):
        return common | plane_data(view, seen)
    return common | path_data(view, seen)


def cell_data(view: Cells, seen: Seen) -> dict[str, Any]:
    """A grid."""
    walls = view.walls()
    rows, columns = walls.shape
    return {
        "kind": "cells",
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
