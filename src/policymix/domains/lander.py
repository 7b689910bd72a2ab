"""Transfer-SparseLunarLander: one craft, four tasks that differ in a few numbers."""

import difflib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import gymnasium
from gymnasium.error import DependencyNotInstalled

from policymix.errors import DomainError, MissingExtraError

HOVER_X = 0.1
HOVER_Y = (0.3, 0.5)


def _no_bonus(obs: Sequence[float]) -> float:
    """Pay nothing for merely being somewhere."""
    del obs
    return 0.0


@dataclass(frozen=True)
class Rules:
    """How an unclipped observation is scored; progress is paid as change of `standing`.

    A step pays the change of standing + bonus − fuel; a failure pays −100 and coming
    to rest +100 *instead*, as in Gymnasium.
    """

    standing: Callable[[Sequence[float]], float]
    failed: Callable[[Sequence[float]], bool]
    bonus: Callable[[Sequence[float]], float] = _no_bonus
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


def landing_standing(obs: Sequence[float]) -> float:
    """Gymnasium's shaping: near the pad, slow, upright, both legs down."""
    x, y, vx, vy, angle, _, left, right = obs
    place = -100 * math.sqrt(x * x + y * y)
    speed = 100 * math.sqrt(vx * vx + vy * vy)
    return place - speed - 100 * abs(angle) + 10 * left + 10 * right


def landing_failed(obs: Sequence[float]) -> bool:
    """Out of the picture, left or right."""
    return abs(obs[0]) >= 1.0


def in_hover_box(obs: Sequence[float]) -> bool:
    """Inside the region of the paper: x in [−0.1, 0.1], y in [0.3, 0.5]."""
    return abs(obs[0]) <= HOVER_X and HOVER_Y[0] <= obs[1] <= HOVER_Y[1]


def hover_standing(obs: Sequence[float]) -> float:
    """Near the middle of the box, slow, upright.

    With the distance to the box's edge instead, policies hover just under its top,
    above the heights that land knows.
    """
    x, y, vx, vy, angle = obs[:5]
    distance = math.hypot(x, y - sum(HOVER_Y) / 2)
    return -100 * distance - 50 * math.hypot(vx, vy) - 100 * abs(angle)


def hover_failed(obs: Sequence[float]) -> bool:
    """Too near the ground, or lost in space."""
    x, y, left, right = obs[0], obs[1], obs[6], obs[7]
    return y < 0.1 or y > 1.7 or abs(x) >= 1.0 or left + right > 0.0


def _hover_bonus(obs: Sequence[float]) -> float:
    return 1.0 if in_hover_box(obs) else 0.0


LANDING = Rules(landing_standing, landing_failed)
HOVERING = Rules(hover_standing, hover_failed, _hover_bonus, 0.1, 0.01)

UNMODIFIED = LanderParams(LANDING)
"""Gymnasium's own task: the reference of the parity test."""
TARGET = LanderParams(LANDING, deferred=True)
SOURCES = {
    "hover": LanderParams(HOVERING, horizon=400),
    "land": LanderParams(LANDING, start_force=0.3, start=(0.5, 0.4)),
    # A tenth of the mass takes a tenth of the push, or the craft is lost at once.
    "low-mass": LanderParams(LANDING, density=0.1, start_force=0.1),
}


def lander_params(source: str | None = None) -> LanderParams:
    """The sparse target, or the source task of that name."""
    if source is None:
        return TARGET
    if source in SOURCES:
        return SOURCES[source]
    close = difflib.get_close_matches(source, SOURCES, n=1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    names = ", ".join(repr(name) for name in SOURCES)
    raise DomainError(
        f"Transfer-SparseLunarLander has no source {source!r}: "
        f"it has {names}, and None is the target.{hint}"
    )


def make_lander(
    source: str | None = None, render_mode: str | None = None
) -> gymnasium.Env:
    """Build the sparse target (None), or a source: "hover", "land", "low-mass".

    The horizon is enforced inside, so no time limit need be wrapped around it.
    `info["raw_return"]` is the undeferred return so far and, at the end of an
    episode, `info["outcome"]` is "rest", "failure" or "time-out".
    """
    params = lander_params(source)
    try:
        from policymix.domains.lander_physics import Lander
    except DependencyNotInstalled as error:
        raise MissingExtraError("Transfer-SparseLunarLander", "box2d") from error
    return Lander(params, render_mode)
