"""Several value functions of one kind, learned side by side from the same transitions.

All of them speak in rewards; `unit` is the spread of returns, by which a network's
outputs are multiplied and the first doubt of a table is measured.
"""

import abc
from typing import Any, Generic, NamedTuple, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from policymix.agents.dqn import DQN, DQNState
from policymix.core.kernels import as_float
from policymix.core.networks import MLP, init_silent_mlp
from policymix.core.types import Key, Observation, Scalar

State = TypeVar("State")
Values = Float[Array, "heads actions"]


class AbstractHeads(eqx.Module, Generic[State]):
    """Every state has a leading axis: one entry for each head."""

    @property
    @abc.abstractmethod
    def outputs(self) -> int:
        """Values in a state."""

    @abc.abstractmethod
    def init(self, key: Key, count: int) -> State:
        """Heads that differ."""

    @abc.abstractmethod
    def beside(self, first: State, second: State) -> State:
        """All heads of both, none of which was taught yet."""

    def certain(self, state: State) -> State:
        """The same heads without doubts, which a network has none of at first."""
        return state

    @abc.abstractmethod
    def values(self, state: State, unit: Scalar, obs: Observation) -> Values:
        """Q(s, ·) of every head."""

    def tried(self, state: State, obs: Observation) -> Float[Array, " actions"]:
        """Which actions were ever taught here; a network generalises to all."""
        del state, obs
        return jnp.ones(self.outputs)

    def steady(self, state: State, unit: Scalar, obs: Observation) -> Values:
        """The same without the noise of the latest lessons; what tests are played by.

        A table has none to speak of: what was not visited since has not moved.
        """
        return self.values(state, unit, obs)

    @abc.abstractmethod
    def older(self, state: State, unit: Scalar, obs: Observation) -> Values:
        """The same by the copies that targets are made of."""

    @abc.abstractmethod
    def fit(
        self,
        state: State,
        unit: Scalar,
        obs: Any,
        targets: Float[Array, "batch heads outputs"],
        taught: Float[Array, "batch outputs"],
    ) -> tuple[State, Scalar]:
        """Move every head towards its targets, each as far as it is taught."""

    @abc.abstractmethod
    def refresh(self, state: State) -> State:
        """Between chunks of steps."""


class NetworkHeads(AbstractHeads[DQNState]):
    """Independent networks."""

    learner: DQN

    @property
    def outputs(self) -> int:
        return self.learner.outputs

    def init(self, key: Key, count: int) -> DQNState:
        """Their last layers are zero: nothing is better than anything else yet."""

        def one(key: Key) -> DQNState:
            return self.learner.begin(init_silent_mlp(key, self.learner.sizes))

        return jax.vmap(one)(jax.random.split(key, count))

    def beside(self, first: DQNState, second: DQNState) -> DQNState:
        return _joined(first, second)

    def values(self, state: DQNState, unit: Scalar, obs: Observation) -> Values:
        return unit * jax.vmap(self.learner.values, (0, None))(state, obs)

    def older(self, state: DQNState, unit: Scalar, obs: Observation) -> Values:
        encoded = self.learner.encoder(obs)
        return unit * jax.vmap(lambda network: network(encoded))(state.target)

    def fit(
        self,
        state: DQNState,
        unit: Scalar,
        obs: Any,
        targets: Float[Array, "batch heads outputs"],
        taught: Float[Array, "batch outputs"],
    ) -> tuple[DQNState, Scalar]:
        state, losses = jax.vmap(self.learner.fit, (0, None, 1, None))(
            state, obs, targets / unit, taught
        )
        return state, jnp.mean(losses)

    def refresh(self, state: DQNState) -> DQNState:
        return jax.vmap(self.learner.refresh)(state)


def _joined(first: State, second: State) -> State:
    """Arrays with a leading axis of heads, one after the other."""
    return jax.tree.map(lambda x, y: jnp.concatenate([x, y]), first, second)


LATEST_LESSONS = 1.0 / 12.0
"""Of a network's lessons count in its mean."""


class SteadyState(NamedTuple):
    """Networks that learn, and their means over the latest lessons."""

    newest: DQNState
    means: MLP
    lessons: Scalar


