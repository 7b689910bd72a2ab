"""Transfer-Acrobot: swing a double pendulum up by a motor in its elbow.

Written after Gymnasium's Acrobot-v1 (the book's equations, one step of Runge-Kutta),
which it equals state for state with the default physics. The ten machines have physics
drawn as MULTIPOLAR's experiments do (arXiv 1909.13111).
"""

from functools import cache

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from policymix.core.kernels import as_float
from policymix.core.types import Box, Discrete, DiscreteAction, Key, Scalar, TaskSpec
from policymix.environments.base import DeterministicDomain, Family

State = Float[Array, "6"]
"""Cosine and sine of the shoulder's angle (0 hangs down) and of the elbow's (0 is
stretched), then how fast both turn."""
GRAVITY = 9.8
TIME_STEP = 0.2
FASTEST = (4 * np.pi, 9 * np.pi)
"""At which shoulder and elbow can turn."""
TORQUES = (-1.0, 0.0, 1.0)
SLACK = 0.1
"""Each angle and speed begins within ± this."""

MACHINES = 10
MACHINE_SEED, CHOICE_SEED = 0, 55
"""The first is the one with which MULTIPOLAR's repository draws its instances, so ours
are the same ten; which sources it draws with the second depends on the file system."""
RANGES = ((0.3, 1.3), (0.3, 1.3), (0.5, 1.5), (0.5, 1.5), (0.05, 0.95), (0.05, 0.95))
"""Lengths and masses of both links, and where on them their centres of mass lie."""
INERTIAS = (0.25, 1.5)
NUM_SOURCES = 4


class Acrobot(DeterministicDomain):
    """Two links; the defaults are Gymnasium's. Each step costs 1 until the tip is up.

    How high that is does not depend on the lengths: it is one unit above the shoulder
    for links of length one, whatever they are, as in Gymnasium.

    Args:
        upper_length: of the link at the shoulder.
        lower_length: of the other; nothing but the picture depends on it.
        upper_mass: of the link at the shoulder.
        lower_mass: of the other.
        upper_centre: how far from the shoulder the centre of mass lies.
        lower_centre: how far from the elbow.
        inertia: of each link, around its centre.
    """

    upper_length: Scalar = eqx.field(converter=as_float, default=1.0)
    lower_length: Scalar = eqx.field(converter=as_float, default=1.0)
    upper_mass: Scalar = eqx.field(converter=as_float, default=1.0)
    lower_mass: Scalar = eqx.field(converter=as_float, default=1.0)
    upper_centre: Scalar = eqx.field(converter=as_float, default=0.5)
    lower_centre: Scalar = eqx.field(converter=as_float, default=0.5)
    inertia: Scalar = eqx.field(converter=as_float, default=1.0)
    horizon: int = eqx.field(static=True, default=500)

    @property
    def spec(self) -> TaskSpec:
        """Six real numbers in, one of three torques out."""
        high = (1.0, 1.0, 1.0, 1.0, *FASTEST)
        return TaskSpec(Box(tuple(-b for b in high), high), Discrete(len(TORQUES)))

    def initial(self, key: Key) -> State:
        """Hanging down, nearly at rest."""
        return observed(jax.random.uniform(key, (4,), minval=-SLACK, maxval=SLACK))

    def transition(self, obs: State, action: DiscreteAction) -> State:
        """One step of fourth-order Runge-Kutta, then limits on the speeds."""
        torque, half = jnp.asarray(TORQUES)[action], 0.5 * TIME_STEP
        cosine1, sine1, cosine2, sine2, *speeds = obs
        angles = [jnp.arctan2(sine1, cosine1), jnp.arctan2(sine2, cosine2)]
        state = jnp.stack([*angles, *speeds])
        first = self.rates(state, torque)
        second = self.rates(state + half * first, torque)
        third = self.rates(state + half * second, torque)
        fourth = self.rates(state + TIME_STEP * third, torque)
        slope = (first + 2 * second + 2 * third + fourth) / 6
        state = state + TIME_STEP * slope
        fastest = jnp.asarray(FASTEST)
        return observed(state.at[2:].set(jnp.clip(state[2:], -fastest, fastest)))

    def rates(self, state: Float[Array, "4"], torque: Scalar) -> Float[Array, "4"]:
        """Time derivatives of both angles and speeds: Sutton and Barto's equations."""
        angle1, angle2, speed1, speed2 = state
        coupling = self.lower_mass * self.upper_length * self.lower_centre
        hanging = self.lower_mass * self.lower_centre**2
        inner = hanging + coupling * jnp.cos(angle2) + self.inertia
        outer = (
            self.upper_mass * self.upper_centre**2
            + self.lower_mass * self.upper_length**2
            + coupling * jnp.cos(angle2)
            + self.inertia
            + inner
        )
        weight = self.lower_mass * self.lower_centre * GRAVITY
        fall2 = weight * jnp.sin(angle1 + angle2)
        moment = self.upper_mass * self.upper_centre
        moment += self.lower_mass * self.upper_length
        swing = coupling * jnp.sin(angle2)
        fall1 = (
            fall2
            + moment * GRAVITY * jnp.sin(angle1)
            - swing * speed2 * (speed2 + 2 * speed1)
        )
        pull = torque + inner / outer * fall1 - swing * speed1**2 - fall2
        turn2 = pull / (hanging + self.inertia - inner**2 / outer)
        turn1 = -(inner * turn2 + fall1) / outer
        return jnp.stack([speed1, speed2, turn1, turn2])

    def reward(self, obs: State, action: DiscreteAction, next_obs: State) -> Scalar:
        """Minus one for every step that does not bring the tip up."""
        del obs, action
        return jnp.where(self.terminal(next_obs), 0.0, -1.0)

    def terminal(self, obs: State) -> Bool[Array, ""]:
        """The tip is up."""
        cosine1, sine1, cosine2, sine2 = obs[:4]
        both = cosine1 * cosine2 - sine1 * sine2
        return -cosine1 - both > 1.0


