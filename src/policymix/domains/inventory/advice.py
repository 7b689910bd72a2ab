"""The inventory with imperfect advice: forecasts that think too little of a lost sale.

They expect the right demand, each in its months, but their orders are the best for a
cost that is not the target's.
"""

from dataclasses import replace

from policymix.domains.inventory.experiment import INVENTORY
from policymix.domains.inventory.sources import forecast_source
from policymix.domains.inventory.task import Inventory
from policymix.environments.base import Family
from policymix.environments.study import TABLE_METHODS
from policymix.sources.library import SourceLibrary

BELIEVED_COST = 1.0
"""Of a lost sale; the target's is 5."""


def careless(library: SourceLibrary) -> SourceLibrary:
    """The same forecasts, with the orders that are best for the believed cost."""
    worlds = believing_family().sources
    sources = [
        replace(source, policy=forecast_source(source.name, worlds[source.name]).policy)
        for source in library.sources
    ]
    return replace(library, sources=sources, tried=False)


def believing_family() -> Family[Inventory]:
    """The same target; the forecasts' own worlds have the believed cost."""
    family = INVENTORY.family()
    worlds = {
        name: replace(world, lost_cost=BELIEVED_COST)
        for name, world in family.sources.items()
    }
    return replace(family, name=f"{family.name}, wrong cost", sources=worlds)


WRONG_COST = replace(
    INVENTORY,
    name="inventory-wrong-cost",
    family=believing_family,
    alter=careless,
    home=INVENTORY.name,
    trainer=None,
    study=replace(
        INVENTORY.study,
        title="Inventory, a lost sale thought to cost 1 instead of 5",
        looks=(0, 1_000, 5_000, 20_000),
        shown=(0, 1_000, 5_000, 20_000),
        sweeps={},
        methods=TABLE_METHODS,
        claims=("above-both", "ends-above-both"),
    ),
)
