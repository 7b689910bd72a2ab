"""No simulator, no policy: only logs of two machines, and a new machine to control.

    python examples/data_only.py [samples]

Each log is three arrays: what was observed, what an operator did, what came next. From
them come a model of the machine (with its error on unseen data) and a policy that does
what the operator did. The new machine differs from both.
"""

import sys

import gymnasium as gym
import numpy as np

import policymix as pm

samples = int(sys.argv[1]) if len(sys.argv) > 1 else 5_000


def machine(length):
    """Gymnasium's CartPole with a pole of another length."""
    env = gym.make("CartPole-v1")
    body = env.unwrapped
    body.length, body.polemass_length = length, body.masspole * length
    return env


def record(length, operator, rows=4_000):
    """The log of an operator who does something else now and then."""
    env, rng, log = machine(length), np.random.default_rng(0), []
    obs, _ = env.reset(seed=0)
    for _ in range(rows):
        action = int(rng.integers(2)) if rng.random() < 0.2 else operator(obs)
        next_obs, _, terminated, truncated, _ = env.step(action)
        log.append((obs, action, next_obs))
        obs = env.reset()[0] if terminated or truncated else next_obs
    return tuple(np.array(column) for column in zip(*log, strict=True))


def source(name, log):
    quick = pm.ModelSettings(max_steps=10_000)  # leave it out for the best model
    model, policy = pm.fit_dynamics(log, settings=quick), pm.fit_policy(log)
    print(f"{name}: model error {model.error:.2g} (nothing changes: {model.still:.2g})")
    print(f"  repeats {policy.agreement:.0%} of the operator's actions")
    return pm.SourceTask(name, policy.policy, model.model)


logs = {
    "short": record(0.4, lambda obs: int(obs[2] + 0.3 * obs[3] > 0)),
    "long": record(0.8, lambda obs: int(0.1 * obs[0] + obs[2] + 0.4 * obs[3] > 0)),
}
sources = pm.SourceLibrary([source(*pair) for pair in logs.items()])
task = pm.TransferTask(lambda: machine(0.5), sources)
for method in ("scratch", "mars"):
    trained = pm.train(task, method, steps=samples)
    print(method, [round(row.score) for row in trained.rows])
