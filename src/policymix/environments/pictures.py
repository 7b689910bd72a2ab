"""Pictures of the domains: arrays of pixels, drawn without a display.

A shape is a signed distance in pixels, negative inside, so that its edge is smooth.
"""

from typing import TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int, UInt8

from policymix.domains.cartpole.task import CartPole
from policymix.domains.inventory.task import Inventory
from policymix.domains.maze.task import Maze, rooms

Picture: TypeAlias = UInt8[np.ndarray, "height width 3"]
Canvas: TypeAlias = Float[np.ndarray, "height width 3"]
Distance: TypeAlias = Float[np.ndarray, "height width"]
Colour: TypeAlias = tuple[int, int, int]
Point: TypeAlias = tuple[float, float]
"""Pixels from the left and from the top."""

INK: Colour = (45, 52, 64)
PAPER: Colour = (250, 250, 247)
GREEN: Colour = (46, 160, 90)
RED: Colour = (214, 64, 58)
WOOD: Colour = (201, 152, 60)
TINTS: tuple[Colour, ...] = (
    (219, 232, 246),
    (250, 239, 208),
    (222, 240, 222),
    (246, 224, 230),
)
"""One for each room."""
ROUGH: Colour = (166, 109, 62)
SLIPPERY: Colour = (120, 190, 232)

CELL = 16
WIDTH, HEIGHT = 600, 400
GROUND = 290
"""Row of pixels where the wheels touch the track."""
METRE = 110
SHELF = 10
"""Boxes on one shelf of a store."""
FORCES = (5.0, 75.0)
"""What the colours mean: the paper's rough and slippery surfaces."""


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
    _disc(canvas, (column, row), 0.42 * CELL, PAPER)
    _disc(canvas, (column, row), 0.34 * CELL, INK)
    return np.rint(canvas).astype(np.uint8)


def draw_cartpole(cart: CartPole, obs: Float[np.ndarray, "4"]) -> Picture:
    """The cart on its track, whose colour and curve show F(x); posts mark its ends."""
    canvas = np.full((HEIGHT, WIDTH, 3), PAPER, np.float32)
    _track(canvas, cart)
    for end in (-cart.position_limit, cart.position_limit):
        _bar(canvas, (WIDTH / 2 + METRE * end, GROUND - 20.0), (2.0, 22.0), 1.0, RED)
    x, _, angle, _ = (float(number) for number in obs)
    centre, deck = WIDTH / 2 + METRE * x, GROUND - 26.0
    _bar(canvas, (centre, deck), (34.0, 11.0), 5.0, INK)
    for wheel in (centre - 20, centre + 20):
        _disc(canvas, (wheel, GROUND - 8.0), 8.0, INK)
        _disc(canvas, (wheel, GROUND - 8.0), 3.0, PAPER)
    hinge, length = (centre, deck - 8), 2 * cart.half_length * METRE
    tip = hinge[0] + length * np.sin(angle), hinge[1] - length * np.cos(angle)
    _rod(canvas, hinge, tip, 5.0, WOOD)
    _disc(canvas, hinge, 4.0, PAPER)
    return np.rint(canvas).astype(np.uint8)


