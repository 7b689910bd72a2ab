"""What the mixture believes during training: maps of one trial, rightness of all."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from policymix.beliefs.own_model import OWN_MODEL
from policymix.core.types import Discrete
from policymix.environments.episodes import disturbed, play
from policymix.environments.registry import known_domain
from policymix.environments.study import Cells, Paths, View
from policymix.storage.folders import read_arrays, read_manifest
from policymix.storage.records import LARGEST, RecordError, blaming, conforms
from policymix.training.agent import TrainedAgent
from policymix.training.task import TransferTask

FORMAT, VERSION = "policymix snapshots", 1
LOOK_SEED = 6_500_000
"""Of the episodes that are played to look at a mixture."""
EPISODES, POINTS = 10, 100

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
    experts, target = task.sources.experts, task.domain.target
    space = experts.spec.action

    def lead(obs: jax.Array) -> jax.Array:
        advice = experts.advise(obs)[find(obs)]
        return jnp.argmax(advice) if isinstance(space, Discrete) else advice

    leads = jax.jit(jax.vmap(lead))
    policy = disturbed(lambda obs: np.asarray(leads(obs)), 0.1, space, LOOK_SEED)
    episodes = play(target, policy, EPISODES, LOOK_SEED)
    states = np.concatenate([episode.obs[:-1] for episode in episodes])
    return Reference(states, np.asarray(jax.vmap(find)(jnp.asarray(states))))


def look(
    task: TransferTask,
    known: Reference | None,
    step: int,
    agents: Sequence[TrainedAgent],
) -> Look:
    """A map of the first agent's mixture, and how right each agent's is."""
    view = task.domain.study.view
    arrays = {} if view is None else map_of(view, task, agents[0])
    if known is not None:
        trusted = [a.belief.weights_of(known.states).argmax(axis=1) for a in agents]
        arrays["right"] = np.mean(np.array(trusted) == known.right, axis=1)
    return Look(step, arrays)


def percent(weights: np.ndarray) -> np.ndarray:
    """Whole percents: enough for a picture."""
    return np.rint(100 * weights).astype(np.uint8)


def map_of(view: View, task: TransferTask, agent: TrainedAgent) -> Arrays:
    """The weights of one agent's mixture, as the domain wants them drawn."""
    if isinstance(view, Paths):
        return walked(task, agent)
    if isinstance(view, Cells):
        states = np.arange(view.walls().size)
        return {"weights": percent(agent.belief.weights_of(states))}
    states = view.states()
    weights = agent.belief.weights_of(states.reshape(-1, *states.shape[3:]))
    averaged = weights.reshape(*states.shape[:3], -1).mean(axis=2)
    return {"weights": percent(averaged)}


def walked(task: TransferTask, agent: TrainedAgent) -> Arrays:
    """Where the agent goes in test episodes, and what the mixture holds there."""
    episodes = play(task.domain.target, agent.predict, EPISODES, LOOK_SEED)
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


def stacked(looks: Sequence[Look]) -> Arrays:
    """All moments together: their axis is the first."""
    return {
        name: np.stack([look.arrays[name] for look in looks])
        for name in looks[0].arrays
    }


def snapshot_facts(
    task: TransferTask, steps: Sequence[int], arrays: Arrays
) -> dict[str, Any]:
    """What the arrays are about."""
    names = list(task.sources.names)
    if "weights" in arrays and arrays["weights"].shape[-1] > len(names):
        names.append(OWN_MODEL)
    return {"domain": task.domain.name, "sources": names, "steps": list(steps)}


def read_snapshots(folder: Path) -> tuple[dict[str, Any], Arrays]:
    """What was seen: facts, and arrays whose first axis is time."""
    facts = read_manifest(folder, FORMAT, VERSION)
    arrays = read_arrays(folder, facts)
    with blaming(folder, "arrays"):
        check_seen(facts, arrays)
    return facts, arrays


def check_seen(facts: dict[str, Any], arrays: Arrays) -> None:
    """Complain of what nobody can have seen: reports rely on it."""
    for name, kind in (("steps", list[int]), ("sources", list[str])):
        if not conforms(facts.get(name), kind) or not facts[name]:
            raise RecordError(name, f"not a {kind}")
    if facts["steps"] != sorted(set(facts["steps"])) or facts["steps"][0] < 0:
        raise RecordError("steps", "they do not grow")
    times, count = len(facts["steps"]), len(facts["sources"])
    expected = {
        "right": (times, -1),
        "trust": (times, -1, count),
        "visited": (-1,) * arrays.get("visited", np.zeros(0)).ndim,
        "places": (times, -1, -1, 2),
        "scores": (times, -1),
        "weights": (times, *drawn_of(facts, arrays), count),
    }
    for name, array in arrays.items():
        wanted = expected.get(name, ())
        free = tuple(
            -1 if w == -1 else n for w, n in zip(wanted, array.shape, strict=False)
        )
        if len(wanted) != array.ndim or free != wanted:
            raise RecordError(name, f"an array of the shape {array.shape}")
        if not np.all(np.isfinite(array)):
            raise RecordError(name, "its array holds NaN or infinity")


def drawn_of(facts: dict[str, Any], arrays: Arrays) -> tuple[int, ...]:
    """How many states are drawn: by what was written of a task, or by the domain.

    A task of one's own may have the name of a domain.
    """
    own = facts.get("view")
    if own is None:
        return drawn_by_domain(str(facts.get("domain")), arrays)
    if "cells" in own:
        if not 1 <= own["columns"] <= own["cells"] <= LARGEST:
            raise RecordError("view", f"{own!r:.99} is no grid")
        return (own["cells"],)
    size, (across, up) = len(own["labels"]), own["axes"]
    states = arrays["visited"].reshape(-1, size)
    if not (0 <= across < size and 0 <= up < size and conforms(own, dict[str, list])):
        raise RecordError("view", f"{own!r:.99} are no axes")
    return states.shape[:1]


def drawn_by_domain(name: str, arrays: Arrays) -> tuple[int, ...]:
    """The same where the task has no view of its own."""
    known = known_domain(name)
    view = None if known is None else known.study.view
    if view is None:
        return ()
    if isinstance(view, Paths):
        return arrays["places"].shape[1:-1]
    states = view.walls().ravel() if isinstance(view, Cells) else view.states()
    return states.shape[:2]
