"""A trial: what changes during it, and who learns in it from whom."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from policymix.agents.base import AbstractPupil
from policymix.beliefs.mixture import AbstractMixture
from policymix.beliefs.potentials import potential
from policymix.core.replay import Layout
from policymix.core.types import Box, Discrete, Key, Observation, TaskSpec
from policymix.methods.behaviours import BehaviourState, Epsilon
from policymix.methods.method import Method
from policymix.sources.asking import Answers
from policymix.sources.experts import Experts


class Fault(NamedTuple):
    """The first number that was not finite: at which step, and which of `faults`."""

    step: Int[Array, ""]
    code: Int[Array, ""]


class Trial(NamedTuple):
    """All that changes during a trial, but for its replay."""

    agent: Any
    mixture: Any
    obs: Observation
    advice: Float[Array, "n actions"]
    behaviour: BehaviourState
    fault: Fault


class LearningSetup(eqx.Module):
    """All that does not change: who learns what, from whom and how."""

    spec: TaskSpec = eqx.field(static=True)
    experts: Experts | None
    agent: AbstractPupil
    mixture: AbstractMixture | None
    method: Method
    epsilon: Epsilon
    guidance: float = eqx.field(static=True, default=0.0)
    """Share of exploration that sources lead, of whatever method listens to them."""

    @property
    def continuous(self) -> bool:
        """Whether actions are vectors."""
        return isinstance(self.spec.action, Box)

    @property
    def num_actions(self) -> int:
        """Of the target, or components of a continuous action."""
        action = self.spec.action
        return action.n if isinstance(action, Discrete) else action.shape[0]

    @property
    def num_sources(self) -> int:
        """That give advice."""
        return 0 if self.experts is None else self.experts.num_sources

    @property
    def layout(self) -> Layout:
        """A row: transition, log-likelihoods, option, advice before and after."""
        n = self.num_sources
        likelihoods = (n,) if self.method.contextual else ()
        option = (1,) if self.method.options else ()
        advice = (n * self.num_actions,) * 2 if self.method.recalls_advice else ()
        extras = likelihoods + option + advice
        return Layout(self.spec.observation, extras, self.spec.action.shape)

    def advise(
        self, obs: Observation, answers: Answers | None = None
    ) -> Float[Array, "n actions"]:
        """The sources' advice; none without sources."""
        if self.experts is None:
            return jnp.zeros((0, self.num_actions))
        return self.experts.advise(obs, answers)

    def phi(
        self, trial: Trial, obs: Observation, advice: Float[Array, "n actions"]
    ) -> Float[Array, " actions"]:
        """Φ(s, ·) by the present beliefs; nothing without a trust."""
        if self.method.trust is None:
            return jnp.zeros(self.num_actions)
        return potential(self.weights(trial, obs), advice)

    def weights(self, trial: Trial, obs: Observation) -> Float[Array, " m"]:
        """How far each source is trusted here; one more is the target's own model."""
        assert self.method.trust is not None
        return self.method.trust.weights(
            self.mixture, trial.mixture, obs, trial.behaviour.arm
        )


def begin(
    setup: LearningSetup, key: Key, obs: Observation, answers: Answers | None = None
) -> Trial:
    """A trial before its first step."""
    agent_key, mixture_key = jax.random.split(key)
    mixture = setup.mixture
    zero = jnp.zeros((), int)
    return Trial(
        setup.agent.init(agent_key),
        None if mixture is None else mixture.init(mixture_key),
        obs,
        setup.advise(obs, answers),
        setup.method.leader.init(),
        Fault(zero, zero),
    )
