"""The environments' names in Gymnasium; cheap to import, for it loads no domain."""

import gymnasium

ENTRY_POINTS = {
    "policymix/TransferMaze-v0": "policymix.environments.gymnasium:make_maze",
    "policymix/TransferCartPole-v0": "policymix.environments.gymnasium:make_cartpole",
    "policymix/TransferSparseLunarLander-v0": (
        "policymix.domains.lander.task:make_lander"
    ),
    "policymix/Inventory-v0": "policymix.environments.gymnasium:make_inventory",
    "policymix/TransferCheetah-v0": "policymix.domains.cheetah.task:make_cheetah",
}


def register_environments() -> None:
    """Make `gymnasium.make("policymix/…")` work; harmless when repeated.

    No time limit is given: horizons differ between variants, so the environments keep
    their own, and a limit from here would enforce it twice.
    """
    for name, entry_point in ENTRY_POINTS.items():
        if name not in gymnasium.registry:
            gymnasium.register(name, entry_point=entry_point)
