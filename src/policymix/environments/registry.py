"""The domains by name, and the environments' names in Gymnasium; loads neither.

A name stands for a place, "module:object", which is imported when it is asked for.
"""

from importlib import import_module
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

from policymix.core.errors import DomainError, did_you_mean

if TYPE_CHECKING:
    from policymix.environments.domain import Domain

DOMAINS: "dict[str, str | Domain]" = {
    "maze": "policymix.domains.maze.experiment:MAZE",
    "cartpole": "policymix.domains.cartpole.experiment:CARTPOLE",
    "lander": "policymix.domains.lander.experiment:LANDER",
    "inventory": "policymix.domains.inventory.experiment:INVENTORY",
    "inventory-unforeseen": "policymix.domains.inventory.experiment:UNFORESEEN",
    "maze-demo": "policymix.domains.maze.demo:MAZE_DEMO",
    "maze-spoilt-0": "policymix.domains.maze.advice:SPOILT_0",
    "maze-spoilt-5": "policymix.domains.maze.advice:SPOILT_5",
    "maze-spoilt-20": "policymix.domains.maze.advice:SPOILT_20",
    "maze-spoilt-50": "policymix.domains.maze.advice:SPOILT_50",
    "maze-spoilt-100": "policymix.domains.maze.advice:SPOILT_100",
    "maze-wrong-rooms": "policymix.domains.maze.advice:WRONG_ROOMS",
    "cartpole-weak": "policymix.domains.cartpole.advice:WEAK",
    "cartpole-unselected": "policymix.domains.cartpole.advice:UNSELECTED",
    "cartpole-random": "policymix.domains.cartpole.advice:RANDOM",
    "cartpole-useless": "policymix.domains.cartpole.advice:USELESS",
    "cartpole-ones": "policymix.domains.cartpole.advice:ONES",
    "cartpole-cents": "policymix.domains.cartpole.advice:CENTS",
    "cartpole-dollars": "policymix.domains.cartpole.advice:DOLLARS",
    "inventory-wrong-cost": "policymix.domains.inventory.advice:WRONG_COST",
    "lander-weak": "policymix.domains.lander.advice:WEAK",
    "acrobot": "policymix.domains.acrobot.experiment:ACROBOT",
    **{
        f"acrobot-{place}": f"policymix.domains.acrobot.experiment:INSTANCE_{place}"
        for place in range(10)
    },
    "pendulum": "policymix.domains.pendulum.experiment:PENDULUM",
    "cheetah": "policymix.domains.cheetah.experiment:CHEETAH",
    "cheetah-useless": "policymix.domains.cheetah.advice:USELESS",
    "lander-model": "policymix.domains.lander.likelihood:MODEL",
    "lander-coverage": "policymix.domains.lander.likelihood:COVERAGE",
    "lander-prior": "policymix.domains.lander.likelihood:PRIOR",
}
"""`register_domain` adds to them."""
SHIPPED = tuple(DOMAINS)
GROUPS = {
    "paper": ("maze", "cartpole", "lander"),
    "inventory": ("inventory", "inventory-unforeseen"),
    "advice": (
        *("maze-spoilt-0", "maze-spoilt-5", "maze-spoilt-20", "maze-spoilt-50"),
        *("maze-spoilt-100", "maze-wrong-rooms"),
        *("cartpole-weak", "cartpole-random", "cartpole-useless"),
        *("cartpole-ones", "cartpole-cents", "cartpole-dollars"),
        *("inventory-wrong-cost", "lander-weak"),
    ),
    "acrobot": tuple(f"acrobot-{place}" for place in range(10)),
    "likelihood": ("lander-model", "lander-coverage", "lander-prior"),
    "unselected": ("cartpole-unselected",),
}
"""Folders of results and their experiments: the paper's, both inventories, kinds of
imperfect advice, ten machines of another paper's table, the lander's likelihood taken
apart, and CartPole with policies as training left them."""
EVERYTHING = "all"
"""All groups, each in a folder of its own."""
EXAMPLE = "cartpole"
"""What the examples of the command line show."""
DEMO = "maze-demo"
"""What the demonstration shows."""
ABOUT = {
    "maze, cartpole, lander": "the paper's",
    "maze-demo": "what `policymix demo` shows: the maze, few samples",
    "inventory, inventory-unforeseen": "seasonal demand; scored by regret",
    "cartpole-unselected, maze-spoilt-5, …": "imperfect advice: `reproduce -h`",
    "acrobot, acrobot-0, …, acrobot-9": "double pendulums of drawn physics",
    "pendulum": "continuous actions: swing up in a wind that turns at the top",
    "cheetah, cheetah-useless": "MuJoCo's runner, gravity by place",
}
ENVIRONMENTS = {
    "policymix/TransferMaze-v0": "policymix.domains.maze.picture:make_maze",
    "policymix/TransferCartPole-v0": "policymix.domains.cartpole.picture:make_cartpole",
    "policymix/TransferSparseLunarLander-v0": (
        "policymix.domains.lander.picture:make_lander"
    ),
    "policymix/Inventory-v0": "policymix.domains.inventory.picture:make_inventory",
    "policymix/TransferAcrobot-v0": "policymix.domains.acrobot.picture:make_acrobot",
    "policymix/TransferPendulum-v0": (
        "policymix.domains.pendulum.picture:make_pendulum"
    ),
    "policymix/TransferCheetah-v0": "policymix.domains.cheetah.task:make_cheetah",
}
PLUGINS = "policymix.domains"
"""Entry points of installed packages: name = "module:object", a `Domain`."""


def load(place: str) -> Any:
    """The object that "module:object" names."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)


def domain_names() -> tuple[str, ...]:
    """All that can be asked for, those of installed packages included."""
    for plugin in entry_points(group=PLUGINS):
        DOMAINS.setdefault(plugin.name, plugin.value)
    return tuple(DOMAINS)


def find_domain(name: str) -> "Domain":
    """The domain of that name."""
    if name not in DOMAINS and name not in domain_names():
        raise DomainError(
            f"there is no domain {name!r}: choose {', '.join(DOMAINS)}."
            f"{did_you_mean(name, DOMAINS)} A task of your own is given as "
            "TransferTask(target, sources), or as the file that defines it"
        )
    found = DOMAINS[name]
    if isinstance(found, str):
        found = DOMAINS[name] = load(found)
    return found


def known_domain(name: str) -> "Domain | None":
    """The same, or None: the name may be that of a user's own target."""
    return find_domain(name) if name in domain_names() else None


def register_domain(domain: "Domain") -> None:
    """Make a domain known by its name: to `load_task`, the command line and reports.

    A domain of the same name that was registered before is replaced, so that a notebook
    cell can be run again; those of the package are not.
    """
    if domain.name in SHIPPED:
        raise DomainError(
            f"{domain.name!r} is a domain of the package. Give yours another name"
        )
    DOMAINS[domain.name] = domain


def register_environments() -> None:
    """Make `gymnasium.make("policymix/…")` work; harmless when repeated.

    No time limit is given: horizons differ between variants, so the environments keep
    their own, and a limit from here would enforce it twice.
    """
    import gymnasium

    for name, place in ENVIRONMENTS.items():
        if name not in gymnasium.registry:
            gymnasium.register(name, entry_point=place)
