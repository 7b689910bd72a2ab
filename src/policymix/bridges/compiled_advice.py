"""What is asked of sources and mixture, compiled once."""

import hashlib
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from policymix.beliefs.mixture import AbstractMixture, Evidence, Metrics
from policymix.beliefs.potentials import action_potential, potential
from policymix.core.boxes import in_unit
from policymix.core.kernels import Gaussian
from policymix.core.types import Observation
from policymix.sources.experts import Experts

KEPT = 16
"""Compiled pairs of sources and mixture; of more the oldest are forgotten."""


class CompiledAdvice:
    """The answers of sources and mixture.

    Both are constants of the compiled functions, so a call hands over only the state
    of the mixture and a few rows.
    """

    def __init__(self, experts: Experts, mixture: AbstractMixture):
        def answer(state: Any, obs: Observation) -> tuple[Array, Array]:
            return mixture.weights(state, obs), experts.advise(obs)

        def value(state: Any, obs: Observation) -> tuple[Array, Array]:
            weights, advice = answer(state, obs)
            return potential(weights, advice), advice

        def near(
            state: Any, obs: Observation, action: Array, kernel: Gaussian
        ) -> tuple[Array, Array, Array]:
            weights, advice = answer(state, obs)
            scaled = jax.vmap(lambda row: in_unit(experts.spec.action, row))(advice)
            slope_of = jax.value_and_grad(action_potential, argnums=2)
            phi, slope = slope_of(weights, scaled, action, kernel)
            return phi, slope, advice

        def update(state: Any, evidence: Evidence) -> tuple[Any, Metrics, Array]:
            state, metrics = mixture.update(state, evidence)
            weights = jax.vmap(mixture.weights, (None, 0))(state, evidence.obs)
            return state, metrics, jnp.mean(weights, axis=0)

        self.init = mixture.init
        self.judge = jax.jit(jax.vmap(experts.log_likelihoods))
        """Log-likelihoods of rows of transitions."""
        self.advise = jax.jit(jax.vmap(answer, (None, 0)))
        """Weights and advice of rows of observations."""
        self.weigh = jax.jit(jax.vmap(mixture.weights, (None, 0)))
        """The weights alone."""
        self.policies = jax.jit(jax.vmap(experts.advise))
        """The advice alone, which does not change while the mixture learns."""
        self.potential = jax.jit(jax.vmap(value, (None, 0)))
        """Φ(s, ·) and advice of the same."""
        self.near = jax.jit(jax.vmap(near, (None, 0, 0, None)))
        """Φ(s, a) of rows of continuous actions in [−1, 1], its slope, and advice."""
        self.learn = jax.jit(update)
        """The state after a batch, its metrics, and the mean weights over it."""


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
