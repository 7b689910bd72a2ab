"""A linear system that turns and is pushed: data for the tests of fitting."""

from types import SimpleNamespace

import gymnasium
import numpy as np
from gymnasium import spaces

import policymix as pm
from policymix.environments.episodes import Sampled

EPISODES, LENGTH = 40, 50
TURN = np.array([[0.8, 0.5], [-0.5, 0.8]])
PUSHES = np.array([[1.0, 0.0], [0.0, -1.0], [-1.0, 1.0]])
SETTINGS = pm.ModelSettings(max_steps=3_000, batch=64, learning_rate=5e-3)


def fit(data, **options):
    options = {"layers": (32,), "settings": SETTINGS, "progress": False, **options}
    return pm.fit_dynamics(data, **options)


def turning_episodes(scales=(1.0, 1.0), seed=0):
    """Observations and actions of a linear system, from many starts."""
    rng = np.random.default_rng(seed)
    actions = rng.integers(3, size=(EPISODES, LENGTH))
    obs = [rng.normal(size=(EPISODES, 2))]
    for step in range(LENGTH):
        obs.append(obs[-1] @ TURN.T + PUSHES[actions[:, step]])
    return np.stack(obs, axis=1) * np.array(scales), actions


def turning(scales=(1.0, 1.0)):
    obs, actions = turning_episodes(scales)
    rows = (-1, len(scales))
    return Sampled(obs[:, :-1].reshape(rows), actions.ravel(), obs[:, 1:].reshape(rows))


class Count(gymnasium.Env):
    """Counts to five, then begins anew; an action of zero waits."""

    observation_space = spaces.Discrete(7)
    action_space = spaces.Discrete(2)

    def __init__(self):
        self.closed, self.taken = False, []

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.count = 0
        return self.count, {}

    def step(self, action):
        self.taken.append(int(action))
        self.count += int(action)
        return self.count, 0.0, self.count == 5, False, {}

    def close(self):
        self.closed = True


def recorded(*episodes):
    rows = [SimpleNamespace(observations=o, actions=a) for o, a in episodes]
    return SimpleNamespace(iterate_episodes=lambda: iter(rows))
