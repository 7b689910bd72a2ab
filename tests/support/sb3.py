"""Stable-Baselines3's learners on the slope, small and quick."""

from typing import Any

import jax.numpy as jnp
import numpy as np
import torch
from stable_baselines3 import DQN, PPO, SAC

from policymix.beliefs.potentials import potential
from policymix.bridges.stable_baselines3 import (
    MapseDQN,
    MapseSAC,
    MarsDQN,
    MarsPPO,
    MarsSAC,
)

from support.slope import FAST, Slope, ready

torch.set_num_threads(1)
OFF = {
    "buffer_size": 300,
    "learning_starts": 8,
    "batch_size": 8,
    "gamma": 0.9,
    "device": "cpu",
    "seed": 5,
}
DEEP = {**OFF, "target_update_interval": 10, "train_freq": 1}
DEEP |= {"exploration_fraction": 0.8, "learning_rate": 1e-2}
ON = {"n_steps": 5, "batch_size": 5, "n_epochs": 2, "learning_rate": 1e-2}
ON |= {"gamma": 0.9, "device": "cpu", "seed": 5}
PLAIN = {MarsDQN: DQN, MapseDQN: DQN, MarsSAC: SAC, MapseSAC: SAC, MarsPPO: PPO}
LEARNERS = [MarsDQN, MapseDQN, MarsSAC, MapseSAC]
PLACES = np.array([[-0.8, 0.1], [-0.3, 0.2], [0.2, -0.5], [0.6, 0.9]], np.float32)


def is_continuous(kind):
    return PLAIN.get(kind, kind) is SAC


def agent(kind, sources=None, env=None, continuous=None, **options) -> Any:
    continuous = is_continuous(kind) if continuous is None else continuous
    env = Slope(continuous=continuous) if env is None else env
    plain = ON if PLAIN.get(kind, kind) is PPO else OFF if continuous else DEEP
    base = {**plain, "policy_kwargs": {"net_arch": [8]}}
    if kind in PLAIN:
        sources = ready(continuous) if sources is None else sources
        options = {"sources": sources, "transfer": FAST, **options}
    return kind("MlpPolicy", env, **{**base, **options})


def parameters_of(model):
    return {name: value.clone() for name, value in model.policy.state_dict().items()}


def same(one, other):
    return all(torch.equal(one[name], other[name]) for name in one)


def tensor(rows):
    return torch.as_tensor(np.asarray(rows))


def phi_at(advisor, rows):
    """Φ(s, ·) by the definition."""
    weights, advice = advisor.advice(rows)
    pairs = zip(jnp.asarray(weights), jnp.asarray(advice), strict=True)
    return np.array([potential(*pair) for pair in pairs])


def values_of(parameters, rows, target=False):
    """Q by a network that knows of no advice."""
    model = agent(DQN)
    model.policy.load_state_dict(parameters)
    network = model.q_net_target if target else model.q_net
    with torch.no_grad():
        return network(tensor(rows)).numpy()


TAGS = ["transfer/entropy", "transfer/log_evidence", "transfer/raw_return"]
WEIGHTS = [f"transfer/source_weight/{name}" for name in ("left", "right", "own")]
SHAPED = "transfer/shaped_return"
RULE = ["transfer/own_actions", "transfer/reward_unit", "transfer/return_of_advice"]
