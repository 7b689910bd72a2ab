"""Transfer-SparseLunarLander: one craft, four tasks that differ in a few numbers."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from policymix.environments.base import Family

HOVER_X = 0.1
HOVER_Y = (0.3, 0.5)
HOVER_MIDDLE = sum(HOVER_Y) / 2


@dataclass(frozen=True)
class Rules:
    """How a step is paid: `judge` maps an observation to standing, bonus and failure.

    A step pays the change of standing + bonus − fuel; a failure pays −100 and coming
    to rest +100 *instead*, as in Gymnasium. One call judges all: it is at every step.
    """

    judge: Callable[..., tuple[float, float, bool]]
    main_fuel: float = 0.3
    side_fuel: float = 0.03


@dataclass(frozen=True)
class LanderParams:
    """One task of the family.

    `start` is the half-width of the start's x and its height, in observation units;
    None is Gymnasium's start at the top. `deferred` pays the whole return at the end
    and makes the time-out terminal: bootstrapping there would count it twice.
    """

    rules: Rules
    density: float = 1.0
    start_force: float = 1.0
    start: tuple[float, float] | None = None
    horizon: int = 1000
    deferred: bool = False


def judge_landing(
    x: float,
    y: float,
    vx: float,
    vy: float,
    angle: float,
    spin: float,
    left: float,
    right: float,
) -> tuple[float, float, bool]:
    """Gymnasium's shaping: near the pad, slow, upright, legs down; not out of sight."""
    place = -100 * math.sqrt(x * x + y * y)
    speed = 100 * math.sqrt(vx * vx + vy * vy)
    standing = place - speed - 100 * abs(angle) + 10 * left + 10 * right
    return standing, 0.0, abs(x) >= 1.0


def in_hover_box(obs: Sequence[float]) -> bool:
    """Inside the region of the paper: x in [−0.1, 0.1], y in [0.3, 0.5]."""
    return abs(obs[0]) <= HOVER_X and HOVER_Y[0] <= obs[1] <= HOVER_Y[1]


def judge_hovering(
    x: float,
    y: float,
    vx: float,
    vy: float,
    angle: float,
    spin: float,
    left: float,
    right: float,
) -> tuple[float, float, bool]:
    """Near the middle of the box, slow, upright; not near the ground or lost in space.

    With the distance to the box's edge instead, policies hover just under its top,
    above the heights that land knows.
    """
    distance = math.hypot(x, y - HOVER_MIDDLE)
    standing = -100 * distance - 50 * math.hypot(vx, vy) - 100 * abs(angle)
    bonus = 1.0 if in_hover_box((x, y)) else 0.0
    failed = y < 0.1 or y > 1.7 or abs(x) >= 1.0 or left + right > 0.0
    return standing, bonus, failed


LANDING = Rules(judge_landing)
HOVERING = Rules(judge_hovering, 0.1, 0.01)

UNMODIFIED = LanderParams(LANDING)
"""Gymnasium's own task: the reference of the parity test."""
TARGET = LanderParams(LANDING, deferred=True)
SOURCES = {
    "hover": LanderParams(HOVERING, horizon=400),
    "land": LanderParams(LANDING, start_force=0.3, start=(0.5, 0.4)),
    # A tenth of the mass takes a tenth of the push, or the craft is lost at once.
    "low-mass": LanderParams(LANDING, density=0.1, start_force=0.1),
}


FAMILY = Family("Transfer-SparseLunarLander", TARGET, SOURCES)


class DrawAhead:
    """A generator's numbers in [0, 1), drawn in blocks: single draws are slow.

    The generator runs ahead of its user until `put_back`, which leaves it exactly
    where single draws would have: so nobody may keep it and draw in between.
    """

    BLOCK = 128

    def __init__(self):
        self.ready: list[float] = []
        self._drawn_from: tuple[np.random.Generator, Any] | None = None

    def refill(self, rng: np.random.Generator) -> list[float]:
        """Draw a block; the next number is the last, to be popped."""
        self._drawn_from = rng, rng.bit_generator.state
        self.ready = rng.random(self.BLOCK)[::-1].tolist()
        return self.ready

    def put_back(self) -> None:
        """Undo the draws that were not used."""
        if self.ready and self._drawn_from is not None:
            rng, rng.bit_generator.state = self._drawn_from
            rng.random(self.BLOCK - len(self.ready))
            self.ready = []
