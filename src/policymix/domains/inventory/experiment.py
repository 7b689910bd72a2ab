"""Both inventories: settings, what is run, and how their mixture is looked at."""

from dataclasses import replace
from functools import cache, partial
from importlib.resources import files

import numpy as np

from policymix.core.encoders import OneHotGrid
from policymix.core.settings import Settings
from policymix.domains.inventory.task import (
    CAPACITY,
    MONTHS,
    Sales,
    inventory_family,
    right_forecast,
    unforeseen_family,
)
from policymix.environments.domain import Domain, RightSource
from policymix.environments.study import REUSE_SWEEPS, Axis, Plane, Study

SETTINGS = Settings(
    steps=20_000,
    evaluate_every=500,
    evaluation_episodes=1,
    discount=0.95,
    epsilon_start=0.1,
    epsilon_decay=0.98,
    layers=None,
    initial_value=-160.0,
    learning_rate=0.05,
    shaped_rate=0.05,
    refresh_every=500,
    scale=10.0,
    gate_bonus=0.003,
    gate_keep=0.98,
    gate_burden=0.0,
    own_model=True,
    mapse_reuse=0.99,
    ucb_reuse=0.99,
    exit_rate=0.01,
)


@cache
def right_month(names: tuple[str, ...]) -> RightSource:
    """The forecast that holds in a state's month."""
    return partial(right_forecast, names)


def states() -> np.ndarray:
    """Every stock of every month."""
    return np.arange(MONTHS * (CAPACITY + 1)).reshape(MONTHS, -1).T[:, :, None]


STUDY = Study(
    title="Inventory",
    trials=20,
    quick=(4, 4_000),
    effort=(120.0, 10.0),
    looks=(0, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000),
    shown=(0, 100, 500, 1_000, 2_000, 20_000),
    view=Plane(
        x=Axis("month", 1 + np.arange(MONTHS), (1, 5, 9)),
        y=Axis("stock", np.arange(CAPACITY + 1), (0, 10, 20)),
        states=states,
    ),
    truth="the forecast that demand follows in that month",
    sweeps=REUSE_SWEEPS,
    claims=("quarter-of-the-regret",),
    linear=0.1,
)
INVENTORY = Domain(
    name="inventory",
    family=inventory_family,
    encoder=OneHotGrid(MONTHS, CAPACITY + 1),
    measure="regret per month",
    score=None,
    right=right_month,
    better="lower",
    settings=SETTINGS,
    shipped=files("policymix.domains.inventory") / "library",
    trainer="policymix.domains.inventory.sources:train_source",
    kinds=(Sales,),
    study=STUDY,
)
UNFORESEEN = replace(
    INVENTORY,
    name="inventory-unforeseen",
    family=unforeseen_family,
    right=None,
    home="inventory",
    trainer=None,
    study=replace(
        STUDY, title="Inventory, unforeseen demand", truth="", claims=("harmless",)
    ),
)
