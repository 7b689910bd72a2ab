"""A MuJoCo model as a domain: MJX steps it inside the compiled loop.

MuJoCo's state is where everything is and how fast it moves. That is what is observed,
so a model with other physics can be asked what it would have done: its `transition` is
a source's dynamics.
"""

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from policymix.core.errors import DomainError, MissingExtraError
from policymix.core.kernels import as_float
from policymix.core.types import Box, Key, Scalar, TaskSpec
from policymix.environments.base import DeterministicDomain

State = Float[Array, " state"]
"""`qpos` and `qvel`, one after the other."""
Control = Float[Array, " act"]


def never(obs: State) -> Bool[Array, ""]:
    """The horizon ends an episode, nothing else."""
    return jnp.zeros_like(obs[0], bool)


class MJXDomain(DeterministicDomain):
    """A MuJoCo model that is paid for what it does.

    Args:
        model: a `mujoco.MjModel` whose actuators all have a `ctrlrange`, which is the
            box of the actions. MJX must know all that is in it.
        pays: (obs, action, next_obs) -> reward, in JAX.
        ends: whether the task is over in a state, in JAX; by default it never is.
        frames: steps of MuJoCo in a step of the task.
        horizon: steps of the task after which an episode is cut off.
        start: where episodes begin; by default the model's `qpos0`, at rest …
        shaken: … give or take as much, uniformly, in every component.
    """

    horizon: int = eqx.field(static=True)
    _pays: Callable[[State, Control, State], Scalar] = eqx.field(static=True)
    _ends: Callable[[State], Bool[Array, ""]] = eqx.field(static=True)
    _frames: int = eqx.field(static=True)
    _bounds: Box = eqx.field(static=True)
    _start: State
    _shaken: Scalar
    _numbers: tuple[Array, ...]
    """What models of one build differ in, such as gravity and masses …"""
    _build: Any = eqx.field(static=True)
    """… and the build."""

    def __init__(
        self,
        model: Any,
        pays: Callable[[State, Control, State], Scalar],
        *,
        ends: Callable[[State], Bool[Array, ""]] = never,
        frames: int = 1,
        horizon: int = 1_000,
        start: Any = None,
        shaken: float = 0.01,
    ):
        self._bounds = bounds_of(model)
        numbers, self._build = jax.tree.flatten(compiled(model))
        self._numbers = tuple(numbers)
        rest = np.concatenate([model.qpos0, np.zeros(model.nv)])
        self._start = as_float(rest if start is None else start)
        if self._start.shape != rest.shape:
            raise DomainError(
                f"start has the shape {self._start.shape}, and the model has "
                f"{model.nq} positions and {model.nv} velocities. Give a vector of "
                f"{rest.size} numbers, qpos and then qvel"
            )
        self._pays, self._ends, self._frames = pays, ends, frames
        self.horizon, self._shaken = horizon, as_float(shaken)

    @property
    def spec(self) -> TaskSpec:
        """Positions and velocities in, controls out."""
        free = (float("inf"),) * self._start.size
        return TaskSpec(Box(tuple(-x for x in free), free), self._bounds)

    def initial(self, key: Key) -> State:
        """Near the start."""
        away = jax.random.uniform(key, self._start.shape, minval=-1.0)
        return self._start + self._shaken * away

    def transition(self, obs: State, action: Control) -> State:
        """So many steps of MuJoCo with one control."""
        return moved(self._build, self._frames, self._numbers, obs, action)

    def reward(self, obs: State, action: Control, next_obs: State) -> Scalar:
        return self._pays(obs, action, next_obs)

    def terminal(self, obs: State) -> Bool[Array, ""]:
        return self._ends(obs)


@partial(jax.jit, static_argnums=(0, 1))
def moved(
    build: Any, frames: int, numbers: tuple[Array, ...], obs: State, action: Control
) -> State:
    """Compiled here too, once for all models of a build: MJX's programs are large."""
    mjx, model = imported(), jax.tree.unflatten(build, numbers)
    where, speed = jnp.split(obs, [model.nq])
    data = mjx.make_data(model).replace(qpos=where, qvel=speed, ctrl=action)
    data = jax.lax.fori_loop(0, frames, lambda _, data: mjx.step(model, data), data)
    return jnp.concatenate([data.qpos, data.qvel])


def imported() -> Any:
    """MJX, if it is installed."""
    try:
        return import_module("mujoco.mjx")
    except ImportError as error:
        raise MissingExtraError("a MuJoCo model in JAX", "mjx") from error


def compiled(model: Any) -> Any:
    """MJX's form of a model."""
    mjx = imported()
    if model.na:
        raise DomainError(
            "an actuator of the model has an activation, which positions and "
            'velocities do not tell. Use actuators with dyntype="none"'
        )
    try:
        return mjx.put_model(model)
    except NotImplementedError as error:
        raise DomainError(
            f"MJX does not take the model: {error}. Change that in the model, or let "
            "Gymnasium step it on the host"
        ) from error


def bounds_of(model: Any) -> Box:
    """What controls may be."""
    for place in range(model.nu):
        if not model.actuator_ctrllimited[place]:
            raise DomainError(
                f"the actuator {model.actuator(place).name or place!r} has no limits, "
                "and actions need them. Give it a ctrlrange in the model"
            )
    low, high = np.asarray(model.actuator_ctrlrange, float).T.tolist()
    return Box(tuple(low), tuple(high))
