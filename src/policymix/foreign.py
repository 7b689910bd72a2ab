"""Policies and dynamics as users have them, made fit for compiled code.

What JAX can trace is compiled. Anything else (NumPy code, `if` on numbers, random
choices, a simulator, a model with `predict`) is asked on the host, in the middle of
the compiled program: slower, but no code has to be changed.
"""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from policymix.dynamics import TableDynamics
from policymix.errors import SourceError
from policymix.experts import SourceTask
from policymix.policies import TablePolicy, table_policy
from policymix.simulators import Simulator
from policymix.spaces import spec_of_spaces
from policymix.types import Action, Discrete, Observation, Space, TaskSpec

TRIES = 16
"""Observations on which a compiled function must agree with the plain one."""


class HostPolicy(eqx.Module):
    """A policy on the host: observations in, one row each, advice out."""

    function: Callable[[np.ndarray], np.ndarray] = eqx.field(static=True)
    observation: Space = eqx.field(static=True)
    action: Space = eqx.field(static=True)

    def __call__(self, obs: Observation) -> Float[Array, " advice"]:
        """Action probabilities, or the action when it is continuous."""
        shape = jax.ShapeDtypeStruct((self.width,), jnp.float32)
        return jax.pure_callback(self._ask, shape, obs, vmap_method="broadcast_all")

    @property
    def width(self) -> int:
        """Of a row of advice."""
        space = self.action
        return space.n if isinstance(space, Discrete) else space.shape[0]

    def _ask(self, obs: Any) -> np.ndarray:
        rows, batch = _rows(obs, self.observation)
        answers = np.asarray(self.function(rows))
        if isinstance(self.action, Discrete) and answers.ndim == 1:
            answers = _one_hot(answers, self.action.n)
        return answers.astype(np.float32).reshape(*batch, self.width)


class HostDynamics(eqx.Module):
    """Dynamics on the host: one observation and one action at a time."""

    function: Callable[[np.ndarray, Any], Any] = eqx.field(static=True)
    observation: Space = eqx.field(static=True)
    action: Space = eqx.field(static=True)

    def __call__(self, obs: Observation, action: Action) -> Observation:
        """The next observation."""
        discrete = isinstance(self.observation, Discrete)
        kind = jnp.int32 if discrete else jnp.float32
        shape = jax.ShapeDtypeStruct(self.observation.shape, kind)
        return jax.pure_callback(
            self._ask, shape, obs, action, vmap_method="broadcast_all"
        )

    def _ask(self, obs: Any, action: Any) -> np.ndarray:
        rows, batch = _rows(obs, self.observation)
        actions, _ = _rows(action, self.action)
        answers = [self.function(*pair) for pair in zip(rows, actions, strict=True)]
        kind = np.int32 if isinstance(self.observation, Discrete) else np.float32
        shape = (*batch, *self.observation.shape)
        return np.array(answers).astype(kind).reshape(shape)


def _rows(values: Any, space: Space) -> tuple[np.ndarray, tuple[int, ...]]:
    """Values along one leading axis, and the axes that were there before."""
    values = np.asarray(values)
    batch = values.shape[: values.ndim - len(space.shape)]
    return values.reshape(-1, *space.shape), batch


def _one_hot(actions: np.ndarray, count: int) -> np.ndarray:
    """Rows of advice; an action that does not exist becomes NaN, which is noticed."""
    advice = np.equal(actions[:, None], np.arange(count)).astype(np.float32)
    return np.where(advice.any(axis=1, keepdims=True), advice, np.nan)


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
    policy, spaces = source.policy, (spec.observation, spec.action)
    if isinstance(policy, np.ndarray | jax.Array):
        return _table_policy(source.name, np.asarray(policy), spec)
    if isinstance(policy, eqx.Module):
        return policy
    if hasattr(policy, "predict"):
        return HostPolicy(_predictor(source.name, policy, rows), *spaces)
    if not callable(policy):
        raise SourceError(
            f"source {source.name!r}: its policy is a {type(policy).__name__}. Give a "
            "function of an observation, an object with predict(obs, deterministic="
            "True) as Stable-Baselines3's models have it, or a table (an array)"
        )
    answers = _try(source.name, "policy", policy, rows)
    if _compiles(policy, answers, rows):
        return policy
    _check_legal(source.name, answers, spec.action)
    size = spec.action.n if isinstance(spec.action, Discrete) else spec.action.shape[0]
    index = isinstance(spec.action, Discrete) and answers[0].ndim == 0
    _check_shapes(source.name, "policy", answers, () if index else (size,))
    return HostPolicy(lambda many: np.array([policy(row) for row in many]), *spaces)


