"""Pendulum that weighs little on the left and much on the right."""

from functools import partial

import gymnasium as gym
import numpy as np
from halves import Halves

import policymix as pm

LEFT, RIGHT = 6.0, 14.0
"""Gymnasium's gravity is 10."""


def pull(body, gravity):
    body.g = gravity


def on_the_right(body):
    return np.sin(body.state[0]) < 0


def pendulum(left=LEFT, right=RIGHT):
    return Halves(gym.make("Pendulum-v1"), pull, on_the_right, (left, right))


def swing_up(gravity, obs):
    """Pump energy until there is enough of it, and catch the pendulum at the top."""
    cosine, sine, speed = obs
    if cosine > 0.9:
        return np.clip([-gravity * sine - 2.0 * speed], -2.0, 2.0)
    short = 1.5 * gravity * (1 - cosine) - speed**2 / 2
    return np.array([2.0 if short * speed > 0 else -2.0])


sources = [
    pm.SourceTask(name, partial(swing_up, gravity), pendulum(gravity, gravity))
    for name, gravity in (("light", LEFT), ("heavy", RIGHT))
]
task = pm.TransferTask(pendulum, pm.SourceLibrary(sources))
