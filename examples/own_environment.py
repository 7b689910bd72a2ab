"""Your environment, your rules of thumb, no JAX: a cart must stop at the end of a road.

    python examples/own_environment.py [samples]

Three engineers know one surface each: how a cart moves on it, and how to drive there.
The road has all three. Nobody says where; the mixture finds out as the cart moves.
"""

import sys
from functools import partial

import gymnasium as gym
import numpy as np

import policymix as pm

DRAG = {"ice": 0.05, "gravel": 0.8, "mud": 2.5}
GOAL = 9.0


def move(drag, obs, action):
    x, v = obs
    v = v + 0.1 * (3.0 * (action - 1) - drag * v)
    return np.array([x + 0.1 * v, v], np.float32)


def drive(drag, obs):
    """Full speed ahead, until the cart would only just stop in time."""
    x, v = obs
    rolls = v * abs(v) / (2.0 * (3.0 + drag * abs(v)))
    return 2 if x + rolls < GOAL else 0


class Road(gym.Env):
    observation_space = gym.spaces.Box(-np.inf, np.inf, (2,), np.float32)
    action_space = gym.spaces.Discrete(3)  # brake, roll, push

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.obs = np.array([self.np_random.uniform(0.0, 2.0), 0.0], np.float32)
        return self.obs, {}

    def step(self, action):
        surface = list(DRAG)[int(np.clip(self.obs[0] // 3, 0, 2))]
        self.obs = move(DRAG[surface], self.obs, action)
        (x, v), lost = self.obs, not -1.0 < self.obs[0] < 10.0
        stopped = abs(x - GOAL) < 0.2 and abs(v) < 0.4
        return self.obs, -1.0 - 100.0 * lost, stopped or lost, False, {}


parts = {name: (partial(drive, d), partial(move, d)) for name, d in DRAG.items()}
sources = pm.SourceLibrary([pm.SourceTask(name, *own) for name, own in parts.items()])
task = pm.TransferTask(Road, sources, horizon=200)
samples = int(sys.argv[1]) if len(sys.argv) > 1 else 5_000
for method in ("scratch", "mars"):
    trained = pm.train(task, method, steps=samples)
    print(method, [round(row.score) for row in trained.rows])
for x in (1.5, 4.5, 7.5):
    weights = trained.agents[0].belief.weights(np.array([x, 1.0], np.float32))
    print(f"trust at {x} m in {', '.join(DRAG)}, none of them:", np.round(weights, 2))