def _adapt_dynamics(source: SourceTask, spec: TaskSpec, rows: np.ndarray) -> Any:
    dynamics: Any = source.dynamics
    if isinstance(dynamics, np.ndarray | jax.Array):
        return _table_dynamics(source.name, np.asarray(dynamics), spec)
    if isinstance(dynamics, eqx.Module):
        return dynamics
    if isinstance(dynamics, gymnasium.Env):
        dynamics = _simulator(source.name, dynamics, spec)
    if not callable(dynamics):
        raise SourceError(
            f"source {source.name!r}: its dynamics are a {type(dynamics).__name__}. "
            "Give a function (obs, action) -> next_obs, a Gymnasium environment whose "
            "state can be set, a table of next states, or fit_dynamics(data).model"
        )
    actions = some_actions(spec.action, len(rows))
    answers = _try(source.name, "dynamics", dynamics, rows, actions)
    if _compiles(dynamics, answers, rows, actions):
        return dynamics
    _check_shapes(source.name, "dynamics", answers, spec.observation.shape)
    return HostDynamics(dynamics, spec.observation, spec.action)


def some_actions(space: Space, count: int) -> np.ndarray:
    """Actions from all over a space, always the same ones."""
    rng = np.random.default_rng(0)
    if isinstance(space, Discrete):
        return rng.integers(space.n, size=count)
    low, high = np.clip(space.low, -1e3, 1e3), np.clip(space.high, -1e3, 1e3)
    return rng.uniform(low, high, (count, len(low))).astype(np.float32)


def _try(name: str, part: str, function: Callable, *arguments: np.ndarray) -> list[Any]:
    """Call a function as its author would, with NumPy's numbers."""
    try:
        with np.errstate(all="ignore"):
            return [np.asarray(function(*row)) for row in zip(*arguments, strict=True)]
    except Exception as error:
        shapes = [argument.shape[1:] for argument in arguments]
        told = f"{type(error).__name__}: {error}".splitlines()[0]
        raise SourceError(
            f"source {name!r}: its {part} fails on one of the target's observations "
            f"({told}). It must accept arguments of shape {shapes}"
        ) from error


def _compiles(
    function: Callable, answers: list[np.ndarray], *arguments: np.ndarray
) -> bool:
    """Whether JAX can trace a function and then finds the same answers.

    The second part matters: a random choice is traced as a constant.
    """
    try:
        compiled = np.asarray(jax.jit(jax.vmap(function))(*arguments))
        plain = np.array(answers)
    except Exception:
        return False
    return compiled.shape == plain.shape and np.allclose(
        compiled, plain, rtol=1e-3, atol=1e-5, equal_nan=True
    )


def _predictor(
    name: str, model: Any, rows: np.ndarray
) -> Callable[[np.ndarray], np.ndarray]:
    """A model's deterministic choices, all rows at once if it can."""

    def together(many: np.ndarray) -> np.ndarray:
        return np.asarray(model.predict(many, deterministic=True)[0])

    def one_by_one(many: np.ndarray) -> np.ndarray:
        return np.array([model.predict(row, deterministic=True)[0] for row in many])

    try:
        if together(rows).shape[:1] == rows.shape[:1]:
            return together
    except Exception:
        _try(
            name, "predict", lambda row: model.predict(row, deterministic=True)[0], rows
        )
    return one_by_one


def _check_legal(name: str, answers: list[np.ndarray], space: Space) -> None:
    """An illegal index is told by its number, which a row of advice could not."""
    if not isinstance(space, Discrete):
        return
    for answer in answers:
        if answer.ndim == 0 and not 0 <= answer < space.n:
            raise SourceError(
                f"source {name!r}: its policy returns action {answer}, but the target "
                f"has actions 0 … {space.n - 1}. Map its actions to those"
            )


def _check_shapes(
    name: str, part: str, answers: list[np.ndarray], shape: tuple[int, ...]
) -> None:
    for answer in answers:
        if answer.shape != shape:
            raise SourceError(
                f"source {name!r}: its {part} returns shape {answer.shape}, but the "
                f"target needs {shape}. Select or reorder its outputs"
            )


def _table_policy(name: str, table: np.ndarray, spec: TaskSpec) -> TablePolicy:
    states, actions = _sizes(name, "policy", spec)
    if table.shape == (states,) and np.issubdtype(table.dtype, np.integer):
        _check_legal(name, list(table), spec.action)
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


def _simulator(name: str, env: gymnasium.Env, spec: TaskSpec) -> Simulator:
    own = spec_of_spaces(env, f"source {name!r}")
    if own.observation.shape != spec.observation.shape or own.action != spec.action:
        raise SourceError(
            f"source {name!r}: its simulator has {own}, but the target has {spec}. "
            "Wrap it so that observations and actions are the target's"
        )
    try:
        return Simulator(env)
    except SourceError as error:
        raise SourceError(f"source {name!r}: {error}") from None
