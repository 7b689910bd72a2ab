"""Transfer-Cheetah: settings, what is run, and how its mixture is looked at."""

from functools import cache, partial

import jax.numpy as jnp
import numpy as np

from policymix.core.settings import Settings
from policymix.domains.cheetah.sources import cheetah_sources
from policymix.domains.cheetah.task import FAMILY, JOINTS, LENGTH, make_cheetah
from policymix.environments.base import Family
from policymix.environments.copies import Variant
from policymix.environments.domain import Domain, RightSource
from policymix.environments.study import Axis, Plane, Study

SETTINGS = Settings(
    steps=10_000,
    evaluate_every=500,
    discount=0.99,
    layers=(128, 128),
    learning_rate=7e-4,
    batch=128,
    capacity=10_000,
    own_model=True,
)
PLACE = Axis("place on the track (m)", np.linspace(0.0, LENGTH, 65), (0, 5, 10, 15, 20))
SPEED = Axis("forward speed (m/s)", np.linspace(-2.0, 6.0, 33), (-2, 0, 2, 4, 6))
POSTURES, BEND, SWING = 16, 0.3, 3.0
"""How many are averaged, and deviations of their joints and of how fast these move."""


def cheetahs() -> Family[Variant]:
    """What makes each task."""
    sources = {name: partial(make_cheetah, name) for name in FAMILY.sources}
    return Family(FAMILY.name, make_cheetah, sources)


@cache
def right_gravity(names: tuple[str, ...]) -> RightSource:
    """The source whose gravity rules where the cheetah is: `stretch_of` in JAX."""
    track = FAMILY.target.track
    kept = [FAMILY.sources[name].track[0] for name in names]
    places = jnp.array([kept.index(physics) for physics in track])

    def find(obs: jnp.ndarray) -> jnp.ndarray:
        turn = jnp.arctan2(obs[1], obs[0]) / (2 * jnp.pi) % 1.0
        stretch = jnp.minimum((turn * len(track)).astype(int), len(track) - 1)
        return places[stretch]

    return find


def states() -> np.ndarray:
    """Place and speed on the sides; the same postures everywhere."""
    rng = np.random.default_rng(0)
    bends = rng.normal(0.0, BEND, (POSTURES, JOINTS - 1))
    swings = rng.normal(0.0, SWING, (POSTURES, JOINTS - 1))
    speed, place, posture = np.meshgrid(
        SPEED.values, PLACE.values, np.arange(POSTURES), indexing="ij"
    )
    angle = 2 * np.pi * place[..., None] / LENGTH
    turn = [np.cos(angle), np.sin(angle)]
    rest = [bends[posture], speed[..., None], swings[posture]]
    return np.concatenate([*turn, *rest], axis=-1).astype(np.float32)


CHEETAH = Domain(
    name="cheetah",
    family=cheetahs,
    right=right_gravity,
    settings=SETTINGS,
    shipped=cheetah_sources,
    study=Study(
        title="Transfer-Cheetah",
        about=(
            "A half-cheetah runs around a track of 20 m, as fast as it can: gravity is "
            "9.81 on one half of the track and 3 on the other. Each of two sources "
            "knows one gravity, earth the first and light the second: its simulator "
            "is exact on that half and wrong on the other, and its policy was learned "
            "where all of the track is like that half. Nobody tells the learner which "
            "source is right where."
        ),
        trials=5,
        quick=(2, 3_000),
        effort=(10_000.0, 8_000.0),
        looks=(0, 500, 1_000, 2_500, 5_000, 10_000),
        shown=(0, 500, 1_000, 5_000),
        view=Plane(x=PLACE, y=SPEED, states=states, note=", postures averaged"),
        truth="the source whose gravity rules here",
        sweeps={},
        methods=("mars", "follow", "vote", "phi1", "phi2", "mapse", "scratch"),
        claims=("above-both", "ends-above-both"),
    ),
)
