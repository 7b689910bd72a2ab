"""Inventory as a Gymnasium environment, and its picture."""

import numpy as np
from jaxtyping import Int

from policymix.domains.inventory.task import (
    Inventory,
    inventory_family,
    unforeseen_family,
)
from policymix.environments.drawing import (
    BLUE,
    HEIGHT,
    INK,
    RED,
    TINTS,
    WHITE,
    WIDTH,
    WOOD,
    Picture,
    bar,
)
from policymix.environments.gymnasium import DomainEnv

FLOOR = 290
"""Row of pixels on which the shelves stand."""
SHELF = 10
"""Boxes on one shelf of a store."""


def make_inventory(
    source: str | None = None,
    unforeseen: bool = False,
    render_mode: str | None = None,
) -> DomainEnv:
    """Inventory's target (None), or a world in which a forecast holds, by its name.

    `unforeseen` takes the target that no forecast describes.
    """
    family = unforeseen_family() if unforeseen else inventory_family()
    return DomainEnv(family.variant(source), draw_inventory, render_mode)


def draw_inventory(store: Inventory, obs: Int[np.ndarray, ""]) -> Picture:
    """Shelves with the stock in boxes; below, mean demand by month, this one in red."""
    canvas = np.full((HEIGHT, WIDTH, 3), WHITE, np.float32)
    month, stock = divmod(int(obs), store.capacity + 1)
    for place in range(store.capacity):
        row, column = divmod(place, SHELF)
        centre = 75.0 + 50 * column, FLOOR - 75.0 - 50 * row
        colour = WOOD if place < stock else TINTS[0]
        bar(canvas, centre, (21.0, 21.0), 4.0, colour)
    for row in range(-(-store.capacity // SHELF)):
        bar(canvas, (WIDTH / 2, FLOOR - 50.0 - 50 * row), (260.0, 2.0), 1.0, INK)
    demand = np.asarray(store.demand, float)
    means = demand @ np.arange(demand.shape[1])
    for place, mean in enumerate(means):
        height = 4.0 + 40 * mean / means.max()
        centre = 75.0 + 450 * place / max(len(means) - 1, 1), HEIGHT - 20.0 - height
        bar(canvas, centre, (12.0, height), 3.0, RED if place == month else BLUE)
    return np.rint(canvas).astype(np.uint8)
