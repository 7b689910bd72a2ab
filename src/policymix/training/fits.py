"""How well do sources fit a target? Measured on some of its steps, before training.

Errors are squared and in like units, as kernels see them, and in the language of each
source. They are compared with what really changed: a model whose error is as large says
no more than "nothing changes".
"""

from typing import Any, NamedTuple

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from policymix.core.types import Discrete
from policymix.environments.episodes import Sampled
from policymix.sources.dynamics import LogDensity
from policymix.sources.experts import Experts, SourceTask
from policymix.sources.foreign import ForeignDynamics, is_foreign
from policymix.sources.simulators import Simulator
from policymix.training.task import TransferTask, explore, prepare

FITS_SEED = 7_500_000
FORGIVEN = 0.5
"""Share of the (squared) change by which a source may be wrong: beyond it the target's
own model is preferred, see `OwnNetwork`."""

TOGETHER = 0.9
"""Share of a component's changes that must follow from the predicted ones, up to a
factor, before the factor means anything."""


class SourceFit(NamedTuple):
    """How well one source fits the target.

    Args:
        name: of the source.
        error: of its predictions per step, summed over components; for numbered states
            the share of wrong ones; NaN for densities, which predict nothing.
        still: the same for "nothing changes".
        explained: share of steps in which it is wrong by less than half of the change;
            of a density, those that it takes for likelier than that nothing changes.
        likeliest: share of steps that no source explains better.
        errors: of each component that it sees.
        changes: of each component, the same for "nothing changes".
        slopes: of each component, by how much it is predicted to change where it
            changes by one; NaN where the two have nothing to do with each other.
        simulated: whether it is a simulator whose state was set.
        foreign: whether it sees something else than the target does.
    """

    name: str
    error: float
    still: float
    explained: float
    likeliest: float
    errors: np.ndarray
    changes: np.ndarray
    slopes: np.ndarray
    simulated: bool
    foreign: bool

    @property
    def ratio(self) -> float:
        """Error as a share of what changes; below 1 the source knows something."""
        return self.error / self.still if self.still else np.nan


class Fits(NamedTuple):
    """How well all sources of a task fit.

    Args:
        sources: one for each, in order.
        advice: share of states in which two of them advise different actions; of
            continuous actions, how far apart they are on average, as a share of the
            distance between the bounds.
        predictions: squared difference of two predictions as a share of what changes;
            NaN where their languages differ.
        spreads: of the target's observations, per component, in the units that kernels
            and networks see; near 1 if the units fit. None for numbered states.
        samples: of the target that were played.
        continuous: whether actions are vectors.
    """

    sources: tuple[SourceFit, ...]
    advice: np.ndarray
    predictions: np.ndarray
    spreads: np.ndarray | None
    samples: int
    continuous: bool


def measure_fits(task: TransferTask, samples: int = 1_000) -> Fits:
    """Play the target as its sources advise, often at random, and ask every source.

    Args:
        task: need not be prepared.
        samples: of the target to play; they are not counted in training.
    """
    task = prepare(task)
    experts = task.sources.experts
    data = explore(task, samples, FITS_SEED)
    rows = tuple(map(jnp.asarray, data))
    likelihoods = np.asarray(jax.vmap(experts.log_likelihoods)(*rows))
    likeliest = np.bincount(likelihoods.argmax(axis=1), minlength=len(task.sources))
    told = [_told(source, experts, data) for source in task.sources.sources]
    still = np.asarray(jax.vmap(experts.log_likelihoods)(rows[0], rows[1], rows[0]))
    surprises = np.mean(likelihoods > still, axis=0)
    numbered = isinstance(experts.spec.observation, Discrete)
    spreads = np.asarray(jax.vmap(experts.encoder)(rows[0])).std(axis=0)
    return Fits(
        tuple(
            _fit(*each)
            for each in zip(
                *(task.sources.sources, told, likeliest / len(data.obs), surprises),
                strict=True,
            )
        ),
        _disagreement(experts, rows[0]),
        _differences(task.sources.sources, told),
        None if numbered else spreads,
        len(data.obs),
        not isinstance(experts.spec.action, Discrete),
    )


