"""The compiled programs of trials whose environments the host steps."""

import math
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from policymix.core.compiling import BRIEF
from policymix.core.types import Action, Discrete, Keys
from policymix.sources.asking import Heard
from policymix.training.greedy import greedy_in
from policymix.training.lessons import absorb
from policymix.training.lockstep import (
    Carry,
    Choices,
    Draws,
    Plan,
    draw,
    lay_out,
    uniforms_of,
)
from policymix.training.step import Outcome, choose
from policymix.training.trial import LearningSetup, Trial, begin

Leaves = tuple[Any, ...]
"""Of a tree. Programs that are called at every step take them and give them: to take a
tree of some hundred arrays apart and to build it takes Python as long as an update."""


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
        return self._hash == other._hash and self._parts == other._parts

    @property
    def _parts(self) -> tuple[Any, ...]:
        return (self.setup,)


@dataclass(frozen=True, eq=False)
class Shapes(Hashed):
    """The same, and how setup and carry are made of leaves."""

    arrays: Any
    carry: Any
    learned: int
    """So many leaves of the carry, the first, are the states of agents and mixtures."""

    @property
    def _parts(self) -> tuple[Any, ...]:
        return (self.setup, self.arrays, self.carry)

    def setup_of(self, numbers: Leaves) -> LearningSetup:
        return eqx.combine(jax.tree.unflatten(self.arrays, numbers), self.setup)

    def carry_of(self, state: Leaves) -> Carry:
        return jax.tree.unflatten(self.carry, state)


def shapes_of(setup: LearningSetup, arrays: LearningSetup, carry: Carry) -> Shapes:
    """Of a setup without its arrays, of these, and of what it carries."""
    learned = len(leaves_of((carry.trials.agent, carry.trials.mixture)))
    return Shapes(setup, jax.tree.structure(arrays), jax.tree.structure(carry), learned)


def leaves_of(tree: Any) -> Leaves:
    """In the order in which `Shapes` makes trees of them."""
    return tuple(jax.tree.leaves(tree))


@partial(jax.jit, static_argnums=(0, 1), compiler_options=BRIEF)
def start_trials(
    rest: Hashed,
    plan: Plan,
    arrays: LearningSetup,
    keys: Keys,
    obs: Array,
    answers: Array,
) -> Carry:
    """Trials where their first episodes start."""
    setup = eqx.combine(arrays, rest.setup)
    seen = _observations(setup, obs)
    trials = jax.vmap(partial(begin, setup))(keys, seen, answers)
    return lay_out(setup, plan, trials)


@partial(jax.jit, static_argnums=(0, 1), compiler_options=BRIEF)
def open_chunk(
    rest: Hashed, plan: Plan, arrays: LearningSetup, carry: Carry, keys: Keys
) -> tuple[Draws, Choices]:
    """The draws of a chunk, and the choices of its first step."""
    setup = eqx.combine(arrays, rest.setup)
    chances = jax.vmap(partial(draw, setup, plan), (0, None), out_axes=1)(
        keys, carry.written
    )
    return chances, _choose(setup, carry, _at(chances, jnp.zeros((), int)))


@partial(jax.jit, static_argnums=(0, 1, 8), donate_argnums=(3,), compiler_options=BRIEF)
def learn_step(
    shapes: Shapes,
    plan: Plan,
    numbers: Leaves,
    state: Leaves,
    chances: Draws,
    step: Array,
    choices: Choices,
    told: Array,
    widths: Heard,
) -> tuple[Leaves, Choices]:
    """Learn from one step of every trial, and choose the next."""
    setup, carry = shapes.setup_of(numbers), shapes.carry_of(state)
    now = chances, step, choices, told, widths
    carry, following = _go_on(setup, plan, carry, *now, learns=True)
    return leaves_of(carry), following


@partial(jax.jit, static_argnums=(0, 1, 9), donate_argnums=(3,), compiler_options=BRIEF)
def note_step(
    shapes: Shapes,
    plan: Plan,
    numbers: Leaves,
    others: Leaves,
    learned: Leaves,
    chances: Draws,
    step: Array,
    choices: Choices,
    told: Array,
    widths: Heard,
) -> tuple[Leaves, Choices]:
    """Remember one step of every trial, and choose the next.

    What was learned stays, so it is not given back.
    """
    setup, carry = shapes.setup_of(numbers), shapes.carry_of((*learned, *others))
    now = chances, step, choices, told, widths
    carry, following = _go_on(setup, plan, carry, *now, learns=False)
    return leaves_of(carry)[shapes.learned :], following


def _go_on(
    setup: LearningSetup,
    plan: Plan,
    carry: Carry,
    chances: Draws,
    step: Array,
    choices: Choices,
    told: Array,
    widths: Heard,
    learns: bool,
) -> tuple[Carry, Choices]:
    outcomes, draws = _outcomes(setup, told, widths), _at(chances, step)
    carry = absorb(setup, plan, carry, choices, outcomes, draws, learns)
    following = jnp.minimum(step + 1, plan.length - 1)
    return carry, _choose(setup, carry, _at(chances, following))


@partial(jax.jit, static_argnums=(0, 1), compiler_options=BRIEF)
def greedy_actions(
    rest: Hashed,
    alone: bool,
    arrays: LearningSetup,
    trials: Trial,
    obs: Array,
    answers: Array,
) -> Array:
    """What every trial would do in each of some states, at its best."""
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
