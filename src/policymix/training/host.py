"""Trials of Gymnasium environments: the host steps them, one compiled call learns.

While one shard's learner runs, which needs no interpreter, the host steps the
environments of another.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from policymix.core.compiling import BRIEF
from policymix.core.errors import PolicymixError
from policymix.core.seeds import words_of
from policymix.core.types import Action, Discrete, Keys
from policymix.environments.copies import HostTasks, Round
from policymix.environments.episodes import tally
from policymix.environments.recorded import RecordedTasks
from policymix.sources.asking import Heard, Questions, without_host
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
from policymix.training.step import Outcome, choose
from policymix.training.trial import LearningSetup, Trial, begin


@dataclass(frozen=True, eq=False)
class Hashed:
    """What a program is compiled for, besides arrays.

    Calls look for their program by this at every step, and to hash a whole setup takes
    as long as a network's update. So it is done once.
    """

    setup: LearningSetup

    @cached_property
    def _hash(self) -> int:
        return hash(self.setup)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other or not isinstance(other, Hashed):
            return self is other
        return self._hash == other._hash and bool(self.setup == other.setup)


@partial(jax.jit, static_argnums=(0, 1), compiler_options=BRIEF)
def _start(
    rest: Hashed,
    plan: Plan,
    arrays: LearningSetup,
    keys: Keys,
    obs: Array,
    answers: Array,
) -> Carry:
    setup = eqx.combine(arrays, rest.setup)
    seen = _observations(setup, obs)
    trials = jax.vmap(partial(begin, setup))(keys, seen, answers)
    return lay_out(setup, plan, trials)


@partial(jax.jit, static_argnums=(0, 1), compiler_options=BRIEF)
def _open(
    rest: Hashed, plan: Plan, arrays: LearningSetup, carry: Carry, keys: Keys
) -> tuple[Draws, Choices]:
    """The draws of a chunk, and the choices of its first step."""
    setup = eqx.combine(arrays, rest.setup)
    chances = jax.vmap(partial(draw, setup, plan), (0, None), out_axes=1)(
        keys, carry.written
    )
    return chances, _choose(setup, carry, _at(chances, jnp.zeros((), int)))


@partial(jax.jit, static_argnums=(0, 1, 8), donate_argnums=(3,), compiler_options=BRIEF)
def _learn(
    rest: Hashed,
    plan: Plan,
    arrays: LearningSetup,
    carry: Carry,
    chances: Draws,
    step: Array,
    choices: Choices,
    told: Array,
    widths: Heard,
) -> tuple[Carry, Choices]:
    """Learn from one step of every trial, and choose the next."""
    setup = eqx.combine(arrays, rest.setup)
    outcomes = _outcomes(setup, told, widths)
    carry = absorb(setup, plan, carry, choices, outcomes, _at(chances, step))
    following = jnp.minimum(step + 1, plan.length - 1)
    return carry, _choose(setup, carry, _at(chances, following))


@partial(jax.jit, static_argnums=(0, 1), compiler_options=BRIEF)
def _greedy(
    rest: Hashed,
    alone: bool,
    arrays: LearningSetup,
    trials: Trial,
    obs: Array,
    answers: Array,
) -> Array:
    setup = eqx.combine(arrays, rest.setup)

    def one(trial: Trial, obs: Array, answers: Array) -> Array:
        return greedy_in(setup, trial, obs, alone, answers)

    return jax.vmap(one)(trials, _observations(setup, obs), answers)


def _choose(setup: LearningSetup, carry: Carry, draws: Draws) -> Choices:
    def one(trial: Trial, draws: Draws) -> tuple[Action, Int[Array, ""]]:
        return choose(setup, trial, uniforms_of(draws))

    return jax.vmap(one)(carry.trials, draws)


def _at(chances: Draws, step: Int[Array, ""]) -> Draws:
    return jax.tree.map(lambda x: x[step], chances)


def _observations(setup: LearningSetup, obs: Array) -> Array:
    return obs.astype(int) if isinstance(setup.spec.observation, Discrete) else obs


def _tell(outcome: Round, heard: Sequence[np.ndarray] = ()) -> np.ndarray:
    """A round as one array: one transfer instead of eight."""
    singles = (outcome.reward, outcome.terminated, outcome.truncated)
    count = len(outcome.reward)
    columns = [part.reshape(count, -1) for part in (outcome.next_obs, outcome.obs)]
    columns += [part[:, None] for part in singles]
    return np.concatenate([*columns, *heard], axis=1, dtype=np.float32)


def _outcomes(
    setup: LearningSetup, told: Float[Array, "trials columns"], widths: Heard
) -> Outcome:
    size = math.prod(setup.spec.observation.shape)
    ends = np.cumsum([size, size, 1, 1, 1, *widths])[:-1]
    next_obs, obs, reward, terminated, truncated, *heard = jnp.split(told, ends, axis=1)
    shape = (told.shape[0], *setup.spec.observation.shape)
    return Outcome(
        _observations(setup, next_obs.reshape(shape)),
        reward[:, 0],
        terminated[:, 0] > 0,
        truncated[:, 0] > 0,
        _observations(setup, obs.reshape(shape)),
        Heard(*heard),
    )


class HostShard(AbstractShard):
    """Trials of a Gymnasium environment.

    Args:
        setup: who learns.
        make: makes an environment of the target.
        plan: numbers that shape the program.
        tests: test episodes that are played at a time.
        copies: makes the environments that are learned in; a run that is to be taken
            up again needs `RecordedTasks`.
        seeds: one for each trial.
        device: where they learn.
    """

    def __init__(
        self,
        setup: LearningSetup,
        make: Callable[[], Any],
        plan: Plan,
        tests: int,
        copies: Callable[[Callable[[], Any], int], HostTasks],
        seeds: np.ndarray,
        device: Any,
    ):
        self._questions = Questions(setup.experts, setup.method.contextual)
        self._method = setup.method
        if setup.experts is not None:
            setup = replace(setup, experts=without_host(setup.experts))
        arrays, rest = eqx.partition(setup, eqx.is_array)
        self._rest = Hashed(rest)
        self._arrays = jax.device_put(arrays, device)
        self._plan, self.count = plan, len(seeds)
        self._tasks = copies(make, len(seeds))
        self._tests = HostTasks(make, len(seeds) * tests)
        self._obs = self._tasks.reset(seeds.tolist())
        words = jnp.asarray(words_of(seeds))
        learners, self._keys, self._test_keys = (
            keys_of(words, use) for use in (LEARNER, STEPS, TESTS)
        )
        begun = learners, self._obs, self._questions.advice(self._obs)
        carry = _start(self._rest, plan, self._arrays, *begun)
        # Committed, or the first chunks would be compiled for arrays that are not.
        self.carry = jax.device_put(carry, device)

    def advance(self, length: int) -> None:
        fixed = (self._rest, self._plan._replace(length=length), self._arrays)
        chances, choices = _open(*fixed, self.carry, self._keys)
        for step in range(length):
            actions = np.asarray(choices[0])
            outcome = self._tasks.step(actions)
            heard = self._hear(actions, outcome)
            self._obs = outcome.obs
            now = chances, np.int32(step), choices, _tell(outcome, heard)
            widths = self._questions.widths
            self.carry, choices = _learn(*fixed, self.carry, *now, widths)

    def _hear(self, actions: np.ndarray, outcome: Round) -> Heard:
        """Ask the sources about one step of all trials; nothing is asked twice."""
        questions = self._questions
        if not self._method.recalls_advice:
            advice = after = questions.advice(outcome.obs)
        else:
            advice = after = questions.advice(outcome.next_obs)
            ended = outcome.terminated | outcome.truncated
            if ended.any():
                advice = after.copy()
                advice[ended] = questions.advice(outcome.obs[ended])
        step = self._obs, actions, outcome.next_obs
        return Heard(questions.predictions(*step), after, advice)

    def refresh(self) -> None:
        self.carry = refresh(self._rest.setup, self._arrays, self.carry)

    @property
    def histories(self) -> list[list[float]]:
        assert isinstance(self._tasks, RecordedTasks)
        return self._tasks.histories

    def restore(self, carry: Carry, histories: Sequence[Sequence[float]]) -> None:
        assert isinstance(self._tasks, RecordedTasks)
        obs = self._tasks.replay(histories, int(carry.written))
        astray = np.any((obs != carry.trials.obs).reshape(self.count, -1), axis=1)
        if astray.any():
            raise PolicymixError(
                f"the environment of trial {int(np.argmax(astray))} of a shard did not "
                "come back to where it was: it does not do the same when seed and "
                "actions are the same, so its training cannot go on. Begin anew in "
                "another folder"
            )
        self._obs = obs
        super().restore(carry, histories)

    def evaluate(
        self, first: int = 0, alone: bool = False
    ) -> tuple[np.ndarray, np.ndarray]:
        shape = (self.count, self._tests.copies // self.count)
        keys = keys_for_tests(self._test_keys, self.carry.written, first, shape[1])

        def policy(obs: np.ndarray) -> np.ndarray:
            return np.concatenate(self.act(obs.reshape(*shape, *obs.shape[1:]), alone))

        lengths, totals = tally(self._tests, seeds_for_tests(keys), policy)
        return lengths.reshape(shape), totals.reshape(shape)

    def act(self, rows: np.ndarray, alone: bool = False) -> np.ndarray:
        count, rows = rows.shape[:2], rows.astype(np.float32)
        if alone:
            answers = np.zeros((*count, self._questions.widths.advice), np.float32)
        else:
            flat = rows.reshape(-1, *rows.shape[2:])
            answers = self._questions.advice(flat).reshape(*count, -1)
        fixed = (self._rest, alone, self._arrays, self.carry.trials)
        return np.asarray(_greedy(*fixed, rows, answers))
