"""Policies and dynamics as users have them, made fit for compiled code.

What JAX can trace is compiled. Anything else (NumPy code, `if` on numbers, random
choices, a simulator, a model with `predict`) is asked on the host, in the middle of
the compiled program: slower, but no code has to be changed.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from policymix.core.boxes import draw_actions
from policymix.core.errors import DomainError, SourceError
from policymix.core.spaces import spec_of_spaces
from policymix.core.types import Box, Discrete, Space, TaskSpec
from policymix.environments.registry import load
from policymix.sources.dynamics import LogDensity, TableDynamics
from policymix.sources.experts import SourceTask
from policymix.sources.host_calls import (
    Each,
    HostFunction,
    Itself,
    check_actions,
    check_shapes,
    compiles,
    hashable,
    try_on,
)
from policymix.sources.policies import TablePolicy, table_policy
from policymix.sources.simulators import Simulator

CONVERTER = "policymix.bridges.sb3.convert:jax_policy"
TRIES = 64
"""Observations on which a compiled function must agree with the plain one."""


def adapt(source: SourceTask, spec: TaskSpec, observations: Array) -> SourceTask:
    """The same source, its parts such that compiled code can call them.

    Args:
        source: as the user has it.
        spec: spaces of the target.
        observations: some of the target's, to try the parts on.
    """
    rows = np.asarray(observations)[:TRIES]
    policy = _adapt_policy(source, spec, rows)
    dynamics = _adapt_dynamics(source, spec, rows)
    return SourceTask(source.name, policy, dynamics, source.kernel)


def _adapt_policy(source: SourceTask, spec: TaskSpec, rows: np.ndarray) -> Any:
    policy, space = source.policy, spec.action
    if isinstance(policy, np.ndarray | jax.Array):
        return _table_policy(source.name, np.asarray(policy), spec)
    if isinstance(policy, eqx.Module):
        return policy
    if hasattr(policy, "predict"):
        return _adapt_model(source, spec, rows)
    if not callable(policy):
        raise SourceError(
            f"source {source.name!r}: its policy is a {type(policy).__name__}. Give a "
            "function of an observation, an object with predict(obs, deterministic="
            "True) as Stable-Baselines3's models have it, or a table (an array)"
        )
    answers = try_on(source.name, "policy", policy, rows)
    _check_advice(source.name, answers, space)
    if compiles(policy, answers, rows):
        return hashable(policy)
    return _host_policy(Each(source.name, "policy", hashable(policy)), spec)


def _adapt_model(source: SourceTask, spec: TaskSpec, rows: np.ndarray) -> Any:
    """A model with `predict`: in JAX, or asked about all rows at once if it can be."""
    one = Predict(Itself(source.policy), together=False)
    answers = try_on(source.name, "predict", one, rows)
    _check_advice(source.name, answers, spec.action)
    converted = _converted(source.policy, answers, rows)
    if converted is not None:
        return converted
    together = Predict(one.model, together=True)
    try:
        found = together(rows.copy())
        same = found.shape == (len(rows), *answers[0].shape)
        if same and np.allclose(found, answers, rtol=1e-3, atol=1e-5):
            return _host_policy(together, spec)
    except Exception:  # noqa: S110, it can be asked one by one
        pass
    return _host_policy(Each(source.name, "predict", one), spec)


def _converted(model: Any, answers: list[np.ndarray], rows: np.ndarray) -> Any:
    """A network of Stable-Baselines3's in JAX; None if it is none or acts otherwise.

    Loaded by its name: it belongs to a bridge, and only those who have such a model
    need what the bridge needs.
    """
    if not type(model).predict.__module__.startswith("stable_baselines3."):
        return None
    try:
        policy = load(CONVERTER)(model)
        found = np.asarray(jax.vmap(policy)(jnp.asarray(rows)))
    except Exception:  # it can still be asked
        return None
    if answers[0].ndim == 0:
        found = found.argmax(axis=1)
    same = found.shape == np.shape(answers)
    return policy if same and np.allclose(found, answers, 1e-3, 1e-5) else None


@dataclass(frozen=True)
class Predict:
    """What a model would do, about one row or about all of them together."""

    model: Itself
    together: bool

    def __call__(self, rows: np.ndarray | np.generic) -> Any:
        answers = self.model.value.predict(rows, deterministic=True)[0]
        return np.array(answers) if self.together else answers


@dataclass(frozen=True)
class Probable:
    """Indices of actions as probabilities: all on the one, or none if it is illegal."""

    ask: Callable[[np.ndarray], np.ndarray]
    actions: int

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        """A row of probabilities for each."""
        answers = self.ask(rows)
        if answers.ndim > 1:
            return answers
        chosen = answers[:, None] == np.arange(self.actions)
        return np.where(chosen.any(axis=1, keepdims=True), chosen, np.nan)


def _host_policy(ask: Callable[[np.ndarray], np.ndarray], spec: TaskSpec) -> Any:
    space = spec.action
    if not isinstance(space, Discrete):
        return HostFunction(ask, (spec.observation,), space.shape)
    return HostFunction(Probable(ask, space.n), (spec.observation,), (space.n,))


def _adapt_dynamics(source: SourceTask, spec: TaskSpec, rows: np.ndarray) -> Any:
    dynamics: Any = source.dynamics
    if isinstance(dynamics, np.ndarray | jax.Array):
        return _table_dynamics(source.name, np.asarray(dynamics), spec)
    if isinstance(dynamics, LogDensity):
        return _adapt_density(source, dynamics, spec, rows)
    if isinstance(dynamics, eqx.Module):
        return dynamics
    if isinstance(dynamics, gymnasium.Env | Simulator):
        dynamics = _simulator(source.name, dynamics, spec)
    if not callable(dynamics):
        raise SourceError(
            f"source {source.name!r}: its dynamics are a {type(dynamics).__name__}. "
            "Give a function (obs, action) -> next_obs, a Gymnasium environment whose "
            "state can be set, a table of next states, or fit_dynamics(data).model"
        )
    arguments = (rows, some_actions(spec.action, len(rows)))
    answers = try_on(source.name, "dynamics", dynamics, *arguments)
    space = spec.observation
    check_shapes(source.name, "dynamics", answers, space.shape)
    if compiles(dynamics, answers, *arguments):
        return hashable(dynamics)
    ask = Each(source.name, "dynamics", hashable(dynamics))
    kind = "int32" if isinstance(space, Discrete) else "float32"
    return HostFunction(ask, (space, spec.action), space.shape, kind)


def _adapt_density(
    source: SourceTask, dynamics: LogDensity, spec: TaskSpec, rows: np.ndarray
) -> LogDensity:
    density = dynamics.log_density
    if isinstance(density, eqx.Module):
        return dynamics
    arguments = (rows, some_actions(spec.action, len(rows)), rows)
    answers = try_on(source.name, "log-density", density, *arguments)
    check_shapes(source.name, "log-density", answers, ())
    if compiles(density, answers, *arguments):
        return LogDensity(hashable(density))
    ask = Each(source.name, "log-density", hashable(density))
    spaces = (spec.observation, spec.action, spec.observation)
    return LogDensity(HostFunction(ask, spaces, ()))


def some_actions(space: Space, count: int) -> np.ndarray:
    """Actions from all over a space, always the same ones."""
    return draw_actions(space, np.random.default_rng(0), count)


def _check_advice(name: str, answers: list[np.ndarray], space: Space) -> None:
    """Actions, their probabilities or indices; an illegal index is told as such."""
    if not isinstance(space, Discrete):
        return check_shapes(name, "policy", answers, space.shape)
    index = answers[0].ndim == 0
    check_shapes(name, "policy", answers, () if index else (space.n,))
    if index:
        check_actions(name, answers, space.n)
    return None


def _table_policy(name: str, table: np.ndarray, spec: TaskSpec) -> TablePolicy:
    states, actions = _sizes(name, "policy", spec)
    if table.shape == (states,) and np.issubdtype(table.dtype, np.integer):
        _check_advice(name, [np.array(action) for action in table], spec.action)
        return table_policy(jnp.asarray(table), actions)
    if table.shape == (states, actions):
        return TablePolicy(jnp.asarray(table, jnp.float32))
    raise SourceError(
        f"source {name!r}: its policy is a table of shape {table.shape}. Give an "
        f"action for each of the {states} states, or a row of {actions} probabilities"
    )


def _table_dynamics(name: str, table: np.ndarray, spec: TaskSpec) -> TableDynamics:
    states, actions = _sizes(name, "dynamics", spec)
    if table.shape == (states, actions) and np.issubdtype(table.dtype, np.integer):
        return TableDynamics(jnp.asarray(table))
    raise SourceError(
        f"source {name!r}: its dynamics are a table of shape {table.shape} and "
        f"{table.dtype}. Give the next state of {states} states × {actions} actions as "
        "integers, −1 where it is unknown"
    )


def _sizes(name: str, part: str, spec: TaskSpec) -> tuple[int, int]:
    if isinstance(spec.observation, Discrete) and isinstance(spec.action, Discrete):
        return spec.observation.n, spec.action.n
    raise SourceError(
        f"source {name!r}: its {part} is a table, but the target's observations or "
        "actions are vectors. Give a function of an observation"
    )


def _simulator(
    name: str, given: gymnasium.Env | Simulator, spec: TaskSpec
) -> Simulator:
    env = given.env if isinstance(given, Simulator) else given
    try:
        own = spec_of_spaces(env, f"source {name!r}")
    except DomainError as error:
        raise SourceError(str(error)) from None
    ours, theirs = own.observation, spec.observation
    vectors = isinstance(ours, Box) and isinstance(theirs, Box)
    same = ours.shape == theirs.shape if vectors else ours == theirs
    if not same or own.action != spec.action:
        raise SourceError(
            f"source {name!r}: its simulator has {own}, but the target has {spec}. "
            "Wrap it so that observations and actions are the target's"
        )
    try:
        return given if isinstance(given, Simulator) else Simulator(given)
    except SourceError as error:
        raise SourceError(f"source {name!r}: {error}") from None
