"""Further mazes like the packaged one, so that results do not hang on one drawing.

Rooms are drawn at random and joined by three doors into one chain, upper-left to
lower-left to lower-right to upper-right, so every way from start to goal crosses all
four. Source i copies room i of the target and draws the other three afresh: in its own
room its shortest way to the next door is the target's.
"""

import jax.numpy as jnp
import numpy as np
from scipy.ndimage import label

from policymix.core.errors import DomainError
from policymix.domains.maze.task import (
    FAMILY_NAME,
    ROOMS,
    Maze,
    optimal_policy,
    rollout_steps,
    rooms,
    steps_to_goal,
)
from policymix.environments.base import Family

ROOM_SIZE = 14
MIDDLE = ROOM_SIZE
SIZE = 2 * ROOM_SIZE + 1
NEAR, FAR = slice(0, ROOM_SIZE), slice(ROOM_SIZE + 1, SIZE)
SLICES = ((NEAR, NEAR), (FAR, NEAR), (FAR, FAR), (NEAR, FAR))
"""Rows and columns of each of ROOMS."""
BARS = (9, 15)
"""Walls drawn in a room: at least, fewer than."""
BAR_LENGTHS = (3, 10)
SHORTEST_WAY = (60, 150)
"""From a way that must be learned to one that half a horizon suffices for."""
ATTEMPTS = 200


def generate_mazes(seed: int) -> Family[Maze]:
    """A target and four sources; one seed, one family.

    Returned only if no source's policy alone reaches the target's goal, and choosing
    the source by room reaches it in the fewest steps there are.
    """
    rng = np.random.default_rng(seed)
    for _ in range(ATTEMPTS):
        family = _draw_family(rng)
        if _only_context_helps(family):
            return family
    raise DomainError(
        f"generate_mazes: seed {seed}: no family in {ATTEMPTS} attempts needs all "
        "four sources. Take another seed."
    )


def steps_alone(family: Family[Maze]) -> dict[str, int]:
    """Steps of each source's policy to the target's goal; the horizon if never."""
    return {
        name: int(rollout_steps(family.target, optimal_policy(source)))
        for name, source in family.sources.items()
    }


def steps_by_room(family: Family[Maze]) -> int:
    """Steps to the target's goal when each room is left to its own source."""
    policies = jnp.stack([optimal_policy(source) for source in family.sources.values()])
    chosen = policies[rooms(family.target), jnp.arange(family.target.walls.size)]
    return int(rollout_steps(family.target, chosen))


def _only_context_helps(family: Family[Maze]) -> bool:
    target = family.target
    shortest = int(steps_to_goal(target)[target.start])
    return (
        SHORTEST_WAY[0] <= shortest <= SHORTEST_WAY[1]
        and all(steps == target.horizon for steps in steps_alone(family).values())
        and steps_by_room(family) == shortest
    )


def _draw_family(rng: np.random.Generator) -> Family[Maze]:
    """Doors, start and goal are the family's; only the insides of rooms differ."""
    first, second, third = rng.integers(ROOM_SIZE, size=3).tolist()
    doors = (MIDDLE, first), (MIDDLE + 1 + second, MIDDLE), (MIDDLE, FAR.start + third)
    begin, end = (tuple(rng.integers(ROOM_SIZE, size=2).tolist()) for _ in range(2))
    # Cells of each room, counted within it, that the way must be able to join.
    last = ROOM_SIZE - 1
    joints = (
        (begin, (last, first)),
        ((0, first), (second, last)),
        ((second, 0), (0, third)),
        ((last, third), end),
    )
    start = int(np.ravel_multi_index(begin, (SIZE, SIZE)))
    goal = int(np.ravel_multi_index((end[0], FAR.start + end[1]), (SIZE, SIZE)))
    truth = [_draw_room(rng, joint) for joint in joints]

    def assemble(insides: list[np.ndarray]) -> Maze:
        walls = np.ones((SIZE, SIZE), bool)
        walls[tuple(zip(*doors, strict=True))] = False
        for place, inside in zip(SLICES, insides, strict=True):
            walls[place] = inside
        return Maze(walls=jnp.asarray(walls), start=start, goal=goal)

    sources = {
        name: assemble(
            [
                truth[j] if i == j else _draw_room(rng, joint)
                for j, joint in enumerate(joints)
            ]
        )
        for i, name in enumerate(ROOMS)
    }
    return Family(FAMILY_NAME, assemble(truth), sources)


def _draw_room(
    rng: np.random.Generator, joints: tuple[tuple[int, int], ...]
) -> np.ndarray:
    """Random bars; cells out of reach are walled up, so every open cell can be met."""
    for _ in range(ATTEMPTS):
        walls = np.zeros((ROOM_SIZE, ROOM_SIZE), bool)
        for _ in range(rng.integers(*BARS)):
            row, column = rng.integers(ROOM_SIZE, size=2)
            length = rng.integers(*BAR_LENGTHS)
            if rng.random() < 0.5:
                walls[row, column : column + length] = True
            else:
                walls[row : row + length, column] = True
        regions = np.empty(walls.shape, np.int32)
        label(~walls, output=regions)
        met = {int(regions[joint]) for joint in joints}
        if len(met) == 1 and 0 not in met:
            return regions != met.pop()
    raise DomainError(
        f"generate_mazes: no room in {ATTEMPTS} attempts joins {joints}. "
        "Take another seed."
    )