def draw_inventory(store: Inventory, obs: Int[np.ndarray, ""]) -> Picture:
    """Shelves with the stock in boxes; below, mean demand by month, this one in red."""
    canvas = np.full((HEIGHT, WIDTH, 3), PAPER, np.float32)
    month, stock = divmod(int(obs), store.capacity + 1)
    for place in range(store.capacity):
        row, column = divmod(place, SHELF)
        centre = 75.0 + 50 * column, GROUND - 75.0 - 50 * row
        colour = WOOD if place < stock else TINTS[0]
        _bar(canvas, centre, (21.0, 21.0), 4.0, colour)
    for row in range(-(-store.capacity // SHELF)):
        _bar(canvas, (WIDTH / 2, GROUND - 50.0 - 50 * row), (260.0, 2.0), 1.0, INK)
    demand = np.asarray(store.demand, float)
    means = demand @ np.arange(demand.shape[1])
    for place, mean in enumerate(means):
        height = 4.0 + 40 * mean / means.max()
        centre = 75.0 + 450 * place / max(len(means) - 1, 1), HEIGHT - 20.0 - height
        _bar(canvas, centre, (12.0, height), 3.0, RED if place == month else SLIPPERY)
    return np.rint(canvas).astype(np.uint8)


def _track(canvas: Canvas, cart: CartPole) -> None:
    """Ground in the colour of the surface, jagged where it is rough, and F(x) on it."""
    pixel = np.arange(WIDTH)
    position = (pixel + 0.5 - WIDTH / 2) / METRE
    force = np.asarray(jax.vmap(cart.force)(jnp.asarray(position, jnp.float32)))
    slip = np.clip((force - FORCES[0]) / (FORCES[1] - FORCES[0]), 0, 1)
    colours = np.outer(1 - slip, ROUGH) + np.outer(slip, SLIPPERY)
    ground = canvas[GROUND - 1 :]
    row = np.arange(GROUND - 1, HEIGHT)[:, None] + 0.5
    teeth = GROUND + 4.0 * (1 - slip) * np.abs(pixel % 10 - 5) / 5
    _blend(ground, teeth[None, :] - row, colours[None, :, :])
    curve = HEIGHT - 20.0 - 70.0 * slip
    # Dividing by the slope keeps the line as thick on the flanks as on the flats.
    slope = np.hypot(1.0, np.gradient(curve))
    _blend(ground, np.abs(row - curve[None, :]) / slope[None, :] - 1.2, PAPER)


def _blend(
    canvas: Canvas, distance: Distance, colour: Colour | Float[np.ndarray, "1 width 3"]
) -> None:
    coverage = np.clip(0.5 - distance, 0, 1)[..., None]
    canvas += coverage * (np.asarray(colour) - canvas)


def _around(
    canvas: Canvas, centre: Point, reach: float
) -> tuple[
    Float[np.ndarray, "rows columns 3"],
    Float[np.ndarray, "rows columns"],
    Float[np.ndarray, "rows columns"],
]:
    """The part of a canvas near a point, and how far right and below each pixel lies.

    It may be empty: a shape can have left the picture.
    """
    x, y = centre
    left, top = max(0, int(x - reach) - 1), max(0, int(y - reach) - 1)
    part = canvas[top : max(0, int(y + reach) + 2), left : max(0, int(x + reach) + 2)]
    row, column = np.indices(part.shape[:2]) + 0.5
    return part, column + left - x, row + top - y


def _disc(canvas: Canvas, centre: Point, radius: float, colour: Colour) -> None:
    part, right, down = _around(canvas, centre, radius)
    _blend(part, np.hypot(right, down) - radius, colour)


def _bar(
    canvas: Canvas, centre: Point, half_size: Point, radius: float, colour: Colour
) -> None:
    """A rectangle with round corners."""
    part, right, down = _around(canvas, centre, max(half_size))
    across = np.abs(right) - half_size[0] + radius
    along = np.abs(down) - half_size[1] + radius
    beyond = np.hypot(np.maximum(across, 0), np.maximum(along, 0))
    within = np.minimum(np.maximum(across, along), 0)
    _blend(part, beyond + within - radius, colour)


def _rod(
    canvas: Canvas, start: Point, end: Point, radius: float, colour: Colour
) -> None:
    """A thick line with round ends."""
    x, y = end[0] - start[0], end[1] - start[1]
    part, right, down = _around(canvas, start, np.hypot(x, y) + radius)
    share = np.clip((right * x + down * y) / (x**2 + y**2), 0, 1)
    _blend(part, np.hypot(right - share * x, down - share * y) - radius, colour)
