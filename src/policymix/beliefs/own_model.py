"""The target's own model as one more component, against negative transfer.

Where no source explains the target, a model learned from the target itself does; its
advice is "no advice", so the learner is left to itself there.
"""

import abc
from typing import ClassVar, Generic, NamedTuple, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int

from policymix.beliefs.mixture import AbstractMixture, Evidence, Metrics
from policymix.core.encoders import AbstractEncoder
from policymix.core.errors import PolicymixError
from policymix.core.kernels import AbstractKernel, as_float
from policymix.core.networks import (
    MLP,
    OptimiserState,
    descend,
    init_mlp,
    start_descent,
)
from policymix.core.types import Action, DiscreteAction, Key, Observation, Scalar

Model = TypeVar("Model")
OWN_MODEL = "own model"
"""What the mixture's last component is called, if it has one more than sources."""
HANDICAP = 2.0
"""Nats by which a model of one's own must be better, per transition."""


class AbstractOwnModel(eqx.Module, Generic[Model]):
    """A model of the target that learns as the target is explored."""

    replays: ClassVar[bool]

    @abc.abstractmethod
    def init(self, key: Key) -> Model:
        """The model before any transition."""

    @abc.abstractmethod
    def log_likelihood(
        self, model: Model, obs: Observation, action: Action, next_obs: Observation
    ) -> Scalar:
        """How well it explains one transition."""

    @abc.abstractmethod
    def update(self, model: Model, evidence: Evidence) -> Model:
        """Learn from a batch of transitions."""


class OwnNetwork(AbstractOwnModel[OptimiserState[MLP]]):
    """A network from encoded observation and action to the next encoded observation.

    Args:
        encoder: the library's.
        kernel: as sharp as the sources' kernels, or the comparison is not fair.
        num_inputs: length of an encoded observation.
        num_actions: of the target, or components of a continuous action.
        layers: hidden layers.
        learning_rate: of Adam.
        tolerance: share of the (squared) change by which a source may be wrong before
            this model is preferred to it. No simulator is exact, and a model that was
            fitted to the target soon beats them all; a source that explains half of
            what happens still gives better advice than none.
    """

    replays: ClassVar[bool] = True

    encoder: AbstractEncoder
    kernel: AbstractKernel
    num_inputs: int = eqx.field(static=True)
    num_actions: int = eqx.field(static=True)
    layers: tuple[int, ...] = eqx.field(static=True, default=(50, 50))
    learning_rate: Scalar = eqx.field(converter=as_float, default=1e-3)
    tolerance: Scalar = eqx.field(converter=as_float, default=0.5)

    def init(self, key: Key) -> OptimiserState[MLP]:
        inputs = self.num_inputs + self.num_actions
        network = init_mlp(key, (inputs, *self.layers, self.num_inputs))
        return start_descent(self._adam, network)

    def log_likelihood(
        self,
        model: OptimiserState[MLP],
        obs: Observation,
        action: Action,
        next_obs: Observation,
    ) -> Scalar:
        """The kernel's at its error, or at the error that is forgiven to sources."""
        before, after = self.encoder(obs), self.encoder(next_obs)
        error = after - self._predict(model.parameters, obs, action)
        forgiven = self.tolerance * jnp.sum(jnp.square(after - before))
        radius = jnp.sqrt(jnp.maximum(jnp.sum(jnp.square(error)), forgiven))
        return self.kernel.at(radius, after.size)

    def update(
        self, model: OptimiserState[MLP], evidence: Evidence
    ) -> OptimiserState[MLP]:
        """One step of Adam on the mean squared error."""

        def loss(network: MLP) -> Scalar:
            predict = jax.vmap(self._predict, in_axes=(None, 0, 0))
            predictions = predict(network, evidence.obs, evidence.action)
            targets = jax.vmap(self.encoder)(evidence.next_obs)
            return jnp.mean(jnp.sum(jnp.square(predictions - targets), axis=-1))

        return descend(self._adam, model, jax.grad(loss)(model.parameters))

    def _predict(
        self, network: MLP, obs: Observation, action: Action
    ) -> Float[Array, " d"]:
        return network(jnp.concatenate([self.encoder(obs), self._columns(action)]))

    def _columns(self, action: Action) -> Float[Array, " actions"]:
        """One-hot; a continuous action as it is."""
        return action if action.ndim else jax.nn.one_hot(action, self.num_actions)

    @property
    def _adam(self) -> optax.GradientTransformation:
        return optax.adam(self.learning_rate)


