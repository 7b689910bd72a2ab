"""FrozenLake, 8 × 8: its left half is slippery, its right half is not."""

import gymnasium as gym
import jax.numpy as jnp
import numpy as np
from halves import best_actions

import policymix as pm


def lake(left=True, right=False):
    """The transitions of the one lake in one half, of the other in the other."""
    env = gym.make("FrozenLake8x8-v1", is_slippery=left)
    other = gym.make("FrozenLake8x8-v1", is_slippery=right).unwrapped.P
    body = env.unwrapped
    body.P = {s: (other if s % 8 >= 4 else body.P)[s] for s in body.P}
    return env


def probabilities(env):
    """log P(next | state, action): chance is no simulator, but it has a density."""
    table = np.zeros((64, 4, 64))
    for state, rows in env.unwrapped.P.items():
        for action, row in rows.items():
            for probability, following, *_ in row:
                table[state, action, following] += probability
    log = jnp.log(jnp.asarray(table) + 1e-6)
    return pm.LogDensity(lambda obs, action, next_obs: log[obs, action, next_obs])


def source(name, slippery):
    env = lake(slippery, slippery)
    return pm.SourceTask(name, best_actions(env.unwrapped.P), probabilities(env))


sources = [source("slippery", True), source("dry", False)]
task = pm.TransferTask(lake, pm.SourceLibrary(sources))
