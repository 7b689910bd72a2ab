"""How a source's model is learned from transitions, with its held-out error."""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int

from policymix.core.encoders import AbstractEncoder
from policymix.core.errors import SourceError
from policymix.core.networks import MLP, init_mlp, squared_weights
from policymix.core.optimise import OptimiserState, begin, descend
from policymix.core.progress import Advance
from policymix.core.types import Key, Scalar

CHUNK = 1_000
GAIN = 0.01
"""The share by which an error must shrink for training to be worth its while."""

T = TypeVar("T")


class Transitions(NamedTuple):
    """What a model learns from, one row each."""

    obs: Float[Array, "samples d"]
    action: Int[Array, " samples"] | Float[Array, "samples act"]
    next_obs: Float[Array, "samples d"]

    def rows(self, index: np.ndarray) -> "Transitions":
        """Some of them."""
        return Transitions(*(jnp.asarray(part[index]) for part in self))


@dataclass(frozen=True)
class FitSettings:
    """The paper's Adam and L2; steps and batches are ours."""

    steps: int = 30_000
    batch: int = 128
    learning_rate: float = 1e-3
    penalty: float = 1e-6
    held_out: float = 0.1


class Fit(NamedTuple):
    """A model and its mean squared error (summed over components) on unseen data."""

    model: Callable
    error: float
    still: float
    """The error of predicting that nothing changes."""


Assemble = Callable[[MLP], Callable]
"""From a network to a model (obs, action) -> next_obs."""


def fit_network(
    assemble: Assemble,
    sizes: tuple[int, ...],
    data: Transitions,
    encoder: AbstractEncoder,
    settings: FitSettings,
    seed: int,
    advance: Advance,
) -> Fit:
    """Fit a network to transitions by the mean squared error of encoded predictions.

    Args:
        assemble: makes a model of a network.
        sizes: topology of the network.
        data: transitions of the source task.
        encoder: the library's; errors are measured in its units.
        settings: see there.
        seed: of the network, the split and the batches.
        advance: told the steps of every chunk and the latest loss, for progress.
    """
    training, unseen = split(data, settings.held_out, seed)
    init_key, batch_key = jax.random.split(jax.random.key(seed))
    network = init_mlp(init_key, sizes)
    stages = improve(assemble, network, training, encoder, settings, batch_key)
    for network, loss in stages:  # noqa: B007, the last network is used
        advance(CHUNK, loss)
    model = assemble(network)
    return Fit(model, *errors(model, unseen, encoder))


def improve(
    assemble: Assemble,
    network: MLP,
    data: Transitions,
    encoder: AbstractEncoder,
    settings: FitSettings,
    key: Key,
) -> Iterator[tuple[MLP, float]]:
    """The network after every chunk of updates, and the mean loss of the chunk."""
    state = begin(_adam(settings), network)
    for chunk in range(settings.steps // CHUNK):
        chunk_key = jax.random.fold_in(key, chunk)
        state, loss = _descend(assemble, settings, encoder, state, data, chunk_key)
        yield state.parameters, float(loss)


def stop_early(
    stages: Iterable[T],
    judge: Callable[[T], float],
    patience: int,
    tell: Callable[[float], None],
) -> tuple[T, int]:
    """The best stage before `patience` in a row were no gain, and how many were tried.

    A gain is an improvement by 1 %; of smaller ones the best is kept all the same.

    Args:
        stages: one after the other; no more are asked for than are needed.
        judge: the error of a stage.
        patience: see above.
        tell: told every error, for progress.
    """
    best, least, mark, waited, tried = None, math.inf, math.inf, 0, 0
    for stage in stages:
        error = judge(stage)
        tell(error)
        tried += 1
        if error < least:
            best, least = stage, error
        waited += 1
        if error < (1 - GAIN) * mark:
            mark, waited = error, 0
        if waited == patience:
            break
    if best is None:
        raise SourceError(
            "the model's error is not a number. Give a smaller learning_rate"
        )
    return best, tried


def split(
    data: Transitions, held_out: float, seed: int
) -> tuple[Transitions, Transitions]:
    """Training and unseen transitions, drawn at random."""
    order = np.random.default_rng(seed).permutation(len(data.obs))
    unseen = int(held_out * len(order))
    return data.rows(order[unseen:]), data.rows(order[:unseen])


def errors(
    model: Callable, data: Transitions, encoder: AbstractEncoder
) -> tuple[float, float]:
    """Mean squared error of a model, and of predicting that nothing changes."""
    still = _mean_square(data.obs, data.next_obs, encoder)
    return error_of(model, data, encoder), still


def error_of(model: Callable, data: Transitions, encoder: AbstractEncoder) -> float:
    """Mean squared error of a model, summed over components."""
    predicted = jax.vmap(model)(data.obs, data.action)
    return _mean_square(predicted, data.next_obs, encoder)


def _mean_square(one: Array, other: Array, encoder: AbstractEncoder) -> float:
    gaps = jax.vmap(lambda a, b: jnp.sum(jnp.square(encoder(a) - encoder(b))))
    return float(jnp.mean(gaps(one, other)))


@eqx.filter_jit
def _descend(
    assemble: Assemble,
    settings: FitSettings,
    encoder: AbstractEncoder,
    state: OptimiserState[MLP],
    data: Transitions,
    key: Key,
) -> tuple[OptimiserState[MLP], Scalar]:
    def loss(network: MLP, batch: Transitions) -> Scalar:
        predicted = jax.vmap(assemble(network))(batch.obs, batch.action)
        gap = jax.vmap(encoder)(predicted) - jax.vmap(encoder)(batch.next_obs)
        error = jnp.mean(jnp.sum(jnp.square(gap), axis=1))
        return error + settings.penalty * squared_weights(network)

    def step(
        state: OptimiserState[MLP], key: Key
    ) -> tuple[OptimiserState[MLP], Scalar]:
        rows = jax.random.randint(key, (settings.batch,), 0, len(data.obs))
        batch = jax.tree.map(lambda part: part[rows], data)
        value, gradient = jax.value_and_grad(loss)(state.parameters, batch)
        return descend(_adam(settings), state, gradient), value

    state, losses = jax.lax.scan(step, state, jax.random.split(key, CHUNK))
    return state, jnp.mean(losses)


def _adam(settings: FitSettings) -> optax.GradientTransformation:
    rate = optax.cosine_decay_schedule(settings.learning_rate, settings.steps, 0.01)
    return optax.adam(rate)
