"""CAPS (Li, Gu, Zhu and Zhang 2019): sources and primitive actions as options.

Options are the n sources and one for every action. An option runs until it is left,
with probability β(s', o); all options that agree with an action learn from it.
"""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from policymix.agents.base import (
    AbstractAgent,
    AbstractLearner,
    Experience,
    Uniforms,
    anything,
)
from policymix.core.kernels import as_float
from policymix.core.types import (
    DiscreteAction,
    Key,
    Observation,
    Real,
    Scalar,
    Transition,
)


class CAPSState(NamedTuple):
    """Values of options, and when to leave them."""

    values: Any
    exits: Float[Array, "options features"]
    """The last layer that says when to leave an option."""


class CAPS(AbstractAgent[CAPSState]):
    """Intra-option learning with learned termination.

    Args:
        learner: Q(s, o) over n + ∣A∣ options, by a table or a network.
        num_sources: n.
        exit_rate: step size of the termination's last layer; nothing below it learns
            from terminations.
        margin: share of the lead of the best option over the second that an option may
            fall behind before it is left more often.
    """

    learner: AbstractLearner
    num_sources: int = eqx.field(static=True)
    exit_rate: Scalar = eqx.field(converter=as_float, default=0.01)
    margin: Scalar = eqx.field(converter=as_float, default=0.8)

    @property
    def replays(self) -> bool:
        return self.learner.replays

    @property
    def newest_first(self) -> bool:
        return self.learner.newest_first

    @property
    def num_actions(self) -> int:
        """Options that are primitive actions."""
        return self.learner.outputs - self.num_sources

    def init(self, key: Key) -> CAPSState:
        """Every option is left with probability ½."""
        exits = jnp.zeros((self.learner.outputs, self.learner.num_features))
        return CAPSState(self.learner.init(key), exits)

    def policies(
        self, advice: Float[Array, "n actions"]
    ) -> Float[Array, "options actions"]:
        """What every option does: the sources' advice, then each action for sure."""
        return jnp.concatenate([advice, jnp.eye(self.num_actions)])

    def leaving(self, state: CAPSState, obs: Observation) -> Float[Array, " options"]:
        """β(s, ·)."""
        features = self.learner.features(state.values, obs)
        return jax.nn.sigmoid(state.exits @ features)

    def action_values(
        self, state: CAPSState, obs: Observation, advice: Float[Array, "n actions"]
    ) -> Float[Array, " actions"]:
        """For each action the value of the best option that takes it."""
        values = self.learner.values(state.values, obs)
        takes = self.policies(advice) > 0.5
        return jnp.max(jnp.where(takes, values[:, None], -jnp.inf), axis=0)

    def alone_values(
        self, state: CAPSState, obs: Observation
    ) -> Float[Array, " actions"]:
        """The values of the options that are primitive actions."""
        return self.learner.values(state.values, obs)[self.num_sources :]

    def act(
        self,
        state: CAPSState,
        obs: Observation,
        advice: Float[Array, "n actions"],
        preferences: Float[Array, " actions"],
        option: Int[Array, ""],
        epsilon: Real,
        uniforms: Uniforms,
    ) -> tuple[DiscreteAction, Int[Array, ""]]:
        """Keep the option or, once it is left, take the best (or any) other."""
        del preferences
        best = jnp.argmax(self.learner.values(state.values, obs))
        explores = uniforms.explore < epsilon
        fresh = jnp.where(explores, anything(uniforms, self.learner.outputs), best)
        left = (option < 0) | (uniforms.leave < self.leaving(state, obs)[option])
        option = jnp.where(left, fresh, option)
        likely = self.policies(advice)[option]
        return jnp.argmax(jnp.cumsum(likely) > uniforms.follow), option

    def targets(self, state: CAPSState, step: Transition) -> Float[Array, " options"]:
        """Targets r + γ [(1 − β) Q(s', o) + β max Q(s', ·)], for every option o."""
        choosing, bootstrapped = self.learner.next_values(state.values, step.next_obs)
        best = bootstrapped[jnp.argmax(choosing)]
        leaving = self.leaving(state, step.next_obs)
        future = (1.0 - leaving) * bootstrapped + leaving * best
        future = jnp.where(step.terminated, 0.0, future)
        return step.reward + self.learner.discount * future

    def update(
        self, state: CAPSState, experience: Experience
    ) -> tuple[CAPSState, Scalar]:
        """Teach every option that agrees with the action, then mend the exits."""
        batch, advice = experience.batch, experience.advice
        latest, options = experience.latest, experience.options
        assert advice is not None
        assert latest is not None
        assert options is not None
        targets = jax.vmap(self.targets, (None, 0))(state, batch)
        agree = jax.vmap(lambda a, action: self.policies(a)[:, action])(
            advice, batch.action
        )
        values, loss = self.learner.fit(state.values, batch.obs, targets, agree)

        def mend(
            exits: Float[Array, "options features"], ran: tuple[Transition, Array]
        ) -> tuple[Float[Array, "options features"], None]:
            return self.mend_exits(state._replace(exits=exits), *ran), None

        exits, _ = jax.lax.scan(mend, state.exits, (latest, options), unroll=True)
        return CAPSState(values, exits), loss

    def mend_exits(
        self, state: CAPSState, step: Transition, option: Int[Array, ""]
    ) -> Float[Array, "options features"]:
        """Descend β(s', o) · (Q(s', o) − max Q(s', ·) + ξ) for the option that ran."""
        values = self.learner.values(state.values, step.next_obs)
        second, first = jnp.sort(values)[-2:]
        excess = values[option] - first + self.margin * (first - second)
        beta = self.leaving(state, step.next_obs)[option]
        slope = jnp.where(step.terminated, 0.0, excess * beta * (1.0 - beta))
        features = self.learner.features(state.values, step.next_obs)
        return state.exits.at[option].add(-self.exit_rate * slope * features)

    def refresh(self, state: CAPSState) -> CAPSState:
        return state._replace(values=self.learner.refresh(state.values))
