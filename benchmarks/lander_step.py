"""The cost of a step and of a reset, ours against Gymnasium's, in interleaved rounds.

Box2D's own share of a step is timed as well: it is the floor of the ratio.
Run: .venv/bin/python benchmarks/lander_step.py
"""

import time

import gymnasium
import numpy as np

from policymix.domains.lander.physics import Lander
from policymix.domains.lander.task import UNMODIFIED

ROUNDS, STEPS = 12, 4000


def time_round(env: gymnasium.Env, seed: int) -> tuple[float, float]:
    """Seconds per step and per reset, under random actions."""
    actions = np.random.default_rng(seed).integers(4, size=STEPS).tolist()
    stepping = resetting = 0.0
    resets = 1
    env.reset(seed=seed)
    for action in actions:
        start = time.perf_counter()
        _, _, terminated, _, _ = env.step(action)
        stepping += time.perf_counter() - start
        if terminated:
            start = time.perf_counter()
            env.reset()
            resetting += time.perf_counter() - start
            resets += 1
    return stepping / STEPS, resetting / resets


def time_box2d(env: Lander, seed: int) -> float:
    """Seconds that Box2D itself takes for a step, under random actions."""
    rng = np.random.default_rng(seed)
    stepping = 0.0
    env.reset(seed=seed)
    for action in rng.integers(4, size=STEPS).tolist():
        env._pose = *env.lander.position, env.lander.angle
        if action:
            env._fire(action, 0.65, 0.35)
        start = time.perf_counter()
        env.world.Step(1.0 / 50, 180, 60)
        stepping += time.perf_counter() - start
        if env.game_over or abs(env.lander.position.x - 10) >= 10:
            env.reset()
    return stepping / STEPS


def main() -> None:
    theirs = gymnasium.make("LunarLander-v3").unwrapped
    ours = Lander(UNMODIFIED)
    rows = [
        (*time_round(theirs, seed), *time_round(ours, seed), time_box2d(ours, seed))
        for seed in range(ROUNDS)
    ]
    medians = np.median(rows, axis=0) * 1e6
    step_theirs, reset_theirs, step_ours, reset_ours, box2d = medians
    for name, a, b in (
        ("step", step_theirs, step_ours),
        ("step without Box2D", step_theirs - box2d, step_ours - box2d),
        ("reset", reset_theirs, reset_ours),
    ):
        print(f"{name:18s}  gymnasium {a:6.1f} us  policymix {b:6.1f} us  {b / a:.2f}")
    print(f"Box2D alone {box2d:.1f} us: no ratio below {box2d / step_theirs:.2f}")


if __name__ == "__main__":
    main()
