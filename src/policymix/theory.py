"""Theorem 1: how far a wrong model can put a value wrong.

In numpy and double precision: this is no hot path, both sides are exact to rounding,
and XLA's batched solver on the CPU can hang when many systems are solved at once.
"""

import numpy as np
from jaxtyping import Float, Int

Chain = Float[np.ndarray, "*batch states states"]
Transitions = Float[np.ndarray, "*batch states actions states"]
Vector = Float[np.ndarray, "*batch states"]


def policy_values(chain: Chain, reward: Vector, discount: float) -> Vector:
    """V = (I − γP)⁻¹ R for the chain that a policy induces."""
    identity = np.eye(reward.shape[-1])
    return np.linalg.solve(identity - discount * chain, reward[..., None])[..., 0]


def induced_chain(
    transitions: Transitions, policy: Int[np.ndarray, "*batch states"]
) -> Chain:
    """P^π, the transitions of a deterministic policy."""
    chosen = np.take_along_axis(transitions, policy[..., None, None], axis=-2)
    return chosen[..., 0, :]


def value_error_and_bound(
    transitions: Transitions,
    estimate: Transitions,
    reward: Vector,
    policy: Int[np.ndarray, "*batch states"],
    discount: float,
) -> tuple[Float[np.ndarray, "*batch"], Float[np.ndarray, "*batch"]]:
    """Both sides of Theorem 1 for a finite MDP, or for a batch of them.

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
    difference = np.abs(model_chain - true_chain).sum(axis=-1).max(axis=-1)
    largest = np.abs(reward).max(axis=-1)
    bound = discount / (1 - discount) ** 2 * largest * difference
    return np.asarray(np.abs(gap).max(axis=-1)), np.asarray(bound)
