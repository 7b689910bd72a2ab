"""What the mixture believes during training: maps of one trial, rightness of all."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from policymix.domains.inventory.task import CAPACITY, MONTHS
from policymix.domains.maze.files import load_mazes
from policymix.environments.copies import copies_of
from policymix.environments.episodes import disturbed, play
from policymix.storage.folders import pack, read_arrays, read_manifest
from policymix.training.agent import TrainedAgent
from policymix.training.task import TransferTask

FORMAT, VERSION = "policymix snapshots", 1
SEED = 6_500_000
"""Of the episodes that are played to look at a mixture."""
EPISODES, POINTS = 10, 100
VELOCITIES = np.linspace(-0.5, 0.5, 5)
"""Figure 3 averages over these, of the cart and of the pole."""


class Axis(NamedTuple):
    """One side of a map."""

    label: str
    values: np.ndarray
    ticks: tuple[float, ...]


class Plane(NamedTuple):
    """A map over two numbers of a state."""

    x: Axis
    y: Axis
    note: str = ""
    """What became of the others."""


CART = Plane(
    Axis("cart position x (m)", np.linspace(-2.4, 2.4, 97), (-2, 0, 2)),
    Axis("pole angle (rad)", np.linspace(-0.2, 0.2, 33), (-0.2, 0, 0.2)),
    ", velocities averaged",
)
STORE = Plane(
    Axis("month", 1 + np.arange(MONTHS), (1, 5, 9)),
    Axis("stock", np.arange(CAPACITY + 1), (0, 10, 20)),
)
PLANES = {"cartpole": CART, "inventory": STORE, "inventory-unforeseen": STORE}
OWN_MODEL = "own model"
"""What the mixture's last component is called, if it has one more than sources."""

Arrays = dict[str, np.ndarray]


class Look(NamedTuple):
    """At all trials of a method, at one moment."""

    step: int
    arrays: Arrays


class Reference(NamedTuple):
    """States in which the right source is known."""

    states: np.ndarray
    right: np.ndarray


def reference(task: TransferTask) -> Reference | None:
    """States met when the right source always leads, with a tenth of random actions.

    They are the same for every method and moment, so that shares can be compared.
    """
    find = task.right_source
    if find is None:
        return None
    experts, target = task.sources.experts, task.domain.family().target

    def lead(obs: jax.Array) -> jax.Array:
        return jnp.argmax(experts.advise(obs)[find(obs)])

    leads = jax.jit(jax.vmap(lead))
    actions = copies_of(target, 1).num_actions
    policy = disturbed(lambda obs: np.asarray(leads(obs)), 0.1, actions, SEED)
    episodes = play(target, policy, EPISODES, SEED)
    states = np.concatenate([episode.obs[:-1] for episode in episodes])
    return Reference(states, np.asarray(jax.vmap(find)(jnp.asarray(states))))


def look(
    task: TransferTask,
    known: Reference | None,
    step: int,
    agents: Sequence[TrainedAgent],
) -> Look:
    """A map of the first agent's mixture, and how right each agent's is."""
    view = VIEWS.get(task.domain.name)
    arrays = {} if view is None else view(task, agents[0])
    if known is not None:
        trusted = [a.belief.weights_of(known.states).argmax(axis=1) for a in agents]
        arrays["right"] = np.mean(np.array(trusted) == known.right, axis=1)
    return Look(step, arrays)


def percent(weights: np.ndarray) -> np.ndarray:
    """Whole percents: enough for a picture."""
    return np.rint(100 * weights).astype(np.uint8)


def cells(task: TransferTask, agent: TrainedAgent) -> Arrays:
    """The weights in every cell of a maze."""
    del task
    count = load_mazes().target.walls.size
    return {"weights": percent(agent.belief.weights_of(np.arange(count)))}


def plane(task: TransferTask, agent: TrainedAgent) -> Arrays:
    """The weights over position and angle, averaged over velocities."""
    del task
    angle, position, cart, pole = np.meshgrid(
        CART.y.values, CART.x.values, VELOCITIES, VELOCITIES, indexing="ij"
    )
    obs = np.stack([position, cart, angle, pole], axis=-1).astype(np.float32)
    weights = agent.belief.weights_of(obs.reshape(-1, 4))
    return {"weights": percent(weights.reshape(*angle.shape, -1).mean(axis=(2, 3)))}


def store(task: TransferTask, agent: TrainedAgent) -> Arrays:
    """The weights for every stock and month."""
    del task
    months, stocks = len(STORE.x.values), len(STORE.y.values)
    weights = agent.belief.weights_of(np.arange(months * stocks))
    by_month = weights.reshape(months, stocks, -1)
    return {"weights": percent(by_month.swapaxes(0, 1))}


def paths(task: TransferTask, agent: TrainedAgent) -> Arrays:
    """Where the agent flies in test episodes, and what the mixture holds there."""
    episodes = play(task.domain.family().target, agent.predict, EPISODES, SEED)
    taken = [
        episode.obs[np.linspace(0, episode.length, POINTS).astype(int)]
        for episode in episodes
    ]
    weights = [agent.belief.weights_of(obs) for obs in taken]
    return {
        "places": np.stack([obs[:, :2] for obs in taken]).astype(np.float32),
        "weights": percent(np.stack(weights)),
        "scores": np.array([episode.total for episode in episodes]),
    }


VIEWS: dict[str, Callable[[TransferTask, TrainedAgent], Arrays]] = {
    "maze": cells,
    "cartpole": plane,
    "lander": paths,
    "inventory": store,
    "inventory-unforeseen": store,
}
"""How a domain's mixture is drawn."""


def files_of(task: TransferTask, looks: Sequence[Look]) -> dict[str, bytes]:
    """The files of a snapshots folder; none without looks."""
    if not looks:
        return {}
    arrays = {
        name: np.stack([look.arrays[name] for look in looks])
        for name in looks[0].arrays
    }
    names = list(task.sources.names)
    if "weights" in arrays and arrays["weights"].shape[-1] > len(names):
        names.append(OWN_MODEL)
    facts = {
        "domain": task.domain.name,
        "sources": names,
        "steps": [look.step for look in looks],
    }
    return pack(FORMAT, VERSION, facts, arrays)


def read(folder: Path) -> tuple[dict[str, Any], Arrays]:
    """What was seen: facts, and arrays whose first axis is time."""
    facts = read_manifest(folder, FORMAT, VERSION)
    return facts, read_arrays(folder, facts)
