"""MountainCar with a gravity for each slope; each rule knows one slope only."""

import gymnasium as gym
from halves import Halves

import policymix as pm

LEFT, RIGHT = 0.002, 0.003
"""Gymnasium's gravity is 0.0025."""


def pull(body, gravity):
    body.gravity = gravity


def on_the_right(body):
    return body.state[0] > -0.5


def valley(left=LEFT, right=RIGHT):
    return Halves(gym.make("MountainCar-v0"), pull, on_the_right, (left, right))


def swing_left(obs):
    return 2 * (obs[1] >= 0) if obs[0] < -0.5 else 1


def swing_right(obs):
    return 2 * (obs[1] >= 0) if obs[0] > -0.5 else 1


sources = [
    pm.SourceTask("left", swing_left, valley(LEFT, LEFT)),
    pm.SourceTask("right", swing_right, valley(RIGHT, RIGHT)),
]
task = pm.TransferTask(valley, pm.SourceLibrary(sources))