def _disagreement(experts: Experts, states: Array) -> np.ndarray:
    """Of each pair's advice: how often numbers differ, how far apart vectors are."""
    advice, space = np.asarray(jax.vmap(experts.advise)(states)), experts.spec.action
    if isinstance(space, Discrete):
        actions = advice.argmax(axis=2)
        return np.mean(actions[:, :, None] != actions[:, None, :], axis=0)
    apart = np.abs(advice[:, :, None] - advice[:, None, :])
    return np.mean(apart / np.subtract(space.high, space.low), axis=(0, 3))


class _Told(NamedTuple):
    """What was, what a source expected and what came, as the source sees it."""

    before: np.ndarray
    predicted: np.ndarray
    after: np.ndarray


def _told(source: SourceTask, experts: Experts, data: Sampled) -> _Told | None:
    model: Any = source.dynamics
    inner = model.dynamics if isinstance(model, ForeignDynamics) else model
    if isinstance(inner, LogDensity):
        return None
    units, seen = experts.encoder, lambda obs: obs
    if isinstance(model, ForeignDynamics):
        units, seen = model.encoder or units, model.seen
    obs, action, after = map(jnp.asarray, data)
    parts = (
        jax.vmap(seen)(obs),
        jax.vmap(lambda o, a: jnp.asarray(model(o, a)))(obs, action),
        jax.vmap(seen)(after),
    )
    if parts[0].ndim == 1:  # right or wrong, however many states there are
        same = [np.asarray(part != parts[2], float)[:, None] for part in parts]
        return _Told(*same)
    return _Told(*(np.asarray(jax.vmap(units)(part), float) for part in parts))


def _fit(
    source: SourceTask, told: _Told | None, likeliest: float, surprises: float
) -> SourceFit:
    nothing = np.full(1, np.nan)
    kind = (_is_simulator(source.dynamics), is_foreign(source.dynamics))
    if told is None:
        unknown = (np.nan, np.nan, float(surprises), float(likeliest))
        return SourceFit(source.name, *unknown, nothing, nothing, nothing, *kind)
    errors = np.square(told.predicted - told.after)
    changes = np.square(told.before - told.after)
    explained = errors.sum(axis=1) <= FORGIVEN * changes.sum(axis=1)
    return SourceFit(
        source.name,
        float(errors.sum(axis=1).mean()),
        float(changes.sum(axis=1).mean()),
        float(explained.mean()),
        float(likeliest),
        errors.mean(axis=0),
        changes.mean(axis=0),
        _slopes(told.after - told.before, told.predicted - told.before),
        *kind,
    )


def _slopes(change: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Expected change for a change of one, where the two go together."""
    sizes = np.square(change).sum(axis=0) * np.square(expected).sum(axis=0)
    both = (change * expected).sum(axis=0)
    with np.errstate(all="ignore"):
        together = both**2 > TOGETHER * sizes
        return np.where(together, both / np.square(change).sum(axis=0), np.nan)


def _differences(sources: Any, told: list[_Told | None]) -> np.ndarray:
    """Of each pair's predictions, as a share of what changes."""
    found = np.full((len(told), len(told)), np.nan)
    for i, one in enumerate(told):
        for j, other in enumerate(told):
            foreign = any(is_foreign(sources[k].dynamics) for k in (i, j))
            if one is None or other is None or (foreign and i != j):
                continue
            apart = np.square(one.predicted - other.predicted).sum(axis=1).mean()
            change = np.square(one.before - one.after).sum(axis=1).mean()
            found[i, j] = apart / change if change else np.nan
    return found


def _is_simulator(part: Any) -> bool:
    """Whether at the bottom of what calls it there is an environment."""
    if isinstance(part, ForeignDynamics):
        part = part.dynamics
    while hasattr(part, "function"):
        part = part.function
    return isinstance(part, Simulator | gymnasium.Env)
