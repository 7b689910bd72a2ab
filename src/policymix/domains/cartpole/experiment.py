"""Transfer-CartPole: settings, what is run, and how its mixture is looked at."""

from functools import cache
from importlib.resources import files

import numpy as np

from policymix.core.settings import Settings
from policymix.domains.cartpole.task import cartpole_family, right_source
from policymix.environments.domain import Domain, RightSource
from policymix.environments.study import Axis, Plane, Study

SETTINGS = Settings(
    steps=10_000,
    evaluate_every=500,
    discount=0.98,
    layers=(40, 40),
    capacity=5_000,
    double=True,
)
PAPER = {
    "discount": 0.98,
    "epsilon_start": 1.0,
    "epsilon_decay": 0.99,
    "epsilon_floor": 0.01,
    "layers": (40, 40),
    "learning_rate": 5e-4,
    "shaped_rate": 2e-4,
    "batch": 32,
    "capacity": 5_000,
    "refresh_every": 500,
    "penalty": 1e-6,
    "updates": "episode",
    "mixture_layers": (30, 30),
    "mixture_rate": 1e-3,
    "epochs": 3,
    "scale": 2.0,
    "mapse_reuse": 0.85,
    "ucb_reuse": 0.85,
    "exit_rate": 0.01,
}
"""Table 1."""
POSITION = Axis("cart position x (m)", np.linspace(-2.4, 2.4, 97), (-2, 0, 2))
ANGLE = Axis("pole angle (rad)", np.linspace(-0.2, 0.2, 33), (-0.2, 0, 0.2))
VELOCITIES = np.linspace(-0.5, 0.5, 5)
"""Figure 3 averages over these, of the cart and of the pole."""


@cache
def right_surface(names: tuple[str, ...]) -> RightSource:
    """The source whose push is nearest to the target's."""
    family = cartpole_family()
    sources = [family.sources[name] for name in names]
    return lambda obs: right_source(family.target, sources, obs)


def states() -> np.ndarray:
    """Position and angle on the sides, all velocities for each."""
    angle, position, cart, pole = np.meshgrid(
        ANGLE.values, POSITION.values, VELOCITIES, VELOCITIES, indexing="ij"
    )
    obs = np.stack([position, cart, angle, pole], axis=-1).astype(np.float32)
    return obs.reshape(len(ANGLE.values), len(POSITION.values), -1, 4)


CARTPOLE = Domain(
    name="cartpole",
    family=cartpole_family,
    measure="steps balanced",
    right=right_surface,
    settings=SETTINGS,
    shipped=files("policymix.domains.cartpole") / "library",
    trainer="policymix.domains.cartpole.sources:train_source",
    study=Study(
        title="Transfer-CartPole",
        trials=20,
        quick=(4, 10_000),
        effort=(27.0, 9.0),
        looks=(
            *(0, 100, 200, 300, 500, 700, 1_000, 1_500, 2_000, 2_500, 5_000, 7_500),
            10_000,
        ),
        shown=(0, 100, 500, 1_000, 2_500, 5_000),
        view=Plane(x=POSITION, y=ANGLE, states=states, note=", velocities averaged"),
        truth="the source whose push is nearest",
        claims=("caps-keeps-up",),
        paper=PAPER,
    ),
)
