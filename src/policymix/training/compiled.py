"""Whole trials compiled: environment, behaviour, replay and learners in one scan.

What makes it fast, each measured: trials move in lock step, so the replay has one write
position; a row is written before rows are read; the random numbers of a chunk are drawn
before its scan; target copies and tests happen between chunks; each core has its own
shard of the trials (see `loop`), and its programs start no threads.
"""

from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from policymix.core.compiling import ALONE
from policymix.core.seeds import words_of
from policymix.core.types import Action, Key, Keys, Observation, TestKeys
from policymix.environments.base import AbstractDomain
from policymix.training.greedy import greedy, greedy_in
from policymix.training.lessons import absorb, in_rounds
from policymix.training.lockstep import (
    LEARNER,
    STARTS,
    STEPS,
    TESTS,
    Carry,
    Draws,
    Plan,
    draw,
    keys_for_tests,
    keys_of,
    lay_out,
    refresh,
    uniforms_of,
)
from policymix.training.loop import AbstractShard
from policymix.training.step import Outcome, choose
from policymix.training.trial import LearningSetup, Trial, begin


class World(NamedTuple):
    """Who learns, and where."""

    setup: LearningSetup
    domain: AbstractDomain


def start(world: World, plan: Plan, keys: Keys, start_keys: Keys) -> Carry:
    """All trials before their first step."""

    def one(key: Key, start_key: Key) -> Trial:
        first = world.domain.initial(jax.random.fold_in(start_key, 0))
        return begin(world.setup, key, first)

    return lay_out(world.setup, plan, jax.vmap(one)(keys, start_keys))


def chunk(
    world: World, plan: Plan, carry: Carry, keys: Keys, start_keys: Keys
) -> Carry:
    """So many steps of all trials."""
    setup, domain = world

    first = carry.written

    def draw_one(key: Key, start_key: Key) -> tuple[Draws, Array]:
        def initial(step: Int[Array, ""]) -> Observation:
            return domain.initial(jax.random.fold_in(start_key, step))

        # The trial's first episode began with step 0.
        starts = jax.vmap(initial)(first + 1 + jnp.arange(plan.length))
        return draw(setup, plan, key, first), starts

    def step(carry: Carry, chance: tuple[Draws, Array], learns: bool) -> Carry:
        draws, starts = chance
        choices = jax.vmap(lambda t, d: choose(setup, t, uniforms_of(d)))(
            carry.trials, draws
        )
        outcomes = jax.vmap(partial(advance, domain))(
            carry.trials, choices[0], starts, draws.key
        )
        return absorb(setup, plan, carry, choices, outcomes, draws, learns)

    draws, starts = jax.vmap(draw_one, out_axes=1)(keys, start_keys)
    # Steps use these keys for the first time. But with steps and trials transposed,
    # JAX's check of reuse cannot tell them from their siblings of the same split.
    draws = draws._replace(key=jax.random.clone(draws.key))
    return in_rounds(plan, step, carry, (draws, starts))


def advance(
    domain: AbstractDomain,
    trial: Trial,
    action: Action,
    start: Observation,
    key: Key,
) -> Outcome:
    """One step of one environment, and a new episode after an end."""
    next_obs, reward, terminated = domain.step(key, trial.obs, action)
    truncated = ~terminated & (trial.behaviour.elapsed + 1 >= domain.horizon)
    obs = jnp.where(terminated | truncated, start, next_obs)
    return Outcome(next_obs, reward, terminated, truncated, obs)


class Evaluation(NamedTuple):
    """A test episode on its way."""

    obs: Observation
    length: Int[Array, ""]
    total: Float[Array, ""]
    over: Bool[Array, ""]


