"""Pictures of docs/concepts/potential.md: Φ along a track, and the gate."""

from dataclasses import replace
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from look import panels
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

import policymix as pm
from policymix.core.networks import init_mlp
from policymix.reports.figures import thousands
from policymix.reports.palette import BLUE, GREY, SOURCE_COLOURS, SWEEP, VERMILLION
from policymix.sources.policies import GreedyPolicy
from policymix.training.run import new_run

PUSHES = ("full left", "half left", "half right", "full right")
HUES = (SWEEP[0], SWEEP[1], SWEEP[2], SWEEP[4])


class Pushes(NamedTuple):
    """Potential and weights along the track, and what each source would do."""

    positions: np.ndarray
    potential: np.ndarray
    weights: np.ndarray
    advice: np.ndarray
    """Index of every source's action."""
    right: np.ndarray


def pushes() -> Pushes:
    """The pole stands upright and tips to the right with 0.3 rad/s."""
    task = pm.load_task("cartpole")
    belief = pm.learn_belief(task.sources, pm.explore(task, samples=6_000))
    positions = np.linspace(-1.3, 1.3, 131, dtype=np.float32)
    states = np.zeros((len(positions), 4), np.float32)
    states[:, 0], states[:, 3] = positions, 0.3
    rows = jnp.asarray(states)
    advice = jax.vmap(task.sources.advise)(rows)
    find = task.right_source
    assert find is not None
    return Pushes(
        positions,
        np.asarray(jax.vmap(belief.potential)(rows)),
        belief.weights_of(states),
        np.asarray(advice).argmax(axis=2),
        np.asarray(jax.vmap(find)(rows)),
    )


def draw_pushes() -> Figure:
    """Weights above, Φ below."""
    found = pushes()
    names = pm.load_task("cartpole").sources.names
    figure, grid = panels(2, 1.9)
    top, bottom = grid[:, 0]
    top.stackplot(
        found.positions, found.weights.T, colors=SOURCE_COLOURS[:3], labels=names
    )
    top.set_title("Whom the mixture trusts …")
    top.set_ylabel("weight a(s)")
    used = [action for action in range(4) if found.potential[:, action].max() > 0.01]
    bottom.stackplot(
        found.positions,
        found.potential[:, used].T,
        colors=[HUES[action] for action in used],
        labels=[PUSHES[action] for action in used],
    )
    bottom.set_title("… and what it therefore advises")
    bottom.set(ylabel="Φ(s, a)", xlabel="position of the cart (m)")
    for axes in (top, bottom):
        axes.set(ylim=(0, 1), xlim=(-1.3, 1.3))
        axes.grid(False)
        axes.legend(
            loc="center left", bbox_to_anchor=(1.0, 0.5), handlelength=1, fontsize=9
        )
    return figure


# The gate, with good advice and with bad.


class Gate(NamedTuple):
    """Share of trials whose tests use advice and their mean score, by samples."""

    steps: list[int]
    shares: list[float]
    scores: list[float]


def gate(
    task: pm.TransferTask, method: str = "mars", trials: int = 10, steps: int = 20_000
) -> Gate:
    """What a method decides about the advice of a task's sources."""
    task = pm.prepare(task)
    settings = replace(
        task.domain.settings, steps=steps, evaluate_every=2_000, evaluation_episodes=5
    )
    run = new_run(task, method, settings, seed=0, trials=trials)
    found = Gate([], [], [])
    for pause in run.pauses():
        tested = jax.vmap(run.setup.method.leader.best)(run.loop.trials.behaviour)
        found.steps.append(pause.step)
        found.shares.append(float(np.mean(np.asarray(tested) == 0)))
        found.scores.append(pause.score)
    return found


def spoilt(task: pm.TransferTask) -> pm.TransferTask:
    """The same sources with random networks for policies."""
    networks = [init_mlp(jax.random.key(place), (4, 40, 40, 4)) for place in range(3)]
    sources = [
        replace(source, policy=GreedyPolicy(network, pm.encoders.Identity()))
        for source, network in zip(task.sources.sources, networks, strict=True)
    ]
    library = pm.SourceLibrary(sources, task.sources.spec, task.sources.encoder)
    return replace(task, sources=library)


def draw_gate() -> Figure:
    """How often advice counts above, what comes of it below."""
    task = pm.load_task("cartpole")
    figure, grid = panels(2, 2.1)
    top, bottom = grid[:, 0]
    for label, given, colour in (
        ("the shipped sources", task, BLUE),
        ("random policies", spoilt(task), VERMILLION),
    ):
        found = gate(given)
        top.plot(found.steps, found.shares, color=colour)
        bottom.plot(found.steps, found.scores, color=colour, label=label)
    alone = gate(task, "scratch")
    bottom.plot(alone.steps, alone.scores, color=GREY, label="no transfer")
    top.set(ylabel="share of trials", ylim=(-0.05, 1.05))
    top.set_title("Trials whose tests use advice")
    bottom.set(ylabel="steps balanced", xlabel="samples of the target", ylim=(0, 520))
    bottom.xaxis.set_major_formatter(FuncFormatter(thousands))
    bottom.set_title("Their mean test score")
    figure.legend(loc="outside lower center", ncols=3, handlelength=1, columnspacing=1)
    return figure


PICTURES = {
    "concepts-potential": draw_pushes,
    "concepts-gate": draw_gate,
}
