"""Theorem 1: how far a wrong model can put a value wrong."""

import numpy as np
from jaxtyping import Float

from policymix.environments.finite import (
    Actions,
    Transitions,
    Vector,
    induced_chain,
    policy_values,
)


def value_error_and_bound(
    transitions: Transitions,
    estimate: Transitions,
    reward: Vector,
    policy: Actions,
    discount: float,
) -> tuple[Float[np.ndarray, "*batch"], Float[np.ndarray, "*batch"]]:
    """Both sides of Theorem 1 for a finite MDP, or for a batch of them.

    ‖V̂^π − V^π‖∞ ≤ γ/(1 − γ)² · ‖R‖∞ · ‖P̂^π − P^π‖∞, where the norm of a matrix is its
    largest absolute row sum.

    Args:
        transitions: the true P(s'∣s, a).
        estimate: the model's P̂(s'∣s, a).
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
    difference = np.abs(model_chain - true_chain).sum(axis=-1).max(axis=-1)
    largest = np.abs(reward).max(axis=-1)
    bound = discount / (1 - discount) ** 2 * largest * difference
    return np.asarray(np.abs(gap).max(axis=-1)), np.asarray(bound)
