"""Two trained Stable-Baselines3 models as sources, a new machine as the target.

    python examples/sb3_models.py [samples]

Both models balance a pole on a cart of their own; the target's pole has a length that
neither has seen. Their simulators tell how far to believe them. `MarsDQN` is SB3's DQN
with MARS: the same arguments, `learn`, `predict`, `save` and callbacks.
"""

import sys

import gymnasium as gym
import numpy as np
from stable_baselines3 import DQN, PPO
from stable_baselines3.common.evaluation import evaluate_policy

import policymix as pm
from policymix.bridges.stable_baselines3 import MarsDQN, jax_policy

samples = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
options = {"learning_rate": 5e-4, "learning_starts": 100, "seed": 0, "device": "cpu"}


def cart(length):
    """Gymnasium's CartPole with a pole of another length."""
    env = gym.make("CartPole-v1")
    body = env.unwrapped
    body.length, body.polemass_length = length, body.masspole * length
    return env


def score(model):
    return f"{evaluate_policy(model, cart(0.5), 10, warn=False)[0]:.0f} of 500"


def source(name, length):
    """Here the model is trained on the spot; yours comes from `PPO.load(path)`."""
    model = PPO("MlpPolicy", cart(length), seed=0, device="cpu").learn(2 * samples)
    print(f"{name}, on the target without further learning: {score(model)}")
    return pm.SourceTask(name, jax_policy(model), pm.Simulator(cart(length)))


sources = pm.SourceLibrary([source("short", 0.3), source("long", 0.8)])
plain = DQN("MlpPolicy", cart(0.5), **options).learn(samples, progress_bar=True)
print(f"plain DQN after {samples} samples: {score(plain)}")
mars = MarsDQN("MlpPolicy", cart(0.5), sources, **options)
mars.learn(samples, progress_bar=True)
print(f"MarsDQN after {samples} samples: {score(mars)}")
print({tag: round(figure, 2) for tag, figure in mars.advisor.figures().items()})

mars.save("mars_dqn")
again = MarsDQN.load("mars_dqn", sources=sources)
assert np.all(again.advisor.weights(np.zeros(4)) == mars.advisor.weights(np.zeros(4)))
