"""Transfer-CartPole as a Gymnasium environment, and its picture."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from policymix.domains.cartpole.task import CartPole, cartpole_family
from policymix.environments.drawing import (
    BLUE,
    HEIGHT,
    INK,
    RED,
    WHITE,
    WIDTH,
    WOOD,
    Canvas,
    Colour,
    Picture,
    bar,
    blend,
    disc,
    rod,
)
from policymix.environments.gymnasium import DomainEnv

ROUGH: Colour = (166, 109, 62)
SLIPPERY = BLUE
FORCES = (5.0, 75.0)
"""What the colours mean: the paper's rough and slippery surfaces."""
GROUND = 290
"""Row of pixels where the wheels touch the track."""
METRE = 110


def make_cartpole(
    source: str | None = None, render_mode: str | None = None
) -> DomainEnv:
    """Transfer-CartPole's target (None), "rough", "slippery" or "long-pole"."""
    return DomainEnv(cartpole_family().variant(source), draw_cartpole, render_mode)


def draw_cartpole(cart: CartPole, obs: Float[np.ndarray, "4"]) -> Picture:
    """The cart on its track, whose colour and curve show F(x); posts mark its ends."""
    canvas = np.full((HEIGHT, WIDTH, 3), WHITE, np.float32)
    _track(canvas, cart)
    for end in (-cart.position_limit, cart.position_limit):
        bar(canvas, (WIDTH / 2 + METRE * end, GROUND - 20.0), (2.0, 22.0), 1.0, RED)
    x, _, angle, _ = (float(number) for number in obs)
    centre, deck = WIDTH / 2 + METRE * x, GROUND - 26.0
    bar(canvas, (centre, deck), (34.0, 11.0), 5.0, INK)
    for wheel in (centre - 20, centre + 20):
        disc(canvas, (wheel, GROUND - 8.0), 8.0, INK)
        disc(canvas, (wheel, GROUND - 8.0), 3.0, WHITE)
    hinge, length = (centre, deck - 8), 2 * cart.half_length * METRE
    tip = hinge[0] + length * np.sin(angle), hinge[1] - length * np.cos(angle)
    rod(canvas, hinge, tip, 5.0, WOOD)
    disc(canvas, hinge, 4.0, WHITE)
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
    blend(ground, teeth[None, :] - row, colours[None, :, :])
    curve = HEIGHT - 20.0 - 70.0 * slip
    # Dividing by the slope keeps the line as thick on the flanks as on the flats.
    slope = np.hypot(1.0, np.gradient(curve))
    blend(ground, np.abs(row - curve[None, :]) / slope[None, :] - 1.2, WHITE)
