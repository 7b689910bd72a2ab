"""The paper's mixture: a network whose softmax is a(s; θ), trained by equation (3)."""

import abc
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, PyTree

from policymix.beliefs.mixture import (
    AbstractMixture,
    Evidence,
    Metrics,
    entropy,
    log_evidence,
)
from policymix.beliefs.precisions import AbstractPrecision, FixedPrecision
from policymix.core.encoders import AbstractEncoder
from policymix.core.kernels import as_float
from policymix.core.networks import (
    MLP,
    OptimiserState,
    descend,
    init_mlp,
    start_descent,
)
from policymix.core.types import Key, Observation, Scalar
from policymix.sources.dynamics import AbstractCovered


class AbstractPrior(eqx.Module):
    """P(θ) of the remark after equation (4), as a penalty per transition."""

    @abc.abstractmethod
    def __call__(self, parameters: PyTree) -> Scalar:
        """−log P(θ) up to a constant."""


class UniformPrior(AbstractPrior):
    """No penalty: maximum likelihood, as in the paper's experiments."""

    def __call__(self, parameters: PyTree) -> Scalar:
        del parameters
        return jnp.zeros(())


class GaussianPrior(AbstractPrior):
    """strength · ½‖θ‖²: smoother weights."""

    strength: Scalar = eqx.field(converter=as_float, default=1e-3)

    def __call__(self, parameters: PyTree) -> Scalar:
        """Half the sum of squares."""
        squares = [jnp.sum(jnp.square(p)) for p in jax.tree.leaves(parameters)]
        return self.strength * jnp.sum(jnp.stack(squares)) / 2


class LaplacePrior(AbstractPrior):
    """strength · ‖θ‖₁: sparser networks."""

    strength: Scalar = eqx.field(converter=as_float, default=1e-4)

    def __call__(self, parameters: PyTree) -> Scalar:
        """The sum of absolute values."""
        sizes = [jnp.sum(jnp.abs(p)) for p in jax.tree.leaves(parameters)]
        return self.strength * jnp.sum(jnp.stack(sizes))


class Coverage(eqx.Module):
    """Log-weights before any sample: −strength · distance² from what was seen.

    Args:
        sources: that know what they have seen.
        strength: how much a source loses at the distance of one.
        others: components beside them that are at home everywhere.
    """

    sources: tuple[AbstractCovered, ...]
    strength: Scalar = eqx.field(converter=as_float)
    others: int = eqx.field(static=True, default=0)

    def __call__(self, obs: Observation) -> Float[Array, " n"]:
        """One for each component."""
        far = jnp.stack([source.distance(obs) for source in self.sources])
        return jnp.append(-self.strength * jnp.square(far), jnp.zeros(self.others))


class Parameters(NamedTuple):
    """θ: the network, and what the precision has learned."""

    network: MLP
    precision: Float[Array, " k"]


class NetworkMixture(AbstractMixture[OptimiserState[Parameters]]):
    """a(s; θ) = softmax(z(s; θ)), fitted by Adam to replayed transitions.

    Args:
        encoder: turns an observation into the network's input.
        num_sources: how many there are, n.
        num_inputs: length of an encoded observation.
        layers: hidden layers.
        learning_rate: λ of algorithm 2.
        epochs: steps of Adam on each batch.
        prior: P(θ).
        precision: of the kernels: fixed (the default) or `LearnedPrecision`.
        coverage: what is added to z(s; θ), if anything is.
    """

    encoder: AbstractEncoder
    num_sources: int = eqx.field(static=True)
    num_inputs: int = eqx.field(static=True)
    layers: tuple[int, ...] = eqx.field(static=True, default=(30, 30))
    learning_rate: Scalar = eqx.field(converter=as_float, default=1e-3)
    epochs: int = eqx.field(static=True, default=1)
    prior: AbstractPrior = UniformPrior()
    precision: AbstractPrecision = FixedPrecision()
    coverage: Coverage | None = None

    @property
    def replays(self) -> bool:
        return True

    def init(self, key: Key) -> OptimiserState[Parameters]:
        """Random weights, so a(s) starts near uniform."""
        outputs = self.num_sources + self.precision.num_outputs(self.num_sources)
        network = init_mlp(key, (self.num_inputs, *self.layers, outputs))
        parameters = Parameters(network, self.precision.init(self.num_sources))
        return start_descent(self._adam, parameters)

    def log_weights(
        self, state: OptimiserState[Parameters], obs: Observation
    ) -> Float[Array, " n"]:
        """Log softmax of z(s; θ)."""
        return jax.nn.log_softmax(self.outputs(state.parameters, obs)[0])

    def outputs(
        self, parameters: Parameters, obs: Observation
    ) -> tuple[Float[Array, " n"], Float[Array, " m"]]:
        """The logits of the sources, and what the precision makes use of."""
        found = parameters.network(self.encoder(obs))
        logits, extra = jnp.split(found, [self.num_sources])
        return logits if self.coverage is None else logits + self.coverage(obs), extra

    def loss(self, parameters: Parameters, evidence: Evidence) -> Scalar:
        """Equation (3) for one transition."""
        logits, extra = self.outputs(parameters, evidence.obs)
        log_likelihoods = self.precision.apply(
            parameters.precision, extra, evidence.log_likelihoods
        )
        return -log_evidence(logits, log_likelihoods)

    def batch_loss(self, parameters: Parameters, evidence: Evidence) -> Scalar:
        """The mean loss of a batch and the penalty of the prior."""
        losses = jax.vmap(self.loss, in_axes=(None, 0))(parameters, evidence)
        return jnp.mean(losses) + self.prior(parameters.network)

    def update(
        self, state: OptimiserState[Parameters], evidence: Evidence
    ) -> tuple[OptimiserState[Parameters], Metrics]:
        """A few steps of Adam on one batch."""

        def step(
            state: OptimiserState[Parameters], _: None
        ) -> tuple[OptimiserState[Parameters], Scalar]:
            loss, gradient = jax.value_and_grad(self.batch_loss)(
                state.parameters, evidence
            )
            return descend(self._adam, state, gradient), loss

        weights = jax.vmap(self.weights, in_axes=(None, 0))(state, evidence.obs)
        state, losses = jax.lax.scan(step, state, length=self.epochs, unroll=True)
        return state, Metrics(-losses[0], jnp.mean(jax.vmap(entropy)(weights)))

    @property
    def _adam(self) -> optax.GradientTransformation:
        return optax.adam(self.learning_rate)
