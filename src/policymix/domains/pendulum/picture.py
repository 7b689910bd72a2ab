"""Transfer-Pendulum as a Gymnasium environment, and its picture."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from policymix.domains.pendulum.task import Pendulum, observed, pendulum_family
from policymix.environments.drawing import (
    BLUE,
    HEIGHT,
    INK,
    WHITE,
    WIDTH,
    WOOD,
    Picture,
    disc,
    rod,
)
from policymix.environments.gymnasium import DomainEnv

METRE, FLAG = 130, 40.0
"""In pixels: the rod, and an arrow for a wind of torque one."""
FLAGS = np.linspace(-np.pi, np.pi, 13)[:-1] + np.pi / 12
"""Angles at which the wind is shown."""


def make_pendulum(
    source: str | None = None, render_mode: str | None = None
) -> DomainEnv:
    """Transfer-Pendulum's target (None), "east" or "west"."""
    return DomainEnv(pendulum_family().variant(source), draw_pendulum, render_mode)


def draw_pendulum(pendulum: Pendulum, obs: Float[np.ndarray, "3"]) -> Picture:
    """The rod, and around it which way the wind blows."""
    canvas = np.full((HEIGHT, WIDTH, 3), WHITE, np.float32)
    hinge = np.array([WIDTH / 2, HEIGHT / 2])
    for angle in FLAGS:
        there = observed(jnp.asarray(angle, float), jnp.zeros(()))
        wind = float(pendulum.wind(there))
        if wind == 0.0:
            continue
        start = hinge + 1.3 * METRE * towards(angle)
        end = start + FLAG * wind * towards(angle + np.pi / 2)
        rod(canvas, tuple(start), tuple(end), 2.5, BLUE)
        disc(canvas, tuple(end), 6.0, BLUE)
    tip = hinge + METRE * towards(float(np.arctan2(obs[1], obs[0])))
    rod(canvas, tuple(hinge), tuple(tip), 9.0, WOOD)
    disc(canvas, tuple(hinge), 6.0, INK)
    return np.rint(canvas).astype(np.uint8)


def towards(angle: float) -> np.ndarray:
    """A direction in pixels: 0 is up, and angles grow to the left, as in Gymnasium."""
    return np.array([-np.sin(angle), -np.cos(angle)])
