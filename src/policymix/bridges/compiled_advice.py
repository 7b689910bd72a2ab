"""What is asked of sources and mixture, compiled once."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any, TypeAlias

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from policymix.beliefs.mixture import AbstractMixture, Evidence, Metrics
from policymix.beliefs.potentials import action_potential, potential
from policymix.core.boxes import in_unit
from policymix.core.compiling import BRIEF
from policymix.core.kernels import Gaussian
from policymix.core.seeds import key_of
from policymix.core.types import Observation
from policymix.sources.asking import Answers, Questions, without_host
from policymix.sources.experts import Experts

KEPT = 16
"""Compiled pairs of sources and mixture; of more the oldest are forgotten."""

Leaves: TypeAlias = tuple[Array, ...]
"""Of a mixture's state."""


class CompiledAdvice:
    """The answers of sources and mixture.

    Both are constants of the compiled functions, so a call hands over only the state
    of the mixture, a few rows, and what sources on the host say about them. The state
    is a tuple of arrays, since to take a tree apart takes longer than most answers.
    """

    def __init__(self, experts: Experts, mixture: AbstractMixture):
        questions, experts = Questions(experts), without_host(experts)
        structure = jax.tree.structure(jax.eval_shape(mixture.init, key_of(0)))

        def weigh(state: Leaves, obs: Observation) -> Array:
            return mixture.weights(jax.tree.unflatten(structure, state), obs)

        def answer(
            state: Leaves, obs: Observation, answers: Answers
        ) -> tuple[Array, Array]:
            return weigh(state, obs), experts.advise(obs, answers)

        def value(
            state: Leaves, obs: Observation, answers: Answers
        ) -> tuple[Array, Array]:
            weights, advice = answer(state, obs, answers)
            return potential(weights, advice), advice

        def near(
            state: Leaves,
            obs: Observation,
            answers: Answers,
            action: Array,
            kernel: Gaussian,
        ) -> tuple[Array, Array, Array]:
            weights, advice = answer(state, obs, answers)
            scaled = jax.vmap(lambda row: in_unit(experts.spec.action, row))(advice)
            slope_of = jax.value_and_grad(action_potential, argnums=2)
            phi, slope = slope_of(weights, scaled, action, kernel)
            return phi, slope, advice

        def asking(program: Callable) -> Callable:
            """A program of a state and of rows, about which sources are asked first."""

            def call(state: Leaves, rows: np.ndarray, *more: Any) -> Any:
                return program(state, rows, questions.advice(rows), *more)

            return call

        judge = _compiled(jax.vmap(experts.log_likelihoods))
        policies = _compiled(jax.vmap(experts.advise))

        self.init = lambda key: tuple(jax.tree.leaves(mixture.init(key)))
        self.judge = lambda *rows: judge(*rows, questions.predictions(*rows))
        """Log-likelihoods of rows of transitions."""
        self.advise = asking(_compiled(jax.vmap(answer, (None, 0, 0))))
        """Weights and advice of rows of observations."""
        self.weigh = _compiled(jax.vmap(weigh, (None, 0)))
        """The weights alone."""
        self.policies = lambda rows: policies(rows, questions.advice(rows))
        """The advice alone, which does not change while the mixture learns."""
        self.potential = asking(_compiled(jax.vmap(value, (None, 0, 0))))
        """Φ(s, ·) and advice of the same."""
        self.near = asking(_compiled(jax.vmap(near, (None, 0, 0, 0, None))))
        """Φ(s, a) of rows of continuous actions in [−1, 1], its slope, and advice."""
        self.learn = _compiled(_lessons_of(mixture, structure))
        """The state after some batches, metrics and mean weights of the last."""


_compiled = partial(jax.jit, compiler_options=BRIEF)


def _lessons_of(mixture: AbstractMixture, structure: Any) -> Callable:
    """Learning from some batches, one after another; metrics are those of the last."""

    def update(
        state: Leaves, evidence: Evidence
    ) -> tuple[Leaves, tuple[Metrics, Array]]:
        before = jax.tree.unflatten(structure, state)
        after, metrics = mixture.update(before, evidence)
        weights = jax.vmap(mixture.weights, (None, 0))(after, evidence.obs)
        return tuple(jax.tree.leaves(after)), (metrics, jnp.mean(weights, axis=0))

    def lessons(
        state: Leaves, batches: Evidence
    ) -> tuple[Leaves, tuple[Metrics, Array]]:
        state, told = jax.lax.scan(update, state, batches)
        return state, jax.tree.map(lambda each: each[-1], told)

    return lessons


@dataclass(frozen=True)
class _Known:
    """Sources and mixture, the same as others that consist of the same."""

    consist: tuple[Any, ...]
    parts: tuple[Experts, AbstractMixture] = field(compare=False)


def compile_advice(experts: Experts, mixture: AbstractMixture) -> CompiledAdvice:
    """Compiled functions; who asks again for the same gets the same ones."""
    arrays, rest = eqx.partition((experts, mixture), _is_array)
    leaves, structure = jax.tree.flatten(rest)
    digest = hashlib.sha256()
    for array in map(np.asarray, jax.tree.leaves(arrays)):
        digest.update(f"{array.dtype}{array.shape}".encode() + array.tobytes())
    kinds = tuple(map(type, leaves))
    consist = (digest.digest(), structure, tuple(leaves), kinds)
    try:
        return _compile(_Known(consist, (experts, mixture)))
    except TypeError:  # a part of the user's own cannot be told from others
        return CompiledAdvice(experts, mixture)


@lru_cache(maxsize=KEPT)
def _compile(known: _Known) -> CompiledAdvice:
    return CompiledAdvice(*known.parts)


def _is_array(part: Any) -> bool:
    return eqx.is_array(part) or isinstance(part, np.ndarray)
