"""A MuJoCo model in JAX as the target, and two more as sources.

    python benchmarks/mjx.py --method mars --steps 2000 --trials 2

Gymnasium's inverted pendulum with the gravity of another planet. One source knows the
earth's and pushes the cart under the pole, the other knows the moon's and pushes too
little. Prints test scores (of 200), the trust in each source with the pole upright, and
processor-seconds.
"""

import time
from pathlib import Path

import cyclopts
import gymnasium
import jax.numpy as jnp
import mujoco
import numpy as np

import policymix as pm
from policymix.environments.mjx import MJXDomain

FILE = Path(gymnasium.__file__).parent / "envs/mujoco/assets/inverted_pendulum.xml"
EARTH, MOON, TARGET = 9.81, 1.62, 8.87


def fallen(obs):  # place, angle, and how fast both change
    return jnp.abs(obs[1]) > 0.2


def upright(obs, action, next_obs):
    return 1.0 - fallen(next_obs)


def pendulum(gravity):
    model = mujoco.MjModel.from_xml_path(str(FILE))
    model.opt.gravity[2] = -gravity
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_EULER  # quicker to compile
    return MJXDomain(model, upright, ends=fallen, frames=2, horizon=200)


def push(strength):  # towards where the pole falls
    return lambda obs: jnp.clip(strength * (obs[1:2] + 0.2 * obs[3:]), -3.0, 3.0)


def task():
    sources = [
        pm.SourceTask("earth", push(10.0), pendulum(EARTH).transition),
        pm.SourceTask("moon", push(0.5), pendulum(MOON).transition),
    ]
    return pm.TransferTask(pendulum(TARGET), pm.SourceLibrary(sources))


def main(*, method: str = "mars", steps: int = 2_000, trials: int = 2) -> None:
    """Train, and tell."""
    began = time.process_time()
    ready = pm.prepare(task())
    print(f"prepared in {time.process_time() - began:.0f} processor-seconds")
    began = time.process_time()
    trained = pm.train(ready, method, steps=steps, trials=trials, progress=False)
    print(f"{steps} samples, {trials} trials: {time.process_time() - began:.0f}")
    for row in trained.rows:
        print(f"seed {row.seed}, {row.step} samples: {row.score:.0f}")
    if trained.agents[0].setup.mixture is not None:
        weights = trained.agents[0].belief.weights_of(np.zeros((1, 4), np.float32))
        print(f"earth, moon, own model: {weights.round(3)}")


if __name__ == "__main__":
    cyclopts.run(main)
