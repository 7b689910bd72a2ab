"""Transfer-Acrobot as a Gymnasium environment, and its picture."""

import numpy as np
from jaxtyping import Float

from policymix.domains.acrobot.task import Acrobot, acrobot_family
from policymix.environments.drawing import (
    BLUE,
    GREEN,
    HEIGHT,
    INK,
    WHITE,
    WIDTH,
    WOOD,
    Picture,
    bar,
    disc,
    rod,
)
from policymix.environments.gymnasium import DomainEnv

METRE = 72
"""In pixels: the longest links just fit."""


def make_acrobot(
    instance: int | None = None,
    source: str | None = None,
    render_mode: str | None = None,
) -> DomainEnv:
    """Gymnasium's machine (None) or one of the ten; or one of its sources by name."""
    variant = acrobot_family(instance).variant(source)
    return DomainEnv(variant, draw_acrobot, render_mode)


def draw_acrobot(machine: Acrobot, obs: Float[np.ndarray, "6"]) -> Picture:
    """Both links, thick where heavy; the line is the goal for links of length one."""
    canvas = np.full((HEIGHT, WIDTH, 3), WHITE, np.float32)
    shoulder = WIDTH / 2, HEIGHT / 2
    bar(canvas, (WIDTH / 2, shoulder[1] - METRE), (WIDTH / 2, 1.0), 0.5, GREEN)
    upper = np.arctan2(obs[1], obs[0])
    lower = upper + np.arctan2(obs[3], obs[2])
    joints = [shoulder]
    for angle, length in (
        (upper, machine.upper_length),
        (lower, machine.lower_length),
    ):
        x, y = joints[-1]
        reach = METRE * float(length)
        joints.append((x + reach * np.sin(angle), y + reach * np.cos(angle)))
    masses = machine.upper_mass, machine.lower_mass
    for start, end, mass in zip(joints, joints[1:], masses, strict=False):
        rod(canvas, start, end, 7.0 * float(np.sqrt(mass)), WOOD)
    for joint in joints[:2]:
        disc(canvas, joint, 6.0, INK)
    disc(canvas, joints[2], 4.0, BLUE)
    return np.rint(canvas).astype(np.uint8)
