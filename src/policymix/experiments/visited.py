"""What the mixture of an own task believes, in states that training visited.

A domain's `Study` says how its mixture is drawn. Of a user's task nobody has said it:
the states are those of the replay, and the two numbers of a state by which they are
drawn are those that tell best who is trusted.
"""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from policymix.beliefs.belief import Belief
from policymix.beliefs.telling import Over, chosen, most_telling
from policymix.core.progress import Begin
from policymix.core.seeds import seeds_from
from policymix.core.settings import Settings
from policymix.core.types import Discrete, Space
from policymix.environments.study import Cells, Points
from policymix.experiments.going_on import Watch, watch_run
from policymix.experiments.plans import Experiment, Part
from policymix.experiments.snapshots import Arrays, Look, percent, snapshot_facts
from policymix.experiments.watched import Piece
from policymix.training.run import TrainingRun
from policymix.training.setup import build_setup

MOMENTS = (0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.5, 0.75)
"""Shares of the budget after which the mixture is looked at."""
SHOWN_STATES, MOST_CELLS = 400, 4_096


class Glance(NamedTuple):
    """The beliefs of all trials at one moment."""

    step: int
    beliefs: tuple[Belief, ...]


def mixtures_of(run: TrainingRun) -> Look:
    """What the mixtures of all trials have learned."""
    leaves = jax.tree.leaves(run.loop.trials.mixture)
    arrays = {str(place): leaf for place, leaf in enumerate(leaves)}
    return Look(run.loop.steps, arrays)


def glance_back(run: TrainingRun, look: Look) -> Glance:
    """The beliefs of a moment, from what `mixtures_of` the run were then."""
    mixture = run.setup.mixture
    assert mixture is not None
    structure = jax.tree.structure(run.loop.trials.mixture)
    leaves = [look.arrays[str(place)] for place in range(structure.num_leaves)]
    states = [
        jax.device_put(jax.tree.unflatten(structure, [leaf[trial] for leaf in leaves]))
        for trial in range(len(run.seeds))
    ]
    sources = run.task.sources
    return Glance(look.step, tuple(Belief(sources, mixture, s) for s in states))


def glance_times(settings: Settings) -> tuple[int, ...]:
    """When to look, early more often; the last look is at the end, without a stop.

    Stops must not cut training into small chunks: all are multiples of a fifth of what
    lies between tests and copies of the target network.
    """
    whole = math.gcd(settings.evaluate_every, settings.refresh_every)
    grain = whole // 5 if whole % 5 == 0 else whole
    times = {grain * math.ceil(share * settings.steps / grain) for share in MOMENTS}
    return (0, *sorted(time for time in times if time < settings.steps))


def visited_by(run: TrainingRun) -> np.ndarray:
    """States of the first trial of a finished run, as far as its replay reaches."""
    space = run.setup.spec.observation
    rows = run.loop.rows[0][: min(run.settings.steps, run.plan.capacity)]
    if isinstance(space, Discrete):
        return rows[:, 0].astype(int)
    return rows[:, : math.prod(space.shape)]


def some_of(visited: np.ndarray) -> np.ndarray:
    """States from all of the time that is remembered."""
    places = np.linspace(0, len(visited) - 1, min(SHOWN_STATES, len(visited)))
    return visited[places.astype(int)]


def cells_of(space: Space) -> int | None:
    """How many cells a map of all states has; None where they are too many."""
    return space.n if isinstance(space, Discrete) and space.n <= MOST_CELLS else None


def beliefs_seen(
    glances: Sequence[Glance], space: Space, visited: np.ndarray
) -> Arrays:
    """The first trial's weights, and how far each trial trusts each source overall.

    Args:
        glances: at the beliefs.
        space: of the observations.
        visited: states, as many as there happen to be.
    """
    some, cells = some_of(visited), cells_of(space)
    states = some if cells is None else np.arange(cells)
    drawn = [glance.beliefs[0].weights_of(states) for glance in glances]
    arrays = {"weights": percent(np.stack(drawn)), "visited": some}
    return arrays | {"trust": trust_in(glances, some)}


def trust_in(glances: Sequence[Glance], visited: np.ndarray) -> np.ndarray:
    """Mean weights over visited states [moments, trials, sources]."""
    means = [[b.weights_of(visited).mean(axis=0) for b in g.beliefs] for g in glances]
    return np.array(means, np.float32)


def watch_visited(
    experiment: Experiment,
    part: Part,
    begin: Begin,
    visited: np.ndarray | None = None,
    cores: int | None = None,
    lanes: int | None = None,
    home: Path | None = None,
) -> Piece:
    """Train a part's trials and look at their mixtures in states that one has visited.

    Args:
        experiment: all of it, or some of its trials.
        part: what to run.
        begin: reports on the progress.
        visited: states of the experiment's first trial, if that was run before.
        cores: of the processor to use; None uses all.
        lanes: as wide as the whole experiment's shards are.
        home: where they are kept to go on from after a stop, if they are.
    """
    task, settings = experiment.task, experiment.settings_of(part)
    setup = build_setup(task, part.method, settings)
    stops = glance_times(settings) if setup.method.contextual else ()

    def make() -> TrainingRun:
        return TrainingRun(
            task,
            part.method,
            setup,
            settings,
            seeds_from(experiment.seed, experiment.trials),
            stops,
            cores=cores,
            lanes=lanes,
            recorded=True,  # also where nothing is kept: rows are the same everywhere
        )

    watch = Watch((*stops, settings.steps) if stops else (), mixtures_of)
    run, _, rows, looks = watch_run(make, watch, begin, experiment.title(part), home)
    if not looks:
        return Piece(rows, {}, {})
    glances = [glance_back(run, look) for look in looks]
    if visited is not None:
        return Piece(rows, {}, {"trust": trust_in(glances, visited)})
    arrays = beliefs_seen(glances, task.domain.spec().observation, visited_by(run))
    return Piece(rows, snapshot_facts(task, [x.step for x in glances], arrays), arrays)


def view_facts(space: Space, arrays: Arrays, over: Over) -> dict[str, Any]:
    """How the states are drawn, for the manifest; `view_of` reads it."""
    cells = cells_of(space)
    if cells is not None:
        return {"cells": cells, "columns": math.ceil(math.sqrt(cells))}
    size = math.prod(space.shape)
    names = {place: name for name, place in chosen(over, size).items()}
    labels = [names.get(i, f"observation[{i}]") for i in range(size)]
    states = arrays["visited"].reshape(-1, size)
    axes = list(names) or most_telling(states, arrays["weights"][-1])
    return {"labels": labels, "axes": axes}


def view_of(facts: Any) -> Points | Cells | None:
    """What `view_facts` wrote."""
    if not isinstance(facts, dict):
        return None
    if "labels" in facts:
        across, up = facts["axes"]
        return Points(tuple(map(str, facts["labels"])), (int(across), int(up)))
    count, columns = int(facts["cells"]), int(facts["columns"])
    places = np.arange(columns * math.ceil(count / columns)).reshape(-1, columns)
    return Cells(lambda: places >= count, lambda: -1, lambda: -1)
