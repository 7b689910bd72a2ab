"""Q-learning with a table (Watkins 1989): once from every transition, or repeated."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from policymix.agents.base import AbstractLearner
from policymix.core.kernels import as_float
from policymix.core.types import Key, Scalar

Table = Float[Array, "states outputs"]


class QLearning(AbstractLearner[Table]):
    """Action values of finitely many states.

    Args:
        discount: γ.
        num_states: rows of the table.
        num_outputs: its columns.
        learning_rate: step towards each target.
        initial: first value of every entry. It matters: where true values are negative,
            zero is optimistic, and every untried action looks better than a tried one.
        remembers: learn from a batch of remembered transitions too, after the new one
            and at the same rate.
    """

    discount: Scalar = eqx.field(converter=as_float)
    num_states: int = eqx.field(static=True)
    num_outputs: int = eqx.field(static=True)
    learning_rate: Scalar = eqx.field(converter=as_float, default=0.8)
    initial: Scalar = eqx.field(converter=as_float, default=0.0)
    remembers: bool = eqx.field(static=True, default=False)

    @property
    def outputs(self) -> int:
        return self.num_outputs

    @property
    def num_features(self) -> int:
        return self.num_states

    @property
    def replays(self) -> bool:
        """A plain table learns from each transition as it comes."""
        return self.remembers

    @property
    def newest_first(self) -> bool:
        """What has just been seen is never missed."""
        return self.remembers

    def init(self, key: Key) -> Table:
        """The same value everywhere; the key is not needed."""
        del key
        return jnp.full((self.num_states, self.outputs), self.initial)

    def values(self, state: Table, obs: Int[Array, ""]) -> Float[Array, " outputs"]:
        """A row of the table."""
        return state[obs]

    def next_values(
        self, state: Table, obs: Int[Array, ""]
    ) -> tuple[Float[Array, " outputs"], Float[Array, " outputs"]]:
        """The same row chooses and is bootstrapped."""
        return state[obs], state[obs]

    def features(self, state: Table, obs: Int[Array, ""]) -> Float[Array, " features"]:
        """A table is linear in the indicators of its states.

        No constant is among them: it would learn in every state, and far faster.
        """
        del state
        return jax.nn.one_hot(obs, self.num_states)

    def fit(
        self,
        state: Table,
        obs: Any,
        targets: Float[Array, "batch outputs"],
        taught: Float[Array, "batch outputs"],
    ) -> tuple[Table, Scalar]:
        """Q(s, a) ← Q(s, a) + α (target − Q(s, a)), where taught; row after row."""

        def one(table: Table, row: tuple[Array, Array, Array]) -> tuple[Table, Scalar]:
            obs, target, taught = row
            error = taught * (target - table[obs])
            table = table.at[obs].add(self.learning_rate * error)
            return table, jnp.sum(jnp.square(error))

        table, losses = jax.lax.scan(one, state, (obs, targets, taught))
        return table, jnp.mean(losses)

    def refresh(self, state: Table) -> Table:
        """A table is its own target."""
        return state
