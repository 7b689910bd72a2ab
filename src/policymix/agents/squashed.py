"""A Gaussian squashed by tanh: what SAC draws its actions from, each in [−1, 1]."""

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from policymix.core.types import Scalar

LOG_RANGE = (-20.0, 2.0)
"""Of the logarithm of a deviation."""


class Squashed(NamedTuple):
    """Of the Gaussian before it is squashed."""

    mean: Float[Array, " act"]
    log_deviation: Float[Array, " act"]


def squashed(outputs: Float[Array, " outputs"]) -> Squashed:
    """From a network's outputs: means, then logarithms of deviations."""
    mean, log_deviation = jnp.split(outputs, 2)
    return Squashed(mean, jnp.clip(log_deviation, *LOG_RANGE))


def draw_action(
    policy: Squashed, noise: Float[Array, " act"]
) -> tuple[Float[Array, " act"], Scalar]:
    """The action that standard normal noise makes, and its log-density.

    With u = μ + σ·noise the action is tanh u, and log π = log N(u; μ, σ) − Σ log(1 −
    tanh² u). The last term is written as 2(log 2 − u − softplus(−2u)), which stays
    finite where tanh u rounds to one.
    """
    raw = policy.mean + jnp.exp(policy.log_deviation) * noise
    normal = -0.5 * (jnp.square(noise) + math.log(2.0 * math.pi)) - policy.log_deviation
    shrunk = 2.0 * (math.log(2.0) - raw - jax.nn.softplus(-2.0 * raw))
    return jnp.tanh(raw), jnp.sum(normal - shrunk)


def likeliest(policy: Squashed) -> Float[Array, " act"]:
    """What is done without noise."""
    return jnp.tanh(policy.mean)
