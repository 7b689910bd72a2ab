"""The maze of the demonstration: few samples, and many looks at the mixture."""

from dataclasses import replace

from policymix.domains.maze.experiment import MAZE

SINGLES = tuple(f"phi{place}" for place in (1, 2, 3, 4))
LOOKS = (
    *(0, 250, 500, 750, 1_000, 1_500, 2_000, 2_500, 3_000, 4_000),
    *(5_000, 6_000, 8_000, 10_000, 12_000),
)
MAZE_DEMO = replace(
    MAZE,
    name="maze-demo",
    home=MAZE.name,
    trainer=None,
    settings=replace(MAZE.settings, steps=12_000, evaluate_every=500),
    study=replace(
        MAZE.study,
        about=(
            "A maze of four rooms that must all be crossed, in 86 steps at best. Each "
            "of four sources knows another maze, of which one room is like here: its "
            "policy is right in that room and leads into walls elsewhere. Nobody tells "
            "the learner which source is right where."
        ),
        trials=10,
        quick=(10, None),
        looks=LOOKS,
        shown=(0, 250, 1_000, 2_000, 5_000, 12_000),
        sweeps={},
        methods=("mars", *SINGLES, "vote", "scratch", "scratch-replay"),
        claims=("right-source", "beats-all", "no-source-suffices", "stands-alone"),
        solved=(90.0, 6_000),
    ),
)
"""90 steps count as solved, as in `advice`."""
