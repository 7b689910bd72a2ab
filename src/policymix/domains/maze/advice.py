"""The maze with imperfect advice: sources that err in some cells, or in every room.

What they know of the dynamics stays right, so the mixture is sure of itself.
"""

from dataclasses import replace
from functools import partial

import jax.numpy as jnp
import numpy as np

from policymix.domains.maze.experiment import MAZE
from policymix.environments.domain import Domain
from policymix.environments.study import TABLE_METHODS
from policymix.sources.library import SourceLibrary
from policymix.sources.policies import table_policy


def spoilt(library: SourceLibrary, share: float) -> SourceLibrary:
    """The same sources, with a random action in a share of each one's cells.

    Cells and actions are drawn once, source i with seed i. The cells of a small share
    are among those of a larger one.
    """
    sources = []
    for seed, source in enumerate(library.sources):
        actions = np.array(source.policy.probabilities).argmax(axis=1)
        rng = np.random.default_rng(seed)
        cells = rng.permutation(len(actions))[: round(share * len(actions))]
        choices = source.policy.probabilities.shape[1]
        anything = rng.integers(choices, size=len(actions))
        actions[cells] = anything[cells]
        policy = table_policy(jnp.asarray(actions), choices)
        sources.append(replace(source, policy=policy))
    return replace(library, sources=sources, tried=False)


def moved_on(library: SourceLibrary) -> SourceLibrary:
    """Each source has the policy of the next: it is trusted in a room it cannot do."""
    known = library.sources
    pairs = zip(known, (*known[1:], known[0]), strict=True)
    sources = [replace(source, policy=other.policy) for source, other in pairs]
    return replace(library, sources=sources, tried=False)


SHORT_RUN = replace(MAZE.settings, steps=50_000, evaluate_every=1_000)
ADVICE_STUDY = replace(
    MAZE.study,
    looks=(0, 5_000, 20_000, 50_000),
    shown=(0, 5_000, 20_000, 50_000),
    quick=(4, 50_000),
    drawings=None,
    sweeps={},
    methods=TABLE_METHODS,
    claims=(),
    solved=(90.0, 40_000),
)
WRONG_ROOMS = replace(
    MAZE,
    name="maze-wrong-rooms",
    alter=moved_on,
    home=MAZE.name,
    trainer=None,
    settings=SHORT_RUN,
    study=replace(ADVICE_STUDY, title="Transfer-Maze, each policy in the wrong room"),
)


def spoilt_maze(percent: int, by: int) -> Domain:
    """The maze with so many of a hundred cells spoilt, to be solved by so many samples.

    The shortest way has 86 steps; 90 count as solved.
    """
    title = f"Transfer-Maze, {percent} % of the advice random"
    return replace(
        WRONG_ROOMS,
        name=f"maze-spoilt-{percent}",
        alter=partial(spoilt, share=percent / 100),
        study=replace(ADVICE_STUDY, title=title, solved=(90.0, by)),
    )


SPOILT_0 = spoilt_maze(0, by=10_000)
SPOILT_5 = spoilt_maze(5, by=15_000)
SPOILT_20 = spoilt_maze(20, by=40_000)
SPOILT_50 = spoilt_maze(50, by=40_000)
SPOILT_100 = spoilt_maze(100, by=40_000)
