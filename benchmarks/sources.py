"""What a transition costs against the number of sources, in one run, as ratios.

python benchmarks/sources.py
"""

import time

import jax
import jax.numpy as jnp

from policymix.core.encoders import Identity
from policymix.core.networks import init_mlp
from policymix.core.types import Box, Discrete, TaskSpec
from policymix.sources.dynamics import NetworkDynamics
from policymix.sources.experts import SourceTask
from policymix.sources.library import SourceLibrary
from policymix.sources.policies import GreedyPolicy

SPEC = TaskSpec(Box((-1.0,) * 4, (1.0,) * 4), Discrete(4))
STEPS = 2_000


def library(count):
    def source(name, key):
        policy_key, dynamics_key = jax.random.split(key)
        return SourceTask(
            name,
            GreedyPolicy(init_mlp(policy_key, (4, 40, 40, 4)), Identity()),
            NetworkDynamics(init_mlp(dynamics_key, (8, 50, 50, 4)), Identity()),
        )

    keys = jax.random.split(jax.random.key(0), count)
    return SourceLibrary([source(f"s{i}", keys[i]) for i in range(count)], SPEC)


def one_transition(experts, count):
    """Advice and log-likelihoods of all sources, once."""

    def step(obs):
        advice = experts.advise(obs)
        likelihoods = experts.log_likelihoods(obs, jnp.argmax(advice[0]), obs)
        return obs + 1e-9 * jnp.sum(likelihoods) / count

    return step


def compiled_loop(count):
    """Transitions one after the other inside one compiled loop."""
    step = one_transition(library(count).experts, count)
    loop = jax.jit(lambda obs: jax.lax.fori_loop(0, STEPS, lambda _, o: step(o), obs))
    return lambda: loop(jnp.zeros(4)).block_until_ready()


def host_loop(count):
    """One compiled call for each transition, as a loop in Python makes it."""
    step = jax.jit(one_transition(library(count).experts, count))

    def run():
        obs = jnp.zeros(4)
        for _ in range(STEPS):
            obs = step(obs)
        obs.block_until_ready()

    return run


def microseconds(runs, rounds=7):
    """The best time of each, measured in turns so that noise hits all alike."""
    best = dict.fromkeys(runs, float("inf"))
    for run in runs.values():
        run()
    for _ in range(rounds):
        for count, run in runs.items():
            started = time.perf_counter()
            run()
            best[count] = min(best[count], time.perf_counter() - started)
    return {count: 1e6 * seconds / STEPS for count, seconds in best.items()}


def main():
    counts = (3, 12, 48, 96, 192)
    inside = microseconds({count: compiled_loop(count) for count in counts})
    outside = microseconds({count: host_loop(count) for count in counts})
    print("µs a transition, and times the cost of 3 sources")
    print("sources   inside a compiled loop   one call from Python each")
    for n in counts:
        print(
            f"{n:7}   {inside[n]:12.1f} {inside[n] / inside[3]:8.1f} x "
            f"{outside[n]:15.1f} {outside[n] / outside[3]:8.1f} x"
        )


if __name__ == "__main__":
    main()