class Moves(eqx.Module):
    """What a machine does, as a source's dynamics: exact, for the machine is known."""

    machine: Acrobot

    def __call__(self, obs: State, action: DiscreteAction) -> State:
        """Where it would go."""
        return self.machine.transition(obs, action)


def observed(state: Float[Array, "4"]) -> State:
    """Angles as cosines and sines; speeds as they are."""
    angles, speeds = state[:2], state[2:]
    turned = jnp.stack([jnp.cos(angles), jnp.sin(angles)], axis=1)
    return jnp.concatenate([turned.ravel(), speeds])


@cache
def drawn_physics() -> np.ndarray:
    """Seven numbers for each machine, uniform in their ranges, cut to two decimals."""
    rng = np.random.RandomState(MACHINE_SEED)
    low, high = np.array([*RANGES, INERTIAS]).T
    return np.trunc(100 * rng.uniform(low, high, (MACHINES, len(low)))) / 100


def machine(place: int) -> Acrobot:
    """One of the ten; its centres of mass are drawn as shares of the lengths."""
    length1, length2, mass1, mass2, share1, share2, inertia = drawn_physics()[place]
    centres = share1 * length1, share2 * length2
    return Acrobot(length1, length2, mass1, mass2, *centres, inertia)


@cache
def chosen_sources() -> tuple[tuple[int, ...], ...]:
    """For each machine, which four of the other nine it learns from."""
    rng = np.random.RandomState(CHOICE_SEED)
    chosen = []
    for place in range(MACHINES):
        others = [other for other in range(MACHINES) if other != place]
        drawn = rng.choice(others, NUM_SOURCES, replace=False)
        chosen.append(tuple(sorted(drawn.tolist())))
    return tuple(chosen)


def name_of_machine(place: int) -> str:
    """As a source."""
    return f"machine-{place}"


def acrobot_family(place: int | None = None) -> Family[Acrobot]:
    """One of the machines and its four sources; None: Gymnasium's, and all ten."""
    places = range(MACHINES) if place is None else chosen_sources()[place]
    return Family(
        "Transfer-Acrobot",
        Acrobot() if place is None else machine(place),
        {name_of_machine(other): machine(other) for other in places},
    )
