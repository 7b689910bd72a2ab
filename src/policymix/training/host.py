"""Trials of Gymnasium environments: the host steps them, one compiled call learns.

While one shard's learner runs, which needs no interpreter, the host steps the
environments of another.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from policymix.core.seeds import words_of
from policymix.core.types import Discrete, DiscreteAction, Keys
from policymix.environments.copies import HostTasks, Round
from policymix.environments.episodes import tally
from policymix.training.greedy import greedy_in
from policymix.training.lockstep import (
    LEARNER,
    STEPS,
    TESTS,
    Carry,
    Choices,
    Draws,
    Plan,
    absorb,
    draw,
    keys_for_tests,
    keys_of,
    lay_out,
    refresh,
    seeds_for_tests,
    uniforms_of,
)
from policymix.training.loop import AbstractShard
from policymix.training.step import (
    LearningSetup,
    Outcome,
    Trial,
    begin,
    choose,
)


@partial(jax.jit, static_argnums=(0, 1))
def _start(
    rest: LearningSetup, plan: Plan, arrays: LearningSetup, keys: Keys, obs: Array
) -> Carry:
    setup = eqx.combine(arrays, rest)
    trials = jax.vmap(partial(begin, setup))(keys, _observations(setup, obs))
    return lay_out(setup, plan, trials)


@partial(jax.jit, static_argnums=(0, 1))
def _open(
    rest: LearningSetup, plan: Plan, arrays: LearningSetup, carry: Carry, keys: Keys
) -> tuple[Draws, Choices]:
    """The draws of a chunk, and the choices of its first step."""
    setup = eqx.combine(arrays, rest)
    chances = jax.vmap(partial(draw, setup, plan), (0, None), out_axes=1)(
        keys, carry.written
    )
    return chances, _choose(setup, carry, _at(chances, jnp.zeros((), int)))


@partial(jax.jit, static_argnums=(0, 1), donate_argnums=(3,))
def _learn(
    rest: LearningSetup,
    plan: Plan,
    arrays: LearningSetup,
    carry: Carry,
    chances: Draws,
    step: Array,
    choices: Choices,
    told: Array,
) -> tuple[Carry, Choices]:
    """Learn from one step of every trial, and choose the next."""
    setup = eqx.combine(arrays, rest)
    outcomes = _outcomes(setup, told)
    carry = absorb(setup, plan, carry, choices, outcomes, _at(chances, step))
    following = jnp.minimum(step + 1, plan.length - 1)
    return carry, _choose(setup, carry, _at(chances, following))


@partial(jax.jit, static_argnums=(0, 1))
def _greedy(
    rest: LearningSetup, alone: bool, arrays: LearningSetup, trials: Trial, obs: Array
) -> Array:
    setup = eqx.combine(arrays, rest)
    act = partial(greedy_in, setup, alone=alone)
    return jax.vmap(act)(trials, _observations(setup, obs))


def _choose(setup: LearningSetup, carry: Carry, draws: Draws) -> Choices:
    def one(trial: Trial, draws: Draws) -> tuple[DiscreteAction, Int[Array, ""]]:
        return choose(setup, trial, uniforms_of(draws))

    return jax.vmap(one)(carry.trials, draws)


def _at(chances: Draws, step: Int[Array, ""]) -> Draws:
    return jax.tree.map(lambda x: x[step], chances)


def _observations(setup: LearningSetup, obs: Float[Array, "..."]) -> Array:
    return obs.astype(int) if isinstance(setup.spec.observation, Discrete) else obs


def _tell(outcome: Round) -> np.ndarray:
    """A round as one array: one transfer instead of five."""
    singles = (outcome.reward, outcome.terminated, outcome.truncated)
    count = len(outcome.reward)
    columns = [part.reshape(count, -1) for part in (outcome.next_obs, outcome.obs)]
    columns += [part[:, None] for part in singles]
    return np.concatenate(columns, axis=1, dtype=np.float32)


def _outcomes(setup: LearningSetup, told: Float[Array, "trials columns"]) -> Outcome:
    size = (told.shape[1] - 3) // 2
    next_obs, obs, reward, terminated, truncated = jnp.split(
        told, [size, 2 * size, 2 * size + 1, 2 * size + 2], axis=1
    )
    shape = (told.shape[0], *setup.spec.observation.shape)
    return Outcome(
        _observations(setup, next_obs.reshape(shape)),
        reward[:, 0],
        terminated[:, 0] > 0,
        truncated[:, 0] > 0,
        _observations(setup, obs.reshape(shape)),
    )


class HostShard(AbstractShard):
    """Trials of a Gymnasium environment.

    Args:
        setup: who learns.
        make: makes an environment of the target.
        plan: numbers that shape the program.
        tests: test episodes that are played at a time.
        seeds: one for each trial.
        device: where they learn.
    """

    def __init__(
        self,
        setup: LearningSetup,
        make: Callable[[], Any],
        plan: Plan,
        tests: int,
        seeds: np.ndarray,
        device: Any,
    ):
        arrays, self._rest = eqx.partition(setup, eqx.is_array)
        self._arrays = jax.device_put(arrays, device)
        self._plan, self.count = plan, len(seeds)
        self._tasks = HostTasks(make, len(seeds))
        self._tests = HostTasks(make, len(seeds) * tests)
        obs = self._tasks.reset(seeds.tolist())
        words = jnp.asarray(words_of(seeds))
        learners, self._keys, self._test_keys = (
            keys_of(words, use) for use in (LEARNER, STEPS, TESTS)
        )
        carry = _start(self._rest, plan, self._arrays, learners, obs)
        # Committed, or the first chunks would be compiled for arrays that are not.
        self.carry = jax.device_put(carry, device)

    def advance(self, length: int) -> None:
        fixed = (self._rest, self._plan._replace(length=length), self._arrays)
        chances, choices = _open(*fixed, self.carry, self._keys)
        for step in range(length):
            told = _tell(self._tasks.step(np.asarray(choices[0])))
            self.carry, choices = _learn(
                *fixed, self.carry, chances, np.int32(step), choices, told
            )

    def refresh(self) -> None:
        self.carry = refresh(self._rest, self._arrays, self.carry)

    def evaluate(
        self, first: int = 0, alone: bool = False
    ) -> tuple[np.ndarray, np.ndarray]:
        shape = (self.count, self._tests.copies // self.count)
        keys = keys_for_tests(self._test_keys, self.carry.written, first, shape[1])

        def policy(obs: np.ndarray) -> np.ndarray:
            return self.act(obs.reshape(*shape, *obs.shape[1:]), alone).ravel()

        lengths, totals = tally(self._tests, seeds_for_tests(keys), policy)
        return lengths.reshape(shape), totals.reshape(shape)

    def act(self, rows: np.ndarray, alone: bool = False) -> np.ndarray:
        fixed = (self._rest, alone, self._arrays, self.carry.trials)
        return np.asarray(_greedy(*fixed, rows.astype(np.float32)))
