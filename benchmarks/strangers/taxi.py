"""Taxi in whose eastern half north is south: the wheel turns the other way."""

import gymnasium as gym
from halves import best_actions

import policymix as pm

SOUTH, NORTH = 0, 1


def taxi(west=False, east=True):
    """Where the controls are crossed, south and north change places."""
    env = gym.make("Taxi-v4")
    body = env.unwrapped
    for state, rows in body.P.items():
        column = tuple(body.decode(state))[1]
        if east if column >= 3 else west:
            rows[SOUTH], rows[NORTH] = rows[NORTH], rows[SOUTH]
    return env


def source(name, crossed):
    env = taxi(crossed, crossed)
    return pm.SourceTask(name, best_actions(env.unwrapped.P), env)


sources = [source("straight", False), source("crossed", True)]
task = pm.TransferTask(taxi, pm.SourceLibrary(sources))