class SteadyHeads(AbstractHeads[SteadyState]):
    """Networks whose weights are averaged over time to act on.

    Adam never comes to rest, so the policy of the newest weights trembles; that of
    their mean does not. The mean is over the latest twelfth of all lessons.

    Args:
        newest: that learn.
        steadied: so many, the first of them, are averaged.
    """

    newest: NetworkHeads
    steadied: int = eqx.field(static=True)

    @property
    def outputs(self) -> int:
        return self.newest.outputs

    def init(self, key: Key, count: int) -> SteadyState:
        return self._begin(self.newest.init(key, count))

    def beside(self, first: SteadyState, second: SteadyState) -> SteadyState:
        return self._begin(self.newest.beside(first.newest, second.newest))

    def _begin(self, newest: DQNState) -> SteadyState:
        return SteadyState(newest, self._first(newest), jnp.zeros(()))

    def _first(self, newest: DQNState) -> MLP:
        return jax.tree.map(lambda x: x[: self.steadied], newest.online.parameters)

    def values(self, state: SteadyState, unit: Scalar, obs: Observation) -> Values:
        return self.newest.values(state.newest, unit, obs)

    def steady(self, state: SteadyState, unit: Scalar, obs: Observation) -> Values:
        encoded = self.newest.learner.encoder(obs)
        return unit * jax.vmap(lambda network: network(encoded))(state.means)

    def older(self, state: SteadyState, unit: Scalar, obs: Observation) -> Values:
        return self.newest.older(state.newest, unit, obs)

    def fit(
        self,
        state: SteadyState,
        unit: Scalar,
        obs: Any,
        targets: Float[Array, "batch heads outputs"],
        taught: Float[Array, "batch outputs"],
    ) -> tuple[SteadyState, Scalar]:
        newest, loss = self.newest.fit(state.newest, unit, obs, targets, taught)
        lessons = state.lessons + 1.0
        rate = 1.0 / (1.0 + LATEST_LESSONS * lessons)
        means = jax.tree.map(
            lambda mean, new: mean + rate * (new - mean),
            state.means,
            self._first(newest),
        )
        return SteadyState(newest, means, lessons), loss

    def refresh(self, state: SteadyState) -> SteadyState:
        return state._replace(newest=self.newest.refresh(state.newest))


class HeadTables(NamedTuple):
    """Entries, and the doubts about them, of which less and less is left."""

    entries: Float[Array, "heads states outputs"]
    doubts: Float[Array, "heads states outputs"]
    """In units."""
    left: Float[Array, "states outputs"]
    """Share of what was there before the first lesson."""


class TableHeads(AbstractHeads[HeadTables]):
    """Tables that disagree about what was hardly ever tried.

    Args:
        num_states: rows of each table.
        num_outputs: its columns.
        learning_rate: α, the step towards the target of a new transition. Towards
            those of remembered ones it is α³: who trusts a single target little should
            not repeat it until it is believed.
        initial: what is expected before the first lesson …
        doubt: … give or take so many units.
    """

    num_states: int = eqx.field(static=True)
    num_outputs: int = eqx.field(static=True)
    learning_rate: Scalar = eqx.field(converter=as_float, default=0.8)
    initial: Scalar = eqx.field(converter=as_float, default=0.0)
    doubt: Scalar = eqx.field(converter=as_float, default=4.0)

    @property
    def outputs(self) -> int:
        return self.num_outputs

    def init(self, key: Key, count: int) -> HeadTables:
        shape = (self.num_states, self.num_outputs)
        entries = jnp.full((count, *shape), self.initial)
        doubts = self.doubt * jax.random.normal(key, (count, *shape))
        return HeadTables(entries, doubts, jnp.ones(shape))

    def beside(self, first: HeadTables, second: HeadTables) -> HeadTables:
        return HeadTables(*_joined(first[:2], second[:2]), first.left)

    def certain(self, state: HeadTables) -> HeadTables:
        return state._replace(doubts=jnp.zeros_like(state.doubts))

    def values(self, state: HeadTables, unit: Scalar, obs: Int[Array, ""]) -> Values:
        doubts = state.left[obs][None] * state.doubts[:, obs]
        return state.entries[:, obs] + unit * doubts

    def tried(self, state: HeadTables, obs: Int[Array, ""]) -> Float[Array, " actions"]:
        return (state.left[obs] < 1.0).astype(float)

    def older(self, state: HeadTables, unit: Scalar, obs: Int[Array, ""]) -> Values:
        return self.values(state, unit, obs)

    def fit(
        self,
        state: HeadTables,
        unit: Scalar,
        obs: Any,
        targets: Float[Array, "batch heads outputs"],
        taught: Float[Array, "batch outputs"],
    ) -> tuple[HeadTables, Scalar]:
        """Row after row; the first is new, the others are remembered."""

        def one(
            state: HeadTables, row: tuple[Array, Array, Array, Array]
        ) -> tuple[HeadTables, Scalar]:
            obs, target, taught, rate = row
            error = taught[None] * (target - state.entries[:, obs])
            entries = state.entries.at[:, obs].add(rate * error)
            left = state.left.at[obs].multiply(1.0 - rate * taught)
            state = HeadTables(entries, state.doubts, left)
            return state, jnp.sum(jnp.square(error / unit))

        rates = jnp.full(len(taught), self.learning_rate**3)
        rates = rates.at[0].set(self.learning_rate)
        state, losses = jax.lax.scan(one, state, (obs, targets, taught, rates))
        return state, jnp.mean(losses)

    def refresh(self, state: HeadTables) -> HeadTables:
        return state
