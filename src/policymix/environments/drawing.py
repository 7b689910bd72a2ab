"""Shapes for pictures of domains: arrays of pixels, drawn without a display.

A shape is a signed distance in pixels, negative inside, so that its edge is smooth.
"""

from typing import TypeAlias

import numpy as np
from jaxtyping import Float, UInt8

Picture: TypeAlias = UInt8[np.ndarray, "height width 3"]
Canvas: TypeAlias = Float[np.ndarray, "height width 3"]
Distance: TypeAlias = Float[np.ndarray, "height width"]
Colour: TypeAlias = tuple[int, int, int]
Point: TypeAlias = tuple[float, float]
"""Pixels from the left and from the top."""

INK: Colour = (45, 52, 64)
WHITE: Colour = (250, 250, 247)
GREEN: Colour = (46, 160, 90)
RED: Colour = (214, 64, 58)
WOOD: Colour = (201, 152, 60)
BLUE: Colour = (120, 190, 232)
TINTS: tuple[Colour, ...] = (
    (219, 232, 246),
    (250, 239, 208),
    (222, 240, 222),
    (246, 224, 230),
)
"""For areas that are told apart by colour."""
WIDTH, HEIGHT = 600, 400


def blend(
    canvas: Canvas, distance: Distance, colour: Colour | Float[np.ndarray, "1 width 3"]
) -> None:
    """Paint a shape, given by the distance of every pixel from its edge."""
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


def disc(canvas: Canvas, centre: Point, radius: float, colour: Colour) -> None:
    """A filled circle."""
    part, right, down = _around(canvas, centre, radius)
    blend(part, np.hypot(right, down) - radius, colour)


def bar(
    canvas: Canvas, centre: Point, half_size: Point, radius: float, colour: Colour
) -> None:
    """A rectangle with round corners."""
    part, right, down = _around(canvas, centre, max(half_size))
    across = np.abs(right) - half_size[0] + radius
    along = np.abs(down) - half_size[1] + radius
    beyond = np.hypot(np.maximum(across, 0), np.maximum(along, 0))
    within = np.minimum(np.maximum(across, along), 0)
    blend(part, beyond + within - radius, colour)


def rod(
    canvas: Canvas, start: Point, end: Point, radius: float, colour: Colour
) -> None:
    """A thick line with round ends."""
    x, y = end[0] - start[0], end[1] - start[1]
    part, right, down = _around(canvas, start, np.hypot(x, y) + radius)
    share = np.clip((right * x + down * y) / (x**2 + y**2), 0, 1)
    blend(part, np.hypot(right - share * x, down - share * y) - radius, colour)
