"""What every learner of action values offers, and the target that all of them share."""

import abc
from typing import Any, Generic, NamedTuple, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from policymix.beliefs.potentials import Shaping, shaped_target
from policymix.core.types import (
    DiscreteAction,
    Key,
    Observation,
    Real,
    Scalar,
    Transition,
)

State = TypeVar("State")


class Uniforms(NamedTuple):
    """Uniform numbers for the decisions of one step, and normal ones."""

    explore: Scalar
    anything: Scalar
    reuse: Scalar
    follow: Scalar
    leave: Scalar
    guide: Scalar
    arms: Float[Array, " arms"]
    noise: Float[Array, " act"] | None = None
    """Standard normal numbers for a continuous action."""


class Experience(NamedTuple):
    """What an agent learns from at one step; the batch has a leading axis."""

    batch: Transition
    shaping: Shaping | None = None
    advice: Float[Array, "batch n actions"] | None = None
    latest: Transition | None = None
    """All transitions since the last update, with a leading axis too …"""
    options: Int[Array, " latest"] | None = None
    """… and the options that they belong to."""
    phi: Float[Array, "batch actions"] | None = None
    next_phi: Float[Array, "batch actions"] | None = None
    best: Int[Array, ""] | None = None
    """The way to behave that has proved best, for a student of numbered actions."""
    next_advice: Float[Array, "batch n actions"] | None = None
    noise: Float[Array, "2 batch act"] | None = None
    """Standard normal numbers: what a policy draws after each transition, and before
    it."""
    rival: Float[Array, "batch act"] | None = None
    """What is advised after each transition, for those who weigh it against their own
    action …"""
    heard: Bool[Array, " batch"] | None = None
    """… and whether anybody who is trusted advises it."""
    shown: Float[Array, "few act"] | None = None
    """What has proved best does in the first states: vectors, for a student."""


class AbstractPupil(eqx.Module, Generic[State]):
    """Whoever learns from experience, whatever its actions are.

    Pure functions: settings here, all state goes in and comes out.
    """

    @property
    @abc.abstractmethod
    def replays(self) -> bool:
        """Learns from replayed batches; otherwise from the latest transition."""

    @property
    def newest_first(self) -> bool:
        """Whether the newest transition must be the first of every batch."""
        return False

    @abc.abstractmethod
    def init(self, key: Key) -> State:
        """Before the first step."""

    def note(self, state: State, steps: Transition) -> State:
        """Take in that these transitions have happened, each once and in order."""
        del steps
        return state

    @abc.abstractmethod
    def update(self, state: State, experience: Experience) -> tuple[State, Scalar]:
        """Learn; returns the loss too."""

    @abc.abstractmethod
    def refresh(self, state: State) -> State:
        """What happens between chunks of steps, such as copying a target network."""


class AbstractAgent(AbstractPupil[State]):
    """One that chooses among finitely many actions, by their values."""

    @abc.abstractmethod
    def action_values(
        self, state: State, obs: Observation, advice: Float[Array, "n actions"]
    ) -> Float[Array, " actions"]:
        """What to act on greedily."""

    @abc.abstractmethod
    def alone_values(self, state: State, obs: Observation) -> Float[Array, " actions"]:
        """The same without any source: what the agent itself has learned."""

    def act(
        self,
        state: State,
        obs: Observation,
        advice: Float[Array, "n actions"],
        preferences: Float[Array, " actions"],
        option: Int[Array, ""],
        epsilon: Real,
        uniforms: Uniforms,
    ) -> tuple[DiscreteAction, Int[Array, ""]]:
        """The action that is preferred most, or any with probability ε; and its option.

        Args:
            state: the agent's.
            obs: where it is.
            advice: of every source here.
            preferences: action values, with what the method adds to them.
            option: that has been running; negative when an episode begins.
            epsilon: share of random actions.
            uniforms: for all that is left to chance.
        """
        del state, obs, advice
        some = anything(uniforms, preferences.size)
        explores = uniforms.explore < epsilon
        return jnp.where(explores, some, jnp.argmax(preferences)), option


def anything(uniforms: Uniforms, choices: int) -> Int[Array, ""]:
    """One of so many, all equally likely."""
    return (uniforms.anything * choices).astype(int)


class AbstractLearner(AbstractAgent[State]):
    """Action values, by a table or a network, learned by Q-learning."""

    discount: eqx.AbstractVar[Scalar]

    @property
    @abc.abstractmethod
    def outputs(self) -> int:
        """How many values there are in a state: actions, or options of CAPS."""

    @property
    @abc.abstractmethod
    def num_features(self) -> int:
        """Length of `features`."""

    @abc.abstractmethod
    def values(self, state: State, obs: Observation) -> Float[Array, " outputs"]:
        """Q(s, ·)."""

    @abc.abstractmethod
    def next_values(
        self, state: State, obs: Observation
    ) -> tuple[Float[Array, " outputs"], Float[Array, " outputs"]]:
        """Values that choose the bootstrap action, and values that are bootstrapped."""

    @abc.abstractmethod
    def features(self, state: State, obs: Observation) -> Float[Array, " features"]:
        """What the values are linear in."""

    @abc.abstractmethod
    def fit(
        self,
        state: State,
        obs: Any,
        targets: Float[Array, "batch outputs"],
        taught: Float[Array, "batch outputs"],
    ) -> tuple[State, Scalar]:
        """Move Q(s, ·) towards targets, each as far as it is taught (0 … 1)."""

    def action_values(
        self, state: State, obs: Observation, advice: Float[Array, "n actions"]
    ) -> Float[Array, " actions"]:
        """Q(s, ·); no advice is needed."""
        del advice
        return self.values(state, obs)

    def alone_values(self, state: State, obs: Observation) -> Float[Array, " actions"]:
        """Q(s, ·)."""
        return self.values(state, obs)

    def target(self, state: State, step: Transition, shaping: Shaping | None) -> Scalar:
        """The target r + γ Q⁻(s', a'), shaped or not; no future after an end."""
        choosing, bootstrapped = self.next_values(state, step.next_obs)
        if shaping is None:
            future = bootstrapped[jnp.argmax(choosing)]
            return step.reward + self.discount * jnp.where(step.terminated, 0.0, future)
        return shaped_target(
            shaping, step, choosing, bootstrapped, discount=self.discount
        )

    def update(self, state: State, experience: Experience) -> tuple[State, Scalar]:
        """One step towards the targets of a batch."""
        batch, shaping = experience.batch, experience.shaping
        targets = jax.vmap(self.target, (None, 0, 0))(state, batch, shaping)
        taught = jax.nn.one_hot(batch.action, self.outputs)
        return self.fit(state, batch.obs, targets[:, None] * taught, taught)
