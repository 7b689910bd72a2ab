"""LunarLander that weighs little on the left of the pad and much on its right.

Box2D cannot be put where an observation was made, so each source has a model that is
fitted to flights in its own simulator (half a minute each).
"""

from functools import partial

import gymnasium as gym
import numpy as np
from halves import Halves

import policymix as pm

LEFT, RIGHT = -4.0, -11.9
"""Gymnasium's gravity is −10."""
PAD = 10.0
"""Where it is, in metres."""


def pull(body, gravity):
    body.world.gravity = (0.0, gravity)


def on_the_right(body):
    return body.lander.position.x > PAD


def lander(left=LEFT, right=RIGHT):
    return Halves(gym.make("LunarLander-v3"), pull, on_the_right, (left, right))


def land(firmness, obs):
    """Lean towards the pad, and burn the more the faster it falls."""
    x, y, _, fall, angle, turning, left_leg, right_leg = obs
    turn = 0.5 * (np.clip(0.5 * x + obs[2], -0.4, 0.4) - angle) - turning
    lift = 0.5 * (0.55 * abs(x) - y) - firmness * fall
    if left_leg or right_leg:
        turn, lift = 0.0, -0.5 * fall
    if lift > max(abs(turn), 0.05):
        return 2
    return 0 if abs(turn) < 0.05 else 1 if turn > 0 else 3


def source(name, gravity, firmness):
    policy, env = partial(land, firmness), lander(gravity, gravity)
    fitted = pm.fit_dynamics(env, policy=policy, samples=10_000, progress=False)
    return pm.SourceTask(name, policy, fitted.model)


def task():
    sources = [source("light", LEFT, 0.3), source("heavy", RIGHT, 1.0)]
    return pm.TransferTask(lander, pm.SourceLibrary(sources))
