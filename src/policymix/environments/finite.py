"""Domains whose probabilities are known: values, and so regret, are exact.

In numpy and double precision: this is no hot path, and XLA's batched solver on the CPU
can hang when many systems are solved at once.
"""

import abc
from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import numpy as np
from jaxtyping import Float, Int

from policymix.environments.base import AbstractDomain

Chain = Float[np.ndarray, "*batch states states"]
Transitions = Float[np.ndarray, "*batch states actions states"]
Vector = Float[np.ndarray, "*batch states"]
Actions = Int[np.ndarray, "*batch states"]


class Tables(NamedTuple):
    """A finite decision problem, written out."""

    transitions: Float[np.ndarray, "states actions states"]
    """P(s'|s, a); what a row lacks of 1 ends the episode."""
    rewards: Float[np.ndarray, "states actions"]
    """E[r|s, a]."""
    start: Float[np.ndarray, " states"]
    """P(s₀)."""


class FiniteDomain(AbstractDomain):
    """A domain with finitely many states that can write down its own probabilities.

    Its tests are not played but computed: a policy's score is its regret.
    """

    discount: eqx.AbstractVar[float]

    @property
    def num_states(self) -> int:
        """How many there are."""
        return self.spec.observation.n  # pyright: ignore[reportAttributeAccessIssue]

    @abc.abstractmethod
    def tables(self) -> Tables:
        """The same task as `initial` and `step`, written out."""


def induced_chain(transitions: Transitions, policy: Actions) -> Chain:
    """P^π, the transitions of a deterministic policy."""
    chosen = np.take_along_axis(transitions, policy[..., None, None], axis=-2)
    return chosen[..., 0, :]


def policy_values(chain: Chain, reward: Vector, discount: float) -> Vector:
    """V = (I − γP)⁻¹ R for the chain that a policy induces."""
    identity = np.eye(reward.shape[-1])
    return np.linalg.solve(identity - discount * chain, reward[..., None])[..., 0]


def values_of(tables: Tables, policy: Actions, discount: float) -> Vector:
    """V^π of one policy, or of a batch of them."""
    states = np.arange(policy.shape[-1])
    chain = tables.transitions[states, policy]
    return policy_values(chain, tables.rewards[states, policy], discount)


class Optimum(NamedTuple):
    """The best that can be done."""

    policy: Int[np.ndarray, " states"]
    values: Float[np.ndarray, " states"]
    action_values: Float[np.ndarray, "states actions"]


def solve(tables: Tables, discount: float) -> Optimum:
    """Policy iteration; of equally good actions the first."""
    policy = np.zeros(len(tables.start), int)
    while True:
        values = values_of(tables, policy, discount)
        ahead = tables.rewards + discount * tables.transitions @ values
        gain = ahead.max(axis=1) - ahead[np.arange(len(policy)), policy]
        # A change for the sake of rounding would go on for ever.
        better = gain > 1e-12 * np.abs(ahead).max()
        if not better.any():
            return Optimum(policy, values, ahead)
        policy = np.where(better, ahead.argmax(axis=1), policy)


def regret_in(
    domain: FiniteDomain,
) -> Callable[[Actions], Float[np.ndarray, "*batch"]]:
    """Policies → (1 − γ) E[V*(s₀) − V^π(s₀)]: what a step costs more than it must."""
    tables, discount = domain.tables(), domain.discount
    best = solve(tables, discount).values

    def regret(policy: Actions) -> Float[np.ndarray, "*batch"]:
        short = best - values_of(tables, policy, discount)
        return np.asarray((1 - discount) * (short @ tables.start))

    return regret
