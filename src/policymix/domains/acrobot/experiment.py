"""Transfer-Acrobot: the ten machines as targets, by the package's own defaults."""

from dataclasses import replace
from functools import partial
from importlib.resources import files

import jax.numpy as jnp

from policymix.core.settings import DEFAULTS
from policymix.domains.acrobot.task import (
    MACHINES,
    Acrobot,
    Moves,
    acrobot_family,
    chosen_sources,
    name_of_machine,
)
from policymix.environments.domain import Domain
from policymix.environments.study import Study
from policymix.environments.targets import first_observations
from policymix.sources.library import SourceLibrary
from policymix.sources.prepare import prepare_sources

STUDY = Study(
    title="Acrobot",
    trials=3,
    quick=(2, 20_000),
    effort=(300.0, 60.0),
    truth="",
    sweeps={},
    methods=("mars", "follow", "scratch", "multipolar"),
)
ACROBOT = Domain(
    name="acrobot",
    family=acrobot_family,
    settings=replace(DEFAULTS, steps=200_000, evaluate_every=10_000),
    shipped=files("policymix.domains.acrobot") / "library",
    trainer="policymix.domains.acrobot.sources:train_source",
    kinds=(Moves, Acrobot),
    study=STUDY,
)


def four_of(library: SourceLibrary, place: int) -> SourceLibrary:
    """The four sources of a machine, in units measured as for a target of one's own."""
    names = [name_of_machine(other) for other in chosen_sources()[place]]
    sources = [source for source in library.sources if source.name in names]
    target = acrobot_family(place).target
    chosen = SourceLibrary(sources)
    return prepare_sources(chosen, target.spec, jnp.asarray(first_observations(target)))


def instance(place: int) -> Domain:
    """One of the ten as the target."""
    return replace(
        ACROBOT,
        name=f"{ACROBOT.name}-{place}",
        family=partial(acrobot_family, place),
        alter=partial(four_of, place=place),
        home=ACROBOT.name,
        trainer=None,
        study=replace(STUDY, title=f"Acrobot, machine {place}"),
    )


(
    INSTANCE_0,
    INSTANCE_1,
    INSTANCE_2,
    INSTANCE_3,
    INSTANCE_4,
    INSTANCE_5,
    INSTANCE_6,
    INSTANCE_7,
    INSTANCE_8,
    INSTANCE_9,
) = map(instance, range(MACHINES))
