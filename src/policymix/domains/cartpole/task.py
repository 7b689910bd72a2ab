"""Transfer-CartPole: how hard a push is depends on the surface under the cart.

Written after Gymnasium's CartPole-v1 (explicit Euler), which it equals state for state
when the force is constant and the actions are its two. The paper's section 4.2.
"""

from collections.abc import Iterable
from typing import TypeAlias

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from policymix.core.types import (
    Box,
    Discrete,
    DiscreteAction,
    Key,
    Real,
    Scalar,
    TaskSpec,
)
from policymix.environments.base import DeterministicDomain, Family

State: TypeAlias = Float[Array, "4"]
"""Cart position x and velocity, pole angle θ from upright (rad) and its velocity."""


class CartPole(DeterministicDomain):
    """A pole balanced on a cart; the defaults are the target task.

    Action k pushes with fractions[k] · F(x), negative being left, where x is the
    position *before* the step and, with sharpness b and wave number k,
    F(x) = mean + swing · √((1 + b²) / (1 + b² cos² kx)) · cos kx:
    nearly a square wave for b = 6, and a constant where the swing is 0.
    """

    force_mean: float = 40.0
    force_swing: float = 35.0
    wave_number: float = 5.0
    sharpness: float = 6.0
    half_length: float = 0.5
    mass_cart: float = 1.0
    mass_pole: float = 0.1
    gravity: float = 9.8
    time_step: float = 0.02
    position_limit: float = 2.4
    angle_limit: float = 12 * np.pi / 180
    start_spread: tuple[float, float, float, float] = (1.5, 0.05, 0.05, 0.05)
    fractions: tuple[float, ...] = (-1.0, -0.5, 0.5, 1.0)
    bounds: tuple[float, float, float, float] = eqx.field(
        static=True, default=(5.0, 40.0, 0.5, 20.0)
    )
    """Round numbers that no reachable state leaves, the failing one included. They are
    the same for every variant, since sources and target must share their spaces."""
    horizon: int = eqx.field(static=True, default=500)

    @property
    def spec(self) -> TaskSpec:
        """Four real numbers in, one push out."""
        low = tuple(-bound for bound in self.bounds)
        return TaskSpec(Box(low, self.bounds), Discrete(len(self.fractions)))

    @property
    def total_mass(self) -> Real:
        """Cart and pole."""
        return self.mass_cart + self.mass_pole

    @property
    def pole_moment(self) -> Real:
        """Mass of the pole times the distance of its centre from the hinge."""
        return self.mass_pole * self.half_length

    def force(self, position: Scalar) -> Scalar:
        """F(x), the push of a full-force action; see the class."""
        wave = jnp.cos(self.wave_number * position)
        squared = self.sharpness**2
        steep = jnp.sqrt((1.0 + squared) / (1.0 + squared * wave**2))
        return self.force_mean + self.force_swing * steep * wave

    def initial(self, key: Key) -> State:
        """Draw every component uniformly from ± its spread."""
        spread = jnp.asarray(self.start_spread)
        return jax.random.uniform(key, (4,), minval=-spread, maxval=spread)

    def transition(self, obs: State, action: DiscreteAction) -> State:
        """One explicit Euler step: positions advance with the *old* velocities."""
        position, velocity, angle, spin = obs
        push = jnp.asarray(self.fractions)[action] * self.force(position)
        sine, cosine = jnp.sin(angle), jnp.cos(angle)
        pushed = (push + self.pole_moment * spin**2 * sine) / self.total_mass
        inertia = self.half_length * (
            4.0 / 3.0 - self.mass_pole * cosine**2 / self.total_mass
        )
        angular = (self.gravity * sine - cosine * pushed) / inertia
        linear = pushed - self.pole_moment * angular * cosine / self.total_mass
        rates = jnp.stack([velocity, linear, spin, angular])
        return obs + self.time_step * rates

    def reward(self, obs: State, action: DiscreteAction, next_obs: State) -> Scalar:
        """One for every step survived; the failing step earns nothing."""
        del obs, action
        return jnp.where(self.terminal(next_obs), 0.0, 1.0)

    def terminal(self, obs: State) -> Bool[Array, ""]:
        """The cart has left the track or the pole has fallen."""
        position, _, angle, _ = jnp.abs(obs)
        return (position > self.position_limit) | (angle > self.angle_limit)


def constant_force(force: float, half_length: float = 0.5) -> CartPole:
    """A cart on one surface all along the track."""
    return CartPole(force_mean=force, force_swing=0.0, half_length=half_length)


def cartpole_family() -> Family[CartPole]:
    """The paper's target, its two surfaces, and a pole twice as long."""
    return Family(
        "Transfer-CartPole",
        CartPole(),
        {
            "rough": constant_force(5.0),
            "slippery": constant_force(75.0),
            "long-pole": constant_force(20.0, half_length=1.0),
        },
    )


def right_source(
    target: CartPole, sources: Iterable[CartPole], obs: State
) -> Int[Array, ""]:
    """Index of the source whose push is nearest to the target's at this position.

    Only sources with the target's pole compete: where the surface changes, the long
    pole's push is nearest, but its pole still swings otherwise.
    """
    push = target.force(obs[0])
    gaps = [
        jnp.where(
            source.half_length == target.half_length,
            jnp.abs(source.force(obs[0]) - push),
            jnp.inf,
        )
        for source in sources
    ]
    return jnp.argmin(jnp.stack(gaps))
