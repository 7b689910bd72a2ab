"""A Gymnasium environment as a model: put it where the target was, and step it."""

import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.wrappers import OrderEnforcing, PassiveEnvChecker, TimeLimit

from policymix.core.errors import SourceError

CHECKS = 32
"""Steps on which a simulator must repeat itself before it is believed."""
TOLERANCE = 1e-3
"""Share of a component's size by which it may fail to; observations are rounded."""
PLACES = 2
"""Of a body, along a track or on a plane, that its observations may leave out: where it
is does not matter to what it does."""
REMEDY = (
    "Give Simulator(env, set_state) with a function set_state(env, obs) that restores "
    "its whole state, or fit a model to its rollouts with fit_dynamics(env)"
)

SetState = Callable[[Any, np.ndarray], None]


class Simulator:
    """Dynamics that ask an environment whose state can be set.

    Args:
        env: its observations hold its whole state.
        set_state: `set_state(env, obs)` puts the environment where `obs` was observed.
            By default what Gymnasium's classic control (`env.unwrapped.state`), toy
            text (`env.unwrapped.s`) and MuJoCo (`set_state(qpos, qvel)`) offer.

    A simulator is tried before it is used: put back where it was, the same action must
    lead to the same place.
    """

    def __init__(self, env: gymnasium.Env, set_state: SetState | None = None):
        self.env, self._given = env, set_state
        self.env.reset(seed=0)  # some have no state before
        self._set_state = find_setter(env) if set_state is None else set_state
        self._dynamics = without_rules(env)
        self._lock = threading.Lock()
        self._check()

    def __eq__(self, other: object) -> bool:
        """The same environment, set in the same way: one program serves both."""
        if not isinstance(other, Simulator):
            return False
        return self.env is other.env and self._given is other._given

    def __hash__(self) -> int:
        return id(self.env)

    def __call__(self, obs: np.ndarray | np.generic, action: Any) -> np.ndarray:
        """What the environment would have done."""
        if isinstance(action, np.integer):  # which Gymnasium takes longer to check
            action = int(action)
        with self._lock:
            self._set_state(self.env, np.asarray(obs))
            next_obs, _, terminated, truncated, _ = self._dynamics.step(action)
            if terminated or truncated:
                self.env.reset()
        return np.array(next_obs)

    def _check(self) -> None:
        self.env.action_space.seed(0)
        obs, _ = self.env.reset(seed=0)
        steps = []
        for _ in range(CHECKS):
            action = self.env.action_space.sample()
            before = np.array(obs)  # the environment may reuse its array
            next_obs, _, terminated, truncated, _ = self.env.step(action)
            steps.append((before, action, np.array(next_obs)))
            obs = self.env.reset()[0] if terminated or truncated else next_obs
        self.env.reset()
        happened = np.array([next_obs for _, _, next_obs in steps], float)
        try:
            repeated = np.array([self(obs, action) for obs, action, _ in steps], float)
        except Exception as error:
            raise SourceError(
                f"the simulator {self.env} cannot be put where it was "
                f"({type(error).__name__}: {error}). {REMEDY}"
            ) from error
        gaps = np.abs(repeated - happened).reshape(CHECKS, -1)
        sizes = np.abs(happened).reshape(CHECKS, -1).max(axis=0)
        wrong = ~np.all(gaps <= TOLERANCE * (TOLERANCE + sizes), axis=0)
        if wrong.any():
            place = int(np.argmax(wrong))
            raise SourceError(
                f"the simulator {self.env} does not repeat itself: put back where it "
                f"was, the same action led elsewhere (component {place} of the "
                f"observation differs by {gaps[:, place].max():.3g}). {REMEDY}"
            )


def without_rules(env: gymnasium.Env) -> gymnasium.Env:
    """The same dynamics, less what Gymnasium puts around them: limits and checks.

    A model is asked often, and for single steps.
    """
    while type(env) in (TimeLimit, OrderEnforcing, PassiveEnvChecker):
        env = env.env  # pyright: ignore[reportAttributeAccessIssue]
    return env


def find_setter(env: gymnasium.Env) -> SetState:
    """How the state of a well-known kind of environment is set."""
    body: Any = env.unwrapped
    size = int(np.prod(env.observation_space.shape or ()))
    model: Any = getattr(body, "model", None)
    if hasattr(body, "set_state") and hasattr(model, "nq"):
        hidden = int(model.nq) + int(model.nv) - size
        if 0 <= hidden <= PLACES:
            return partial(_set_body, hidden)
    elif hasattr(body, "s") and isinstance(env.observation_space, spaces.Discrete):
        return _set_number
    elif hasattr(body, "state"):
        angles = size - np.size(body.state)
        return partial(_set_angles, angles) if angles > 0 else _set_attribute
    raise SourceError(
        f"the state of {env} cannot be set from its observations in a known way. "
        f"{REMEDY}"
    )


def _set_body(hidden: int, env: Any, obs: np.ndarray) -> None:
    """MuJoCo's positions and velocities; a place that is not shown is the origin."""
    joints = env.unwrapped.model.nq
    whole = np.concatenate([np.zeros(hidden), obs])
    env.unwrapped.set_state(whole[:joints], whole[joints:])


def _set_number(env: Any, obs: np.ndarray) -> None:
    env.unwrapped.s = int(obs)


def _set_attribute(env: Any, obs: np.ndarray) -> None:
    env.unwrapped.state = np.array(obs, float)


def _set_angles(angles: int, env: Any, obs: np.ndarray) -> None:
    """A state that begins with angles, of which cosine and sine are seen."""
    turned, rest = obs[: 2 * angles].reshape(-1, 2), obs[2 * angles :]
    state = np.concatenate([np.arctan2(turned[:, 1], turned[:, 0]), rest])
    env.unwrapped.state = state.astype(float)
