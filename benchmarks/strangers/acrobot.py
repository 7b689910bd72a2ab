"""Acrobot whose lower link is light on the one side and heavy on the other."""

import gymnasium as gym
import numpy as np
from halves import Halves

import policymix as pm

LIGHT, HEAVY = (1.5, 0.5), (0.5, 1.5)
"""Masses of the upper and the lower link; Gymnasium's are 1 and 1."""


def weigh(body, masses):
    body.LINK_MASS_1, body.LINK_MASS_2 = masses


def on_the_right(body):
    return np.sin(body.state[0]) > 0


def acrobot(left=LIGHT, right=HEAVY):
    return Halves(gym.make("Acrobot-v1"), weigh, on_the_right, (left, right))


def against_the_upper(obs):
    return 0 if obs[4] > 0 else 2


def with_the_lower(obs):
    return 2 if obs[5] > 0 else 0


sources = [
    pm.SourceTask("light", against_the_upper, acrobot(LIGHT, LIGHT)),
    pm.SourceTask("heavy", with_the_lower, acrobot(HEAVY, HEAVY)),
]
task = pm.TransferTask(acrobot, pm.SourceLibrary(sources))
