"""Simulators asked state by state, as sources are, against many states at once.

    python benchmarks/vectorised.py

Gymnasium's CartPole against its vectorised form, and MuJoCo's HalfCheetah against
MuJoCo's own batches of steps, on one thread and on two: the least time of several
rounds, for as many states as trials ask about.
"""

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import gymnasium
import mujoco
import numpy as np
from gymnasium.envs.classic_control.cartpole import CartPoleVectorEnv
from mujoco import rollout
from own_gymnasium import LENGTHS, cart

from policymix.sources.simulators import Simulator

ROUNDS, CALLS = 9, 100
STATES = 1, 5, 20, 100


def fastest(call: Callable[[], Any]) -> float:
    """Microseconds of a call, in the best of several rounds."""
    call()
    found = []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        for _ in range(CALLS):
            call()
        found.append((time.perf_counter() - started) / CALLS)
    return 1e6 * min(found)


def carts(count: int) -> dict[str, Callable[[], Any]]:
    """The same steps of CartPole, one by one and together."""
    rng, length = np.random.default_rng(0), LENGTHS["short"]
    states = rng.uniform(-0.05, 0.05, (count, 4)).astype(np.float32)
    actions = rng.integers(2, size=count)
    simulator = Simulator(cart(length), None)
    many = CartPoleVectorEnv(num_envs=count)
    many.length, many.polemass_length = length, many.masspole * length
    many.reset()

    def one_by_one() -> np.ndarray:
        return np.stack(
            [simulator(*pair) for pair in zip(states, actions, strict=True)]
        )

    def together() -> np.ndarray:
        many.state, many.prev_done[:], many.steps[:] = states.T.astype(float), False, 0
        return many.step(actions)[0]

    assert np.array_equal(one_by_one(), together())
    return {"one by one": one_by_one, "together": together}


def cheetahs(count: int) -> dict[str, Callable[[], Any]]:
    """The same steps of HalfCheetah by MuJoCo, without what Gymnasium adds."""
    body: Any = gymnasium.make("HalfCheetah-v5").unwrapped
    model, kind = body.model, mujoco.mjtState.mjSTATE_FULLPHYSICS
    states = np.zeros((count, mujoco.mj_stateSize(model, kind)))
    for seed, state in enumerate(states):
        body.reset(seed=seed)
        mujoco.mj_getState(model, body.data, state, kind)
    rng, skip = np.random.default_rng(0), body.frame_skip
    actions = rng.uniform(-1, 1, (count, 1, model.nu)).repeat(skip, 1)
    workers = [mujoco.MjData(model) for _ in range(2)]

    def one_by_one() -> None:
        for state, action in zip(states, actions, strict=True):
            mujoco.mj_setState(model, workers[0], state, kind)
            workers[0].ctrl[:] = action[0]
            mujoco.mj_step(model, workers[0], nstep=skip)

    def together(threads: int) -> None:
        rollout.rollout(model, workers[:threads], states, actions)

    return {
        "one by one": one_by_one,
        "together": partial(together, 1),
        "together, two threads": partial(together, 2),
    }


def main() -> None:
    for name, ways_of in {"CartPole": carts, "HalfCheetah": cheetahs}.items():
        for count in STATES:
            ways = ways_of(count)
            told = [f"{way} {fastest(call):8.1f}" for way, call in ways.items()]
            print(f"{name:<12} {count:3} states, µs:", ", ".join(told), flush=True)


if __name__ == "__main__":
    main()
