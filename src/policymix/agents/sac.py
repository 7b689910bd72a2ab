"""Soft actor-critic (Haarnoja et al. 2018) with two critics and a learned temperature.

Rewards are divided by the spread of the returns that have been seen, times 1 − γ: then
a step's reward is about as large as a step's entropy, whatever unit it came in.

In `mars` a student imitates whatever has proved best so far and needs no source.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float

from policymix.agents.base import AbstractPupil, Experience
from policymix.agents.squashed import Squashed, draw_action, likeliest, squashed
from policymix.core.boxes import from_unit, in_unit
from policymix.core.encoders import AbstractEncoder, Identity
from policymix.core.kernels import as_float
from policymix.core.networks import (
    MLP,
    OptimiserState,
    descend,
    init_mlp,
    start_descent,
)
from policymix.core.returns import Returns, no_returns, note_rewards, spread
from policymix.core.types import Box, Key, Observation, Scalar, Transition

CRITICS = 2
"""Of both the lower value counts: an actor finds what one of them thinks too well of.
Their networks are one tree of arrays with a leading axis."""


class SACState(NamedTuple):
    """Networks that learn, what targets are made of, and the unit of rewards."""

    actor: OptimiserState[MLP]
    critics: OptimiserState[MLP]
    older: MLP
    """The critics of targets, which follow the others slowly."""
    temperature: OptimiserState[Scalar]
    """log α."""
    returns: Returns
    student: OptimiserState[MLP] | None = None
    """What it would do in [−1, 1], before it is squashed."""


class SAC(AbstractPupil[SACState]):
    """A policy over continuous actions, and the values that it strives for.

    Args:
        discount: γ.
        action: bounds of the actions, all of them finite.
        num_inputs: length of an encoded observation.
        layers: hidden layers of every network.
        encoder: turns an observation into a network's input.
        learning_rate: of Adam, for networks and temperature alike.
        target_rate: τ, how far the critics of targets move towards the others in an
            update.
        studies: whether there is a student.
    """

    discount: Scalar = eqx.field(converter=as_float)
    action: Box = eqx.field(static=True)
    num_inputs: int = eqx.field(static=True)
    layers: tuple[int, ...] = eqx.field(static=True, default=(256, 256))
    encoder: AbstractEncoder = Identity()
    learning_rate: Scalar = eqx.field(converter=as_float, default=3e-4)
    target_rate: Scalar = eqx.field(converter=as_float, default=0.005)
    studies: bool = eqx.field(static=True, default=False)

    @property
    def replays(self) -> bool:
        return True

    @property
    def size(self) -> int:
        """Components of an action."""
        return len(self.action.low)

    def init(self, key: Key) -> SACState:
        actor_key, critic_key, student_key = jax.random.split(key, 3)
        actor = init_mlp(actor_key, (self.num_inputs, *self.layers, 2 * self.size))
        sizes = (self.num_inputs + self.size, *self.layers, 1)
        critics = jax.vmap(lambda key: init_mlp(key, sizes))(
            jax.random.split(critic_key, CRITICS)
        )
        student = None
        if self.studies:
            layers = (self.num_inputs, *self.layers, self.size)
            student = start_descent(self._adam, init_mlp(student_key, layers))
        return SACState(
            start_descent(self._adam, actor),
            start_descent(self._adam, critics),
            critics,
            start_descent(self._adam, jnp.zeros(())),
            no_returns(),
            student,
        )

    def act(
        self, state: SACState, obs: Observation, noise: Float[Array, " act"] | None
    ) -> Float[Array, " act"]:
        """An action drawn with standard normal noise; without noise the likeliest."""
        policy = self.policy(state.actor.parameters, obs)
        action = likeliest(policy) if noise is None else draw_action(policy, noise)[0]
        return from_unit(self.action, action)

    def alone(self, state: SACState, obs: Observation) -> Float[Array, " act"]:
        """What is done without any source: what the student says, or the likeliest."""
        if state.student is None:
            return self.act(state, obs, None)
        return from_unit(self.action, self._imitated(state.student.parameters, obs))

    def value(
        self, state: SACState, obs: Observation, action: Float[Array, " act"]
    ) -> Scalar:
        """Q(s, a), the lower one of both critics, in units of the returns' spread."""
        inside = in_unit(self.action, action)
        lower = self._lower(state.critics.parameters, obs, inside)
        return (1.0 - self.discount) * lower

    def unit(self, state: SACState) -> Scalar:
        """What rewards are divided by."""
        return (1.0 - self.discount) * spread(state.returns)

    def policy(self, actor: MLP, obs: Observation) -> Squashed:
        """π(· ∣ s)."""
        return squashed(actor(self.encoder(obs)))

    def both(
        self, critics: MLP, obs: Observation, action: Float[Array, " act"]
    ) -> Float[Array, " critics"]:
        """Q(s, a) by every critic; the action is in [−1, 1]."""
        inputs = jnp.concatenate([self.encoder(obs), action])
        return jax.vmap(lambda critic: critic(inputs)[0])(critics)

    def target(
        self,
        state: SACState,
        step: Transition,
        noise: Float[Array, " act"],
        rival: Float[Array, " act"] | None = None,
        heard: Bool[Array, ""] | None = None,
    ) -> Scalar:
        """R + γ (Q⁻(s', a') − α log π(a' ∣ s')), with a' drawn from the policy.

        Args:
            state: of all networks.
            step: the transition.
            noise: makes a'.
            rival: an action that is bootstrapped instead where its value is higher; it
                is sure, so it has no entropy …
            heard: … and where it counts.
        """
        policy = self.policy(state.actor.parameters, step.next_obs)
        own, log_density = draw_action(policy, noise)
        value = self._lower(state.older, step.next_obs, own)
        future = value - self.alpha(state) * log_density
        if rival is not None and heard is not None:
            unit_rival = in_unit(self.action, rival)
            other = self._lower(state.older, step.next_obs, unit_rival)
            future = jnp.where(heard & (other > value), other, future)
        goes_on = self.discount * (1.0 - step.terminated)
        return step.reward / self.unit(state) + goes_on * future

    def alpha(self, state: SACState) -> Scalar:
        """The temperature: what a nat of entropy is worth."""
        return jnp.exp(state.temperature.parameters)

    def critic_loss(
        self, critics: MLP, batch: Transition, targets: Float[Array, " batch"]
    ) -> Scalar:
        """Half of the squared errors of both critics."""

        def one(step: Transition, target: Scalar) -> Scalar:
            action = in_unit(self.action, step.action)
            errors = self.both(critics, step.obs, action) - target
            return 0.5 * jnp.sum(jnp.square(errors))

        return jnp.mean(jax.vmap(one)(batch, targets))

    def actor_loss(
        self,
        actor: MLP,
        state: SACState,
        obs: Any,
        noise: Float[Array, "batch act"],
    ) -> tuple[Scalar, Scalar]:
        """α log π(a ∣ s) − Q(s, a) on average, and the mean of log π as well."""

        def one(obs: Observation, noise: Float[Array, " act"]) -> tuple[Scalar, Scalar]:
            action, log_density = draw_action(self.policy(actor, obs), noise)
            value = self._lower(state.critics.parameters, obs, action)
            return self.alpha(state) * log_density - value, log_density

        losses, log_densities = jax.vmap(one)(obs, noise)
        return jnp.mean(losses), jnp.mean(log_densities)

    def temperature_loss(self, log_alpha: Scalar, log_density: Scalar) -> Scalar:
        """Falls with α where entropy is above −∣A∣, a nat for each component."""
        return -log_alpha * (log_density - self.size)

    def imitation_loss(
        self, student: MLP, obs: Any, shown: Float[Array, "few act"]
    ) -> Scalar:
        """The squared distance from what it is shown, in [−1, 1]."""

        def one(obs: Observation, shown: Float[Array, " act"]) -> Scalar:
            missed = self._imitated(student, obs) - in_unit(self.action, shown)
            return jnp.mean(jnp.square(missed))

        return jnp.mean(jax.vmap(one)(obs, shown))

    def note(self, state: SACState, steps: Transition) -> SACState:
        """Their rewards say how far returns spread."""
        ended = steps.terminated | steps.truncated
        returns = note_rewards(state.returns, steps.reward, ended, self.discount)
        return state._replace(returns=returns)

    def update(
        self, state: SACState, experience: Experience
    ) -> tuple[SACState, Scalar]:
        """Critics, then what strives for their values, temperature and student."""
        batch = experience.batch
        assert experience.noise is not None
        next_noise, noise = experience.noise
        targets = jax.vmap(self.target, (None, 0, 0, 0, 0))(
            state, batch, next_noise, experience.rival, experience.heard
        )
        critics, loss = self._step(self.critic_loss, state.critics, batch, targets)
        state = state._replace(critics=critics)
        (striving, log_density), slope = jax.value_and_grad(
            self.actor_loss, has_aux=True
        )(state.actor.parameters, state, batch.obs, noise)
        temperature, _ = self._step(
            self.temperature_loss, state.temperature, log_density
        )
        older = jax.tree.map(
            lambda old, new: old + self.target_rate * (new - old),
            state.older,
            critics.parameters,
        )
        actor = descend(self._adam, state.actor, slope)
        student, shown = state.student, experience.shown
        if student is not None and shown is not None:
            seen = batch.obs[: len(shown)]
            student, _ = self._step(self.imitation_loss, student, seen, shown)
        state = SACState(actor, critics, older, temperature, state.returns, student)
        return state, loss + striving

    def refresh(self, state: SACState) -> SACState:
        """Targets follow in every update, so there is nothing to copy."""
        return state

    def _imitated(self, student: MLP, obs: Observation) -> Float[Array, " act"]:
        return jnp.tanh(student(self.encoder(obs)))

    def _lower(
        self, critics: MLP, obs: Observation, action: Float[Array, " act"]
    ) -> Scalar:
        return jnp.min(self.both(critics, obs, action))

    def _step(
        self, loss: Callable[..., Scalar], state: OptimiserState, *given: Any
    ) -> tuple[Any, Scalar]:
        """One step of Adam down a loss of the parameters."""
        value, slope = jax.value_and_grad(loss)(state.parameters, *given)
        return descend(self._adam, state, slope), value

    @property
    def _adam(self) -> optax.GradientTransformation:
        return optax.adam(self.learning_rate)
