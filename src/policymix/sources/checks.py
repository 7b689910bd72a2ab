"""Is a source fit for its target? Each complaint says what to do about it."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from policymix.core.errors import SourceError
from policymix.core.types import Discrete, Space
from policymix.sources.dynamics import UNKNOWN, LogDensity
from policymix.sources.experts import Experts, SourceTask
from policymix.sources.foreign import ForeignDynamics
from policymix.sources.host_calls import check_actions, check_shapes, told_by_host

PROBES = 64


def check_sources(sources: Any) -> tuple[SourceTask, ...]:
    """Source tasks, one or several, and nothing else."""
    found = tuple(sources) if isinstance(sources, Iterable) else (sources,)
    for each in found:
        if not isinstance(each, SourceTask):
            raise SourceError(
                f"{each!r:.60} is no source. Give a SourceLibrary, or a list of "
                "SourceTask(name, policy, dynamics)"
            )
    return found


def check_names(names: Sequence[str]) -> None:
    """A library has at least one source, and every name is there once."""
    if not names:
        raise SourceError("the library has no sources. Give at least one SourceTask")
    for name, count in Counter(names).items():
        if not isinstance(name, str) or not name.strip():
            raise SourceError(f"a source is named {name!r}. Give it a readable name")
        if count > 1:
            raise SourceError(f"{count} sources are named {name!r}. Rename all but one")


def probe_observations(space: Space) -> Array:
    """A few observations from all over a space, always the same ones."""
    if isinstance(space, Discrete):
        return jnp.unique(jnp.linspace(0, space.n - 1, PROBES).astype(int))
    low, high = np.array(space.low), np.array(space.high)
    bounded = np.isfinite(low) & np.isfinite(high)
    low, high = np.where(bounded, low, -1.0), np.where(bounded, high, 1.0)
    rng = np.random.default_rng(0)
    return jnp.asarray(rng.uniform(low, high, (PROBES, low.size)), dtype=float)


def check_source(source: SourceTask, experts: Experts, observations: Array) -> None:
    """Try a source's policy, dynamics and kernel on the given observations."""
    actions = _check_policy(source, experts, observations)
    if isinstance(source.dynamics, LogDensity):
        arguments = (observations, actions, observations)
        densities = answers_of(source, "log-density", source.dynamics, *arguments)
        check_shapes(source.name, "log-density", densities, ())
        if np.any(np.isnan(densities) | (densities == np.inf)):
            raise SourceError(
                f"source {source.name!r}: its log-density is NaN or +inf. "
                "Return a finite number, or −inf where the transition is impossible"
            )
        return
    if not isinstance(source.dynamics, ForeignDynamics):  # in its language they were
        _check_dynamics(source, experts, observations, actions)
    _check_kernel(source, experts, observations, actions)


def _check_policy(source: SourceTask, experts: Experts, observations: Array) -> Array:
    advice = answers_of(source, "policy", source.policy, observations)
    space = experts.spec.action
    if not isinstance(space, Discrete):
        check_shapes(source.name, "policy", advice, space.shape)
        _expect_finite(source, "policy", advice, observations)
        low, high = np.array(space.low) - 1e-4, np.array(space.high) + 1e-4
        if np.any((advice < low) | (advice > high)):
            raise SourceError(
                f"source {source.name!r}: its policy leaves the target's action "
                f"bounds {space.low} … {space.high}. Clip or rescale its output"
            )
        return jnp.asarray(advice, dtype=float)
    if advice.ndim == 1:
        check_actions(source.name, advice, space.n)
        return jnp.asarray(advice, dtype=int)
    check_shapes(source.name, "policy", advice, (space.n,))
    _expect_finite(source, "policy", advice, observations)
    if np.any(advice < 0) or np.any(np.abs(advice.sum(axis=-1) - 1) > 1e-4):
        raise SourceError(
            f"source {source.name!r}: its policy returns no probabilities (they must "
            "be ≥ 0 and sum to 1). Return a softmax, a one-hot vector or an index"
        )
    return jnp.asarray(advice.argmax(axis=-1))


def _check_dynamics(
    source: SourceTask, experts: Experts, observations: Array, actions: Array
) -> None:
    predictions = answers_of(source, "dynamics", source.dynamics, observations, actions)
    space = experts.spec.observation
    check_shapes(source.name, "dynamics", predictions, space.shape)
    _expect_finite(source, "dynamics", predictions, observations)
    if isinstance(space, Discrete):
        integers = np.issubdtype(predictions.dtype, np.integer)
        if not integers or np.any((predictions < UNKNOWN) | (predictions >= space.n)):
            raise SourceError(
                f"source {source.name!r}: its dynamics predict something that is no "
                f"state 0 … {space.n - 1}. Return a state's index, or −1 for unknown"
            )


def _check_kernel(
    source: SourceTask, experts: Experts, observations: Array, actions: Array
) -> None:
    model = (source.dynamics, source.kernel)

    def likelihood(obs: Array, action: Array) -> Array:
        return experts.likelihood_of(model, obs, action, obs)

    likelihoods = answers_of(source, "kernel", likelihood, observations, actions)
    check_shapes(source.name, "kernel", likelihoods, ())
    _expect_finite(source, "kernel", likelihoods, observations)


def answers_of(
    source: SourceTask, part: str, function: Callable, *arguments: Any
) -> np.ndarray:
    """What a part of a source says of rows of arguments, or why it cannot."""
    try:
        return np.asarray(jax.vmap(function)(*arguments))
    except Exception as error:
        if complaint := told_by_host(error):
            raise SourceError(complaint) from error
        told = f"{type(error).__name__}: {error}".splitlines()[0]
        raise SourceError(
            f"source {source.name!r}: its {part} fails on one of the target's "
            f"observations ({told}). It must accept arguments of shape "
            f"{[argument.shape[1:] for argument in arguments]}"
        ) from error


def _expect_finite(
    source: SourceTask, part: str, values: np.ndarray, observations: Array
) -> None:
    finite = np.isfinite(values).reshape(len(values), -1).all(axis=1)
    if not finite.all():
        where = np.asarray(observations[int(np.argmin(finite))])
        raise SourceError(
            f"source {source.name!r}: its {part} returns NaN or infinity at the "
            f"observation {where.tolist()}. Clip its inputs or mend the model"
        )
