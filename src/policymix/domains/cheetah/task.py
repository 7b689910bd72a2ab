"""Transfer-Cheetah: continuous control on a round track whose gravity changes.

MuJoCo's half-cheetah runs around a track. Sources know one physics each; on the target
every part of the track has another. An observation holds the whole state, so a source's
simulator can be asked what it would have done: `set_cheetah`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.error import DependencyNotInstalled

from policymix.core.errors import MissingExtraError
from policymix.environments.base import Family

LENGTH = 20.0
"""Metres around the track."""
JOINTS = 9


@dataclass(frozen=True)
class Physics:
    """What differs between tasks; the defaults are MuJoCo's."""

    gravity: float = 9.81
    friction: float = 0.4
    mass: float = 1.0
    """As a multiple of the usual."""


@dataclass(frozen=True)
class CheetahParams:
    """One task: physics of equal stretches of the track, in order of position."""

    track: tuple[Physics, ...]
    horizon: int = 250


EARTH, LIGHT = Physics(), Physics(gravity=3.0)
FAMILY = Family(
    "cheetah",
    CheetahParams((EARTH, LIGHT)),
    {"earth": CheetahParams((EARTH,)), "light": CheetahParams((LIGHT,))},
)


def stretch_of(obs: np.ndarray, stretches: int) -> np.ndarray:
    """Which stretch of the track each observation is on."""
    turn = np.arctan2(obs[..., 1], obs[..., 0]) / (2 * math.pi) % 1.0
    return np.asarray(turn * stretches).astype(int)


class TrackCheetah(gymnasium.Wrapper):
    """The half-cheetah on a round track.

    It observes cos and sin of its place on the track, the other positions of its joints
    and all velocities. It is paid for speed, less a tenth of its squared effort, and
    ends an episode at its horizon (`truncated`); it starts anywhere on the track.
    """

    def __init__(self, env: gymnasium.Env, params: CheetahParams):
        super().__init__(env)
        self.params = params
        self.observation_space = spaces.Box(
            -np.inf, np.inf, (2 * JOINTS + 1,), np.float32
        )
        self._body: Any = env.unwrapped
        self._masses = self._body.model.body_mass.copy()
        self._elapsed = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin an episode somewhere on the track."""
        _, info = self.env.reset(seed=seed, options=options)
        place = self._body.np_random.uniform(0.0, LENGTH)
        self._put(place, self._body.data.qpos[1:], self._body.data.qvel)
        self._elapsed = 0
        return self._observation(), info

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Take one action under the physics of the place where it begins."""
        self._obey(self.params.track)
        _, reward, _, _, info = self.env.step(action)
        self._elapsed += 1
        truncated = self._elapsed >= self.params.horizon
        return self._observation(), float(reward), False, truncated, info

    def set_state(self, obs: np.ndarray) -> None:
        """Be where an observation was made."""
        place = math.atan2(obs[1], obs[0]) / (2 * math.pi) * LENGTH
        self._put(place % LENGTH, obs[2 : JOINTS + 1], obs[JOINTS + 1 :])

    def _put(self, place: float, joints: np.ndarray, velocities: np.ndarray) -> None:
        self._body.set_state(np.append(place, joints), np.array(velocities, float))

    def _obey(self, track: Sequence[Physics]) -> None:
        turn = self._body.data.qpos[0] / LENGTH % 1.0
        physics, model = track[int(turn * len(track))], self._body.model
        model.opt.gravity[2] = -physics.gravity
        model.geom_friction[:, 0] = physics.friction
        model.body_mass[:] = physics.mass * self._masses

    def _observation(self) -> np.ndarray:
        angle = 2 * math.pi * self._body.data.qpos[0] / LENGTH
        turn = (math.cos(angle), math.sin(angle))
        parts = (turn, self._body.data.qpos[1:], self._body.data.qvel)
        return np.concatenate(parts, dtype=np.float32)


def make_cheetah(
    source: str | None = None, render_mode: str | None = None
) -> TrackCheetah:
    """Transfer-Cheetah's target (None), "earth" or "light"."""
    params = FAMILY.variant(source)
    try:
        from gymnasium.envs.mujoco.half_cheetah_v5 import HalfCheetahEnv

        body = HalfCheetahEnv(render_mode=render_mode)
    except (ImportError, DependencyNotInstalled) as error:
        raise MissingExtraError("Transfer-Cheetah", "mujoco") from error
    return TrackCheetah(body, params)


def set_cheetah(env: TrackCheetah, obs: np.ndarray) -> None:
    """Put a simulator where an observation of another was made."""
    env.set_state(obs)
