"""Transfer-SparseLunarLander: settings, what is run, how its mixture is looked at."""

from functools import cache, partial
from importlib.resources import files

import jax.numpy as jnp
import numpy as np

from policymix.core.encoders import Clip
from policymix.core.settings import Settings
from policymix.domains.lander.picture import make_lander
from policymix.domains.lander.task import FAMILY
from policymix.environments.base import Family
from policymix.environments.copies import Variant
from policymix.environments.domain import Domain, RightSource
from policymix.environments.study import Axis, Paths, Study

SETTINGS = Settings(
    steps=50_000,
    evaluate_every=2_500,
    evaluation_episodes=5,
    epsilon_decay=0.9925,
    layers=(120, 100),
    batch=64,
    refresh_every=100,
    epochs=1,
    mixture_rate=5e-4,
    scale=100.0,
    guidance=0.7,
    mapse_reuse=0.9,
    ucb_reuse=0.95,
    exit_rate=1e-4,
)
PAPER = {
    "discount": 0.99,
    "epsilon_start": 1.0,
    "epsilon_decay": 0.9925,
    "epsilon_floor": 0.01,
    "layers": (120, 100),
    "learning_rate": 5e-4,
    "shaped_rate": 2e-4,
    "batch": 64,
    "capacity": 20_000,
    "refresh_every": 100,
    "penalty": 1e-6,
    "updates": "episode",
    "mixture_layers": (30, 30),
    "mixture_rate": 1e-3,
    "epochs": 1,
    "scale": 20.0,
    "mapse_reuse": 0.9,
    "ucb_reuse": 0.95,
    "exit_rate": 1e-4,
}
"""Table 1."""
OWN_DECISIONS = {
    10: "the lander's scale c is 100",
    11: "the lander's mixture learns at half the rate",
    16: "the lander's likelihood has a term of coverage beside the model's error",
}
SWITCH_ALTITUDE = 0.5
"""Where a hand-written pilot hands over from hover to land."""


def landers() -> Family[Variant]:
    """What makes each task."""
    sources = {name: partial(make_lander, name) for name in FAMILY.sources}
    return Family(FAMILY.name, make_lander, sources)


@cache
def right_altitude(names: tuple[str, ...]) -> RightSource:
    """There is no truth here, only a rule that works."""
    hover, land = names.index("hover"), names.index("land")
    return lambda obs: jnp.where(obs[1] > SWITCH_ALTITUDE, hover, land)


LANDER = Domain(
    name="lander",
    family=landers,
    encoder=Clip(),
    right=right_altitude,
    settings=SETTINGS,
    shipped=files("policymix.domains.lander") / "library",
    trainer="policymix.domains.lander.sources:train_source",
    study=Study(
        title="Transfer-SparseLunarLander",
        trials=10,
        quick=(2, 10_000),
        effort=(230.0, 180.0),
        looks=(
            *(0, 1_000, 2_500, 5_000, 7_500, 10_000, 15_000, 20_000, 25_000, 35_000),
            50_000,
        ),
        shown=(0, 10_000, 25_000, 50_000),
        view=Paths(
            x=Axis("horizontal position", np.array([-1.0, 1.0]), (-1, 0, 1)),
            y=Axis("altitude", np.array([-0.15, 1.6]), (0, 0.5, 1, 1.5)),
        ),
        truth="hover above an altitude of 0.5 and land below, a hand-written pilot's "
        "choice",
        claims=("mapse-beats-caps",),
        paper=PAPER,
        decisions=OWN_DECISIONS,
        reasons={"scale": 10, "mixture_rate": 11},
    ),
)
