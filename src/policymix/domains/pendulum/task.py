"""Transfer-Pendulum: swing a pendulum up and hold it, in a wind that turns at the top.

Written after Gymnasium's Pendulum-v1, which it equals state for state where the air is
still. Actions are continuous.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from policymix.core.kernels import as_float
from policymix.core.types import Box, Key, Scalar, TaskSpec
from policymix.environments.base import DeterministicDomain, Family

State = Float[Array, "3"]
"""Cosine and sine of the angle θ from upright, and how fast it grows."""
Torque = Float[Array, "1"]
GRAVITY, MASS, LENGTH = 10.0, 1.0, 1.0
TIME_STEP = 0.05
STRONGEST, FASTEST = 2.0, 8.0
"""Torque of the motor, and speed of the pendulum."""
WIND = 1.0
"""As a torque: half of what the motor can do."""


class Pendulum(DeterministicDomain):
    """A rod on a motor; the defaults are Gymnasium's.

    Each step costs θ² + θ̇²/10 + torque²/1000, all of them before the step.

    Args:
        left: torque of the wind where sin θ ≥ 0, which pictures show on the left.
        right: the same on the other side; both push towards larger θ if positive.
    """

    left: Scalar = eqx.field(converter=as_float, default=0.0)
    right: Scalar = eqx.field(converter=as_float, default=0.0)
    horizon: int = eqx.field(static=True, default=200)

    @property
    def spec(self) -> TaskSpec:
        """Three real numbers in, a torque out."""
        high = (1.0, 1.0, FASTEST)
        return TaskSpec(
            Box(tuple(-bound for bound in high), high), Box((-STRONGEST,), (STRONGEST,))
        )

    def initial(self, key: Key) -> State:
        """Any angle, and a speed of up to one."""
        high = jnp.array([jnp.pi, 1.0])
        angle, speed = jax.random.uniform(key, (2,), minval=-high, maxval=high)
        return observed(angle, speed)

    def transition(self, obs: State, action: Torque) -> State:
        """The new speed moves the angle."""
        cosine, sine, speed = obs
        pull = 3.0 * GRAVITY / (2.0 * LENGTH) * sine
        push = 3.0 / (MASS * LENGTH**2) * (motor(action) + self.wind(obs))
        speed = jnp.clip(speed + TIME_STEP * (pull + push), -FASTEST, FASTEST)
        return observed(jnp.arctan2(sine, cosine) + TIME_STEP * speed, speed)

    def wind(self, obs: State) -> Scalar:
        """Its torque at an angle."""
        return jnp.where(obs[1] >= 0.0, self.left, self.right)

    def reward(self, obs: State, action: Torque, next_obs: State) -> Scalar:
        """What the step costs."""
        del next_obs
        angle = jnp.arctan2(obs[1], obs[0])
        effort = 0.001 * jnp.square(motor(action))
        return -(jnp.square(angle) + 0.1 * jnp.square(obs[2]) + effort)

    def terminal(self, obs: State) -> Bool[Array, ""]:
        """Never: the horizon ends an episode."""
        return jnp.zeros_like(obs[0], bool)


class Moves(eqx.Module):
    """What a pendulum does, as a source's dynamics: exact, for its wind is known."""

    pendulum: Pendulum

    def __call__(self, obs: State, action: Torque) -> State:
        """Where it would go."""
        return self.pendulum.transition(obs, action)


def motor(action: Torque) -> Scalar:
    """The torque that an action asks for, within what is possible."""
    return jnp.clip(action[0], -STRONGEST, STRONGEST)


def observed(angle: Scalar, speed: Scalar) -> State:
    """The angle as its cosine and sine."""
    return jnp.stack([jnp.cos(angle), jnp.sin(angle), speed])


def pendulum_family() -> Family[Pendulum]:
    """A wind that blows away from the top on both sides; sources know one of them."""
    return Family(
        "Transfer-Pendulum",
        Pendulum(left=WIND, right=-WIND),
        {
            "east": Pendulum(left=WIND, right=WIND),
            "west": Pendulum(left=-WIND, right=-WIND),
        },
    )


def right_source(names: tuple[str, ...], obs: State) -> Int[Array, ""]:
    """Index of the source whose wind is the target's here."""
    family = pendulum_family()
    winds = jnp.stack([family.sources[name].wind(obs) for name in names])
    return jnp.argmin(jnp.abs(winds - family.target.wind(obs)))