def evaluate_trials(
    world: World, trials: Trial, keys: TestKeys, alone: bool = False
) -> tuple[Array, Array]:
    """Lengths and returns of greedy episodes, one from each of a trial's keys."""
    setup, domain = world

    def first(key: Key) -> Evaluation:
        obs = domain.initial(jax.random.fold_in(key, 0))
        return Evaluation(obs, jnp.zeros((), int), jnp.zeros(()), jnp.zeros((), bool))

    def one(trial: Trial, test: Evaluation, key: Key) -> Evaluation:
        # `fold_in` counts from 1, so that no step shares the key of the start.
        step_key = jax.random.fold_in(key, test.length + 1)
        action = greedy(setup, trial, test.obs, alone)
        obs, reward, terminated = domain.step(step_key, test.obs, action)
        length = test.length + 1
        over = terminated | (length >= domain.horizon)
        after = Evaluation(obs, length, test.total + reward, over)
        return jax.tree.map(lambda a, b: jnp.where(test.over, a, b), test, after)

    step = jax.vmap(jax.vmap(one, (None, 0, 0)))
    tests = jax.lax.while_loop(
        lambda tests: ~jnp.all(tests.over),
        lambda tests: step(trials, tests, keys),
        jax.vmap(jax.vmap(first))(keys),
    )
    return tests.length, tests.total


@partial(jax.jit, static_argnums=(0, 1), compiler_options=ALONE)
def _start(
    rest: World, plan: Plan, arrays: World, keys: Keys, start_keys: Keys
) -> Carry:
    return start(eqx.combine(arrays, rest), plan, keys, start_keys)


@partial(jax.jit, static_argnums=(0, 1), donate_argnums=(3,), compiler_options=ALONE)
def _chunk(
    rest: World, plan: Plan, arrays: World, carry: Carry, keys: Keys, start_keys: Keys
) -> Carry:
    return chunk(eqx.combine(arrays, rest), plan, carry, keys, start_keys)


@partial(jax.jit, static_argnums=(0, 1), compiler_options=ALONE)
def _evaluate(
    rest: World, alone: bool, arrays: World, trials: Trial, keys: TestKeys
) -> tuple[Array, Array]:
    return evaluate_trials(eqx.combine(arrays, rest), trials, keys, alone)


@partial(jax.jit, static_argnums=(0, 1), compiler_options=ALONE)
def _act(rest: World, alone: bool, arrays: World, trials: Trial, rows: Array) -> Array:
    setup = eqx.combine(arrays, rest).setup
    return jax.vmap(partial(greedy_in, setup, alone=alone))(trials, rows)


class CompiledShard(AbstractShard):
    """Trials of a JAX domain.

    Args:
        world: who learns, and where.
        plan: numbers that shape the program.
        size: trials that it has room for; with one size, one program serves all shards.
        tests: test episodes that are played at a time.
        seeds: one for each trial.
        device: where they run.
    """

    def __init__(
        self,
        world: World,
        plan: Plan,
        size: int,
        tests: int,
        seeds: np.ndarray,
        device: Any,
    ):
        self.count, self._plan, self._tests = len(seeds), plan, tests
        arrays, self._rest = eqx.partition(world, eqx.is_array)
        self._arrays = jax.device_put(arrays, device)
        filled = jax.device_put(words_of(np.resize(seeds, size)), device)
        self._keys = tuple(keys_of(filled, use) for use in (STEPS, STARTS))
        self._test_keys = keys_of(filled, TESTS)
        learners = keys_of(filled, LEARNER)
        self.carry = _start(self._rest, plan, self._arrays, learners, self._keys[1])

    def advance(self, length: int) -> None:
        plan = self._plan.of(length, self.steps)
        self.carry = _chunk(self._rest, plan, self._arrays, self.carry, *self._keys)
        self.steps += length

    def refresh(self) -> None:
        rest, arrays = self._rest.setup, self._arrays.setup
        self.carry = refresh(rest, arrays, self.carry)

    def evaluate(
        self, first: int = 0, alone: bool = False
    ) -> tuple[np.ndarray, np.ndarray]:
        fixed = (self._rest, alone, self._arrays)
        keys = keys_for_tests(self._test_keys, self.carry.written, first, self._tests)
        lengths, totals = _evaluate(*fixed, self.carry.trials, keys)
        return np.asarray(lengths)[: self.count], np.asarray(totals)[: self.count]

    def act(self, rows: np.ndarray, alone: bool = False) -> np.ndarray:
        fixed = (self._rest, alone, self._arrays)
        size = self.carry.trials.behaviour.episode.shape[0]
        kind = self.carry.trials.obs.dtype
        filled = np.resize(rows, (size, *rows.shape[1:])).astype(kind)
        actions = _act(*fixed, self.carry.trials, filled)
        return np.asarray(actions)[: self.count]
