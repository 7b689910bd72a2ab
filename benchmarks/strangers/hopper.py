"""Hopper that gets heavier after a metre.

Each source has a linear policy for its gravity. A random search over its 36 numbers
found it in a minute (augmented random search: 8 directions, the best 4 of them).
"""

from functools import partial

import gymnasium as gym
import numpy as np
from halves import Halves

import policymix as pm

EARTH, HEAVY = -9.81, -13.0
LIMPING = np.array(
    [
        [-0.95, -5.25, -1.84, 33.59, 1.14, -0.06, 0.31, -0.47, -0.33, 0.57, 0.01],
        [3.79, 2.67, 1.39, 20.42, -1.39, 0.7, -0.34, 0.43, 0.85, 0.64, 0.05],
        [0.15, -7.26, 1.03, -28.37, -0.33, -0.69, 0.32, -0.42, -0.4, -0.06, -0.42],
    ]
)
"""Falls after some 200 steps."""
HOPPING = np.array(
    [
        [1.0, -4.69, -0.17, -0.11, 0.13, -0.13, 0.16, -0.01, -0.09, 0.05, 0.02],
        [-1.06, -4.01, 0.4, -0.14, 0.25, 0.06, 0.09, -0.33, -0.06, -0.1, -0.02],
        [1.54, -3.21, -0.09, 0.52, -0.1, -0.23, -0.04, -0.3, 0.22, -0.04, 0.06],
    ]
)
POLICIES = {
    "earth": (EARTH, LIMPING, np.array([1.37, -4.37, 1.28])),
    "heavy": (HEAVY, HOPPING, np.array([-1.18, 0.89, -1.05])),
}


def pull(body, gravity):
    body.model.opt.gravity[2] = gravity


def after_a_metre(body):
    return body.data.qpos[0] > 1.0


def hopper(near=EARTH, far=HEAVY):
    env = gym.make("Hopper-v5", exclude_current_positions_from_observation=False)
    return Halves(env, pull, after_a_metre, (near, far))


def linear(weights, bias, obs):
    """All but the first number, the place."""
    return np.clip(weights @ obs[1:] + bias, -1.0, 1.0).astype(np.float32)


sources = [
    pm.SourceTask(name, partial(linear, weights, bias), hopper(gravity, gravity))
    for name, (gravity, weights, bias) in POLICIES.items()
]
task = pm.TransferTask(hopper, pm.SourceLibrary(sources))
