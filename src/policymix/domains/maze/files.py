"""Mazes read from JSON: whatever is wrong with a file is named, with the remedy."""

import json
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np

from policymix.core.errors import DomainError
from policymix.domains.maze.task import FAMILY_NAME, ROOMS, Maze, rooms, steps_to_goal
from policymix.environments.base import Family


def load_mazes(path: str | Path | None = None) -> Family[Maze]:
    """Read a target and its four sources from JSON; the packaged ones by default.

    `start` and `goal` are [row, column]; `target` and each of `sources` are rows of
    '.' (open) and '#' (wall), where 'S' and 'G' may mark start and goal. Source i must
    draw room i, and the wall between the rooms, as the target does.
    """
    file = files("policymix.domains.maze") / "maze.json" if path is None else Path(path)
    document = _document(file)
    target = _maze(file, document, "target", document["target"])
    if "doors" in document:
        _check_doors(file, document["doors"], target)
    drawings = document["sources"]
    _require(
        isinstance(drawings, list) and len(drawings) == len(ROOMS),
        f"{file}: sources: not a list of {len(ROOMS)} drawings",
        f"Give one drawing for each room, in the order {', '.join(ROOMS)}",
    )
    sources = {}
    for index, drawing in enumerate(drawings):
        source = _maze(file, document, f"sources[{index}]", drawing)
        _check_source(file, index, target, source)
        sources[ROOMS[index]] = source
    return Family(FAMILY_NAME, target, sources)


def _require(condition: bool, problem: str, remedy: str) -> None:
    if not condition:
        raise DomainError(f"{problem}. {remedy}.")


def _document(file: Traversable) -> dict[str, Any]:
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise DomainError(
            f"{file}: cannot be read: {error.strerror}. Check the path."
        ) from error
    except (ValueError, RecursionError) as error:
        raise DomainError(
            f"{file}: is not JSON: {error}. Compare it with policymix/data/maze.json."
        ) from error
    _require(isinstance(document, dict), f"{file}: not a JSON object", "Put it in {}")
    for field in ("start", "goal", "target", "sources"):
        _require(field in document, f"{file}: {field}: missing", f"Add {field!r}")
    return document


def _maze(file: Traversable, document: dict[str, Any], field: str, rows: Any) -> Maze:
    """One drawing, checked: a grid with a cross of walls and a way to the goal."""
    where = f"{file}: {field}"
    _require(
        isinstance(rows, list) and all(isinstance(row, str) for row in rows),
        f"{where}: not a list of strings",
        "Draw one string a row",
    )
    sizes = {len(row) for row in rows}
    _require(
        len(sizes) == 1 and len(rows) % 2 == 1 and min(sizes) % 2 == 1,
        f"{where}: {len(rows)} rows of {sorted(sizes)} cells",
        "Use an odd number of rows of one odd length, so that there is a middle",
    )
    foreign = sorted(set("".join(rows)) - set(".#SG"))
    _require(not foreign, f"{where}: holds {foreign}", "Use only '.', '#', 'S', 'G'")
    grid = np.array([list(row) for row in rows])
    start, goal = (
        _cell(f"{file}: {name}", field, document[name], grid, mark)
        for name, mark in (("start", "S"), ("goal", "G"))
    )
    maze = Maze(walls=jnp.asarray(grid == "#"), start=start, goal=goal)
    _require(
        0 < int(steps_to_goal(maze)[start]) <= maze.horizon,
        f"{where}: no way from start to goal within {maze.horizon} steps",
        "Open a wall, or move one of the two",
    )
    return maze


def _cell(where: str, field: str, place: Any, grid: np.ndarray, mark: str) -> int:
    _require(
        isinstance(place, list)
        and [type(number) for number in place] == [int, int]
        and all(0 <= n < size for n, size in zip(place, grid.shape, strict=True)),
        f"{where}: {place!r} is not a cell of {field}",
        f"Give [row, column], counted from 0, within {grid.shape}",
    )
    _require(
        grid[tuple(place)] != "#",
        f"{where}: {place} lies in a wall of {field}",
        "Move it, or open that cell",
    )
    marks = np.argwhere(grid == mark).tolist()
    _require(
        marks in ([], [place]),
        f"{where}: {place}, but {field} marks {mark!r} at {marks}",
        "Let the two agree, or leave the mark out",
    )
    return int(np.ravel_multi_index(tuple(place), grid.shape))


def _cross(maze: Maze) -> np.ndarray:
    """The middle row and the middle column, which part the rooms."""
    row, column = np.indices(maze.walls.shape)
    return (row == maze.walls.shape[0] // 2) | (column == maze.walls.shape[1] // 2)


def _check_doors(file: Traversable, doors: Any, target: Maze) -> None:
    openings = np.argwhere(_cross(target) & ~np.asarray(target.walls)).tolist()
    _require(
        isinstance(doors, list) and sorted(doors, key=str) == sorted(openings, key=str),
        f"{file}: doors: {doors!r}, but the middle row and column open at {openings}",
        "Let the two agree, or leave 'doors' out",
    )


def _check_source(file: Traversable, index: int, target: Maze, source: Maze) -> None:
    where = f"{file}: sources[{index}]"
    _require(
        source.walls.shape == target.walls.shape,
        f"{where}: {source.walls.shape} cells, but the target has {target.walls.shape}",
        "Draw both in one size",
    )
    in_room = np.asarray(rooms(target) == index).reshape(target.walls.shape)
    known = in_room | _cross(target)
    wrong = np.argwhere(known & np.asarray(source.walls != target.walls)).tolist()
    _require(
        not wrong,
        f"{where}: differs from the target at {wrong[:3]}, in the {ROOMS[index]} room "
        "or the wall between rooms",
        "Copy that room and the middle row and column from the target",
    )
