"""Transfer-Pendulum: settings, what is run, and how its mixture is looked at."""

from functools import cache, partial
from importlib.resources import files

import numpy as np

from policymix.core.settings import Settings
from policymix.domains.pendulum.task import (
    FASTEST,
    Moves,
    Pendulum,
    pendulum_family,
    right_source,
)
from policymix.environments.domain import Domain, RightSource
from policymix.environments.study import Axis, Plane, Study

SETTINGS = Settings(
    steps=10_000,
    evaluate_every=500,
    discount=0.98,
    layers=(64, 64),
    learning_rate=1e-3,
    batch=64,
    capacity=10_000,
)
ANGLE = Axis("angle from upright (rad)", np.linspace(-np.pi, np.pi, 64), (-3, 0, 3))
SPEED = Axis("speed (rad/s)", np.linspace(-FASTEST, FASTEST, 33), (-8, 0, 8))


@cache
def right_wind(names: tuple[str, ...]) -> RightSource:
    """The source whose wind is the target's."""
    return partial(right_source, names)


def states() -> np.ndarray:
    """Angle and speed on the sides."""
    speed, angle = np.meshgrid(SPEED.values, ANGLE.values, indexing="ij")
    obs = np.stack([np.cos(angle), np.sin(angle), speed], axis=-1)
    return obs.astype(np.float32)[:, :, None]


PENDULUM = Domain(
    name="pendulum",
    family=pendulum_family,
    right=right_wind,
    settings=SETTINGS,
    shipped=files("policymix.domains.pendulum") / "library",
    trainer="policymix.domains.pendulum.sources:train_source",
    kinds=(Moves, Pendulum),
    study=Study(
        title="Transfer-Pendulum",
        about=(
            "A rod on a weak motor must be swung up and held upright, in a wind that "
            "pushes it away from the top on both sides. Each of two sources knows a "
            "wind that blows one way everywhere, east to the left and west to the "
            "right: its model is exact on one side of the top and wrong on the other. "
            "Nobody tells the learner which source is right where, and none of them "
            "has learned to balance where the wind turns."
        ),
        trials=10,
        quick=(4, 5_000),
        effort=(300.0, 200.0),
        looks=(0, 500, 1_000, 2_500, 5_000, 10_000),
        shown=(0, 500, 1_000, 5_000),
        view=Plane(x=ANGLE, y=SPEED, states=states),
        truth="the source whose wind blows here",
        sweeps={},
        methods=("mars", "follow", "vote", "phi1", "phi2", "mapse", "scratch"),
    ),
)
