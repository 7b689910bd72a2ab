"""MARS that learns: its own values, judges of them, and a student of what comes of it.

In every state there are two candidates: the own action, which own values like best, and
the advised one. The judges say by how much the own action is better, and it is taken
where they are sure of it: where the mean of that difference is more than β of its
deviations. They learn what this very rule earns, so they begin with the worth of the
advice and rise as the rule departs from it. The student imitates whatever is best so
far and needs no source.
"""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from policymix.agents.base import AbstractAgent, Experience
from policymix.agents.heads import AbstractHeads
from policymix.core.kernels import as_float
from policymix.core.returns import Returns, no_returns, note_rewards, spread
from policymix.core.types import (
    Key,
    Observation,
    Real,
    Scalar,
    Transition,
)

STUDIED = 4
"""One of so many replayed states is a lesson for the student, too."""


class JudgedState(NamedTuple):
    """Heads of all kinds, and the returns that say in which unit they speak."""

    heads: Any
    """The own ones, then the judges: side by side, since all of them learn alike."""
    student: Any
    returns: Returns


def sure(lead: Float[Array, " judges"], caution: Real) -> Bool[Array, ""]:
    """Whether all doubt is removed: the mean is more than β deviations above zero."""
    return jnp.mean(lead) > caution * jnp.std(lead, ddof=1)


def rule(
    own: Float[Array, " actions"],
    judged: Float[Array, "judges actions"],
    tried: Float[Array, " actions"],
    phi: Float[Array, " actions"],
    caution: Real,
) -> Int[Array, ""]:
    """The own action where the judges are sure of it, else the advised one.

    Args:
        own: values that pick the own action.
        judged: values by every judge.
        tried: actions that the judges know; nobody is sure of another.
        phi: Φ(s, ·). Where less than half of the belief is with sources, there is no
            advice.
        caution: β.
    """
    mine, advised = jnp.argmax(own), jnp.argmax(phi)
    proved = sure(judged[:, mine] - judged[:, advised], caution)
    proved &= (tried[mine] > 0.0) & (tried[advised] > 0.0)
    return jnp.where(proved | (jnp.sum(phi) < 0.5), mine, advised)


class Judged(AbstractAgent[JudgedState]):
    """The agent of `mars`.

    Args:
        heads: values that pick the own action, then those of the judges.
        student: preferences of what is to be imitated.
        discount: γ.
        own_heads: the own values are the mean of so many.
        judges: how many there are.
        caution: β.
    """

    heads: AbstractHeads
    student: AbstractHeads
    discount: Scalar = eqx.field(converter=as_float)
    own_heads: int = eqx.field(static=True, default=2)
    judges: int = eqx.field(static=True, default=2)
    caution: Scalar = eqx.field(converter=as_float, default=1.5)

    @property
    def replays(self) -> bool:
        return True

    @property
    def newest_first(self) -> bool:
        """A table must know at once what it has just seen."""
        return True

    def init(self, key: Key) -> JudgedState:
        own_key, judges_key, student_key = jax.random.split(key, 3)
        own = self.heads.certain(self.heads.init(own_key, self.own_heads))
        judges = self.heads.init(judges_key, self.judges)
        return JudgedState(
            self.heads.beside(own, judges),
            self.student.init(student_key, 1),
            no_returns(),
        )

    def steady_values(self, state: JudgedState, obs: Observation) -> Float[Array, " a"]:
        """The mean of the own heads, by what they have been of late."""
        values = self.heads.steady(state.heads, spread(state.returns), obs)
        return jnp.mean(values[: self.own_heads], axis=0)

    def ruled(
        self, state: JudgedState, obs: Observation, phi: Float[Array, " actions"]
    ) -> Int[Array, ""]:
        """What the rule does."""
        values = self.heads.values(state.heads, spread(state.returns), obs)
        tried = self.heads.tried(state.heads, obs)
        return self._rule(values, tried, phi)

    def _rule(
        self,
        values: Float[Array, "heads actions"],
        tried: Float[Array, " actions"],
        phi: Float[Array, " actions"],
    ) -> Int[Array, ""]:
        """By the mean of the own heads, and by all judges."""
        own, judged = values[: self.own_heads], values[self.own_heads :]
        return rule(jnp.mean(own, axis=0), judged, tried, phi, self.caution)

    def preferences(
        self,
        state: JudgedState,
        obs: Observation,
        phi: Float[Array, " actions"],
        way: Int[Array, ""],
    ) -> Float[Array, " actions"]:
        """What one of the three ways to behave prefers: advice, rule, own values.

        The first follows whatever advice there is. That the own model explains the
        target better says nothing of policies: what they are worth their returns say.
        """
        own = self.steady_values(state, obs)
        ruled = jax.nn.one_hot(self.ruled(state, obs, phi), phi.size)
        advice = jnp.where(jnp.sum(phi) > 0.0, phi, own)
        return jnp.stack([advice, ruled, own])[way]

    def action_values(
        self, state: JudgedState, obs: Observation, advice: Float[Array, "n actions"]
    ) -> Float[Array, " actions"]:
        del advice
        return self.steady_values(state, obs)

    def alone_values(self, state: JudgedState, obs: Observation) -> Float[Array, " a"]:
        """The student's preferences."""
        return self.student.values(state.student, jnp.ones(()), obs)[0]

    def targets(
        self, state: JudgedState, step: Transition, next_phi: Float[Array, " actions"]
    ) -> Float[Array, " heads"]:
        """Targets r + γ Q⁻(s', a'), where a' is the best own action or the rule's."""
        obs, count = step.next_obs, self.own_heads
        older = self.heads.older(state.heads, spread(state.returns), obs)
        best = jnp.argmax(jnp.mean(older[:count], axis=0))
        ruled = self._rule(older, self.heads.tried(state.heads, obs), next_phi)
        follow = jnp.concatenate([older[:count, best], older[count:, ruled]])
        return step.reward + self.discount * (1.0 - step.terminated) * follow

    def note(self, state: JudgedState, steps: Transition) -> JudgedState:
        """Their rewards say how far returns spread."""
        ended = steps.terminated | steps.truncated
        returns = note_rewards(state.returns, steps.reward, ended, self.discount)
        return state._replace(returns=returns)

    def update(
        self, state: JudgedState, experience: Experience
    ) -> tuple[JudgedState, Scalar]:
        """All heads learn from the same batch; the student needs but a part of it."""
        batch = experience.batch
        assert experience.phi is not None
        assert experience.next_phi is not None
        assert experience.best is not None
        targets = jax.vmap(self.targets, (None, 0, 0))(
            state, batch, experience.next_phi
        )
        taught = jax.nn.one_hot(batch.action, self.heads.outputs)
        few = -(-len(taught) // STUDIED)
        studied = batch.obs[:few]
        taken = jax.vmap(self.preferences, (None, 0, 0, None))(
            state, studied, experience.phi[:few], experience.best
        )
        lesson = jax.nn.one_hot(jnp.argmax(taken, axis=1), self.heads.outputs)
        heads, loss = self.heads.fit(
            state.heads,
            spread(state.returns),
            batch.obs,
            targets[..., None] * taught[:, None],
            taught,
        )
        student, learning = self.student.fit(
            state.student,
            jnp.ones(()),
            studied,
            lesson[:, None],
            jnp.ones_like(lesson),
        )
        return JudgedState(heads, student, state.returns), loss + learning

    def refresh(self, state: JudgedState) -> JudgedState:
        return state._replace(heads=self.heads.refresh(state.heads))