class OwnSoftmax(AbstractOwnModel[OptimiserState[MLP]]):
    """A network from encoded state and action to probabilities of the next state.

    Args:
        encoder: the library's.
        num_inputs: length of an encoded state.
        num_actions: of the target.
        num_states: of the target.
        layers: hidden layers.
        learning_rate: of Adam.
    """

    replays: ClassVar[bool] = True

    encoder: AbstractEncoder
    num_inputs: int = eqx.field(static=True)
    num_actions: int = eqx.field(static=True)
    num_states: int = eqx.field(static=True)
    layers: tuple[int, ...] = eqx.field(static=True, default=(50, 50))
    learning_rate: Scalar = eqx.field(converter=as_float, default=1e-3)

    def init(self, key: Key) -> OptimiserState[MLP]:
        """Random weights: every next state is about as likely."""
        inputs = self.num_inputs + self.num_actions
        return start_descent(
            self._adam, init_mlp(key, (inputs, *self.layers, self.num_states))
        )

    def log_likelihood(
        self,
        model: OptimiserState[MLP],
        obs: Observation,
        action: DiscreteAction,
        next_obs: Observation,
    ) -> Scalar:
        """Log-probability of the next state."""
        return self._log_probability(model.parameters, obs, action, next_obs)

    def update(
        self, model: OptimiserState[MLP], evidence: Evidence
    ) -> OptimiserState[MLP]:
        """One step of Adam on the mean log-probability."""

        def loss(network: MLP) -> Scalar:
            likely = jax.vmap(self._log_probability, in_axes=(None, 0, 0, 0))
            return -jnp.mean(likely(network, *evidence[:3]))

        return descend(self._adam, model, jax.grad(loss)(model.parameters))

    def _log_probability(
        self,
        network: MLP,
        obs: Observation,
        action: DiscreteAction,
        next_obs: Observation,
    ) -> Scalar:
        one_hot = jax.nn.one_hot(action, self.num_actions)
        logits = network(jnp.concatenate([self.encoder(obs), one_hot]))
        return jax.nn.log_softmax(logits)[next_obs]

    @property
    def _adam(self) -> optax.GradientTransformation:
        return optax.adam(self.learning_rate)


class OwnTable(AbstractOwnModel[Float[Array, "states actions states"]]):
    """Counts of next states, for small discrete tasks.

    P̂(s'∣s,a) = (count + δ) / (total + δ·states), so an unseen pair predicts nothing.
    """

    replays: ClassVar[bool] = False

    num_states: int = eqx.field(static=True)
    num_actions: int = eqx.field(static=True)
    pseudo_count: float = eqx.field(static=True, default=0.1)

    def init(self, key: Key) -> Float[Array, "states actions states"]:
        del key
        return jnp.zeros((self.num_states, self.num_actions, self.num_states))

    def log_likelihood(
        self,
        model: Float[Array, "states actions states"],
        obs: Int[Array, ""],
        action: DiscreteAction,
        next_obs: Int[Array, ""],
    ) -> Scalar:
        """The smoothed frequency."""
        counts = model[obs, action]
        total = jnp.sum(counts) + self.pseudo_count * self.num_states
        return jnp.log(counts[next_obs] + self.pseudo_count) - jnp.log(total)

    def update(
        self, model: Float[Array, "states actions states"], evidence: Evidence
    ) -> Float[Array, "states actions states"]:
        return model.at[evidence.obs, evidence.action, evidence.next_obs].add(1.0)


class OwnModelState(NamedTuple):
    """Beliefs over n + 1 components, and the last component itself."""

    belief: object
    model: object


class WithOwnModel(AbstractMixture[OwnModelState]):
    """Any mixture of n + 1 components, the last of which is the target's own model.

    The own model was fitted to the very transitions it is judged by, so each costs it
    `handicap` nats: where a source is as good, the source keeps the weight.

    Args:
        mixture: beliefs over n + 1 components.
        model: the target's own.
        handicap: what a fitted model must be better by, per transition.
    """

    mixture: AbstractMixture
    model: AbstractOwnModel
    handicap: Scalar = eqx.field(converter=as_float, default=HANDICAP)

    def __check_init__(self):
        if self.mixture.replays != self.model.replays:
            raise PolicymixError(
                f"{type(self.mixture).__name__} and {type(self.model).__name__} do "
                "not go together: one learns from replay, the other from each "
                "transition once. Combine NetworkMixture with OwnNetwork, or "
                "DirichletMixture with OwnTable"
            )

    @property
    def replays(self) -> bool:
        return self.mixture.replays

    def init(self, key: Key) -> OwnModelState:
        """Beliefs and model before any transition."""
        belief_key, model_key = jax.random.split(key)
        return OwnModelState(self.mixture.init(belief_key), self.model.init(model_key))

    def log_weights(self, state: OwnModelState, obs: Observation) -> Float[Array, " n"]:
        """Log-weights of the sources and, last, of the own model."""
        return self.mixture.log_weights(state.belief, obs)

    def log_likelihoods(
        self, state: OwnModelState, evidence: Evidence
    ) -> Float[Array, " n"]:
        """The sources' log-likelihoods and, last, the own model's."""
        own = self.model.log_likelihood(
            state.model, evidence.obs, evidence.action, evidence.next_obs
        )
        return jnp.append(evidence.log_likelihoods, own - self.handicap)

    def update(
        self, state: OwnModelState, evidence: Evidence
    ) -> tuple[OwnModelState, Metrics]:
        """Judge the own model by the batch first, then let it learn from the batch."""
        judged = jax.vmap(self.log_likelihoods, in_axes=(None, 0))(state, evidence)
        belief, metrics = self.mixture.update(
            state.belief, evidence._replace(log_likelihoods=judged)
        )
        model = self.model.update(state.model, evidence)
        return OwnModelState(belief, model), metrics
