"""Theorem 1: how far a wrong model can put a value wrong."""

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from policymix.types import Real, Scalar


def policy_values(
    transitions: Float[Array, "states states"],
    reward: Float[Array, " states"],
    discount: Real,
) -> Float[Array, " states"]:
    """V = (I − γP)⁻¹ R for the chain that a policy induces."""
    identity = jnp.eye(reward.size)
    return jnp.linalg.solve(identity - discount * transitions, reward)


def induced_chain(
    transitions: Float[Array, "states actions states"], policy: Int[Array, " states"]
) -> Float[Array, "states states"]:
    """P^π, the transitions of a deterministic policy."""
    return jnp.take_along_axis(transitions, policy[:, None, None], axis=1)[:, 0]


def value_error_and_bound(
    transitions: Float[Array, "states actions states"],
    estimate: Float[Array, "states actions states"],
    reward: Float[Array, " states"],
    policy: Int[Array, " states"],
    discount: Real,
) -> tuple[Scalar, Scalar]:
    """Both sides of Theorem 1 for a finite MDP.

    ‖V̂^π − V^π‖∞ ≤ γ/(1 − γ)² · ‖R‖∞ · ‖P̂^π − P^π‖∞, where the norm of a matrix is its
    largest absolute row sum.

    Args:
        transitions: the true P(s'|s, a).
        estimate: the model's P̂(s'|s, a).
        reward: R(s).
        policy: one action per state.
        discount: γ < 1.

    Returns:
        The left and the right side.
    """
    true_chain = induced_chain(transitions, policy)
    model_chain = induced_chain(estimate, policy)
    gap = policy_values(model_chain, reward, discount) - policy_values(
        true_chain, reward, discount
    )
    difference = jnp.max(jnp.sum(jnp.abs(model_chain - true_chain), axis=1))
    bound = discount / (1 - discount) ** 2 * jnp.max(jnp.abs(reward)) * difference
    return jnp.max(jnp.abs(gap)), bound
