"""How a network is fitted to transitions, and when that ends.

One loop serves all: `fit_dynamics`, `fit_policy` and the sources of the domains.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array

from policymix.core.encoders import AbstractEncoder
from policymix.core.errors import SourceError
from policymix.core.networks import (
    MLP,
    OptimiserState,
    descend,
    init_mlp,
    squared_weights,
    start_descent,
)
from policymix.core.progress import Advance
from policymix.core.seeds import key_of
from policymix.core.types import Key, Scalar
from policymix.sources.fitting.data import SHARE, Transitions, split

CHUNK = 1_000
GAIN = 0.01
"""The share by which an error must shrink for training to be worth its while."""

T = TypeVar("T")
Assemble = Callable[[MLP], Callable]
"""From a network to a model (obs, action) -> next_obs."""


@dataclass(frozen=True)
class ModelSettings:
    """How a network learns, by the paper's Adam and L2, and when it stops."""

    max_steps: int = 30_000
    """Updates at most, in chunks of 1,000 with a check after each."""
    patience: int | None = 5
    """Checks without an improvement of 1 % after which training ends; with None no row
    is set apart for checks, all updates are made, and the last network is kept."""
    batch: int = 256
    learning_rate: float = 1e-3
    penalty: float = 1e-6

    def __post_init__(self):
        if self.max_steps < CHUNK or self.max_steps % CHUNK:
            raise SourceError(
                f"max_steps is {self.max_steps}. Give a multiple of {CHUNK:,}"
            )
        for name in ("patience", "batch", "learning_rate"):
            value = getattr(self, name)
            if value is not None and value <= 0:
                raise SourceError(f"{name} is {value}. Give more than zero")


class Fit(NamedTuple):
    """A model, and the updates that it took."""

    model: Any
    """As it was assembled."""
    steps: int


def fit_network(
    assemble: Assemble,
    sizes: tuple[int, ...],
    data: Transitions,
    encoder: AbstractEncoder,
    settings: ModelSettings,
    seed: int,
    advance: Advance,
) -> Fit:
    """Fit a network to transitions by the mean squared error of encoded predictions.

    Args:
        assemble: makes a model of a network.
        sizes: topology of the network.
        data: to learn from and to stop by.
        encoder: errors are measured in its units.
        settings: see there.
        seed: of the network, its batches, and the rows that say when to stop.
        advance: told the steps of every chunk and the latest error, for progress.
    """
    if len(sizes) < 3 or min(sizes) < 1:
        raise SourceError(f"layers are {sizes[1:-1]}. Give the width of at least one")
    init_key, batch_key = jax.random.split(key_of(seed))
    network = init_mlp(init_key, sizes)
    if settings.patience is None:
        stages = improve(assemble, network, data, encoder, settings, batch_key)
        for network, loss in stages:  # noqa: B007, the last network is used
            advance(CHUNK, loss)
        return Fit(assemble(network), settings.max_steps)
    training, stopping = split(data, SHARE / (1 - SHARE), seed)
    stages = improve(assemble, network, training, encoder, settings, batch_key)
    network, checks = stop_early(
        (network for network, _ in stages),
        lambda network: error_of(assemble(network), stopping, encoder),
        settings.patience,
        lambda error: advance(CHUNK, error),
    )
    return Fit(assemble(network), checks * CHUNK)


def improve(
    assemble: Assemble,
    network: MLP,
    data: Transitions,
    encoder: AbstractEncoder,
    settings: ModelSettings,
    key: Key,
) -> Iterator[tuple[MLP, float]]:
    """The network after every chunk of updates, and the mean loss of the chunk."""
    # Patience changes no update, so the compiled chunk must not depend on it.
    same = replace(settings, patience=None)
    state = start_descent(_adam(same), network)
    for chunk in range(settings.max_steps // CHUNK):
        chunk_key = jax.random.fold_in(key, chunk)
        state, loss = _descend(assemble, same, encoder, state, data, chunk_key)
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
    settings: ModelSettings,
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


def _adam(settings: ModelSettings) -> optax.GradientTransformation:
    rate = optax.cosine_decay_schedule(settings.learning_rate, settings.max_steps, 0.01)
    return optax.adam(rate)
