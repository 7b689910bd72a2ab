"""The pictures of the concept and how-to pages, each drawn from what the library does.

    python docs/pictures.py [name …]

writes docs/images/NAME.png, all of them without a name. Every picture has two
functions: one finds its numbers, which tests/test_pictures.py asks the picture's claim
of, and one draws them.
"""

import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter

import policymix as pm
from policymix.beliefs.potentials import (
    EXPLICIT,
    LOOKAHEAD,
    REWARD,
    Form,
    bootstrap_action,
    decision_values,
    td_target,
)
from policymix.core.networks import init_mlp
from policymix.experiments.snapshots import CART
from policymix.reports.analysis import Measures, measure
from policymix.reports.figures import PRINT, thousands, whisker
from policymix.reports.palette import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    SOURCES,
    SWEEP,
    VERMILLION,
    style,
)
from policymix.reports.results import read_results
from policymix.sources.dynamics import CoveredDynamics
from policymix.sources.policies import GreedyPolicy
from policymix.training.setup import settings_of
from policymix.training.train import TrainingRun

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
PHONE = PRINT | {
    "font.size": 10.5,
    "axes.titlesize": 11,
    "axes.titlelocation": "left",
    "legend.fontsize": 10,
    "lines.linewidth": 2,
}
"""Readable when the 720 pixels of a picture are shown on 360."""
COLOURS = {"ice": BLUE, "sand": ORANGE, "own model": GREY}
FORMS = {"REWARD": REWARD, "LOOKAHEAD": LOOKAHEAD, "EXPLICIT": EXPLICIT}


def panels(count: int, height: float, columns: int = 1) -> tuple[Figure, np.ndarray]:
    """A narrow figure of so many rows, each so many inches high."""
    figure = Figure(figsize=(4.5, height * count), layout="constrained")
    return figure, figure.subplots(count, columns, squeeze=False, sharex="col")


# The strip of the concept pages: a push goes far on ice and not far on sand.


def push(size: float) -> Callable:
    """A simulator of a strip: action 0 pushes to the left, 1 to the right."""
    return lambda obs, action: obs + size * (2.0 * action - 1.0)


def strip_sources() -> pm.SourceLibrary:
    """On ice one goes left, on sand right, so that one sees who is listened to."""
    kernel = pm.Gaussian(50.0)
    return pm.SourceLibrary(
        [
            pm.SourceTask("ice", lambda obs: 0, push(0.5), kernel),
            pm.SourceTask("sand", lambda obs: 1, push(0.1), kernel),
        ],
        pm.TaskSpec(pm.Box((-1.0,), (1.0,)), pm.Discrete(2)),
    )


Steps = tuple[np.ndarray, np.ndarray, np.ndarray]


def strip_steps(far: Callable[[np.ndarray], np.ndarray]) -> Steps:
    """Two thousand steps of a strip on which a push goes `far(place)`."""
    rng = np.random.default_rng(0)
    obs = rng.uniform(-1, 1, (2_000, 1)).astype(np.float32)
    action = np.arange(len(obs)) % 2
    moved = far(obs) * (2.0 * action[:, None] - 1.0) + rng.normal(0, 0.02, obs.shape)
    return obs, action, (obs + moved).astype(np.float32)


class Idea(NamedTuple):
    """From predictions to advice, along the strip."""

    places: np.ndarray
    steps: Steps
    weights: np.ndarray
    potential: np.ndarray


def idea() -> Idea:
    """The target is like "ice" on the left and like "sand" on the right."""
    sources = strip_sources()
    steps = strip_steps(lambda obs: np.where(obs < 0, 0.5, 0.1))
    belief = pm.learn_belief(sources, steps, updates=500)
    places = np.linspace(-1, 1, 201, dtype=np.float32)[:, None]
    phi = jax.jit(jax.vmap(belief.potential))(places)
    return Idea(places[:, 0], steps, belief.weights_of(places), np.asarray(phi))


def draw_idea() -> Figure:
    """Predictions, weights and advice, one above the other."""
    found = idea()
    obs, action, next_obs = (column[:400] for column in found.steps)
    right = action == 1
    figure, grid = panels(3, 1.75)
    top, middle, bottom = grid[:, 0]
    moved = (next_obs - obs)[right, 0]
    top.plot(obs[right, 0], moved, ".", color="0.45", ms=4, label="the target")
    for name, size in (("ice", 0.5), ("sand", 0.1)):
        top.axhline(size, color=COLOURS[name], label=f"“{name}” predicts")
    top.set(ylim=(-0.05, 0.95), ylabel="move")
    top.set_title("1. A push to the right: who foresees it?")
    top.legend(ncols=3, loc="upper center", handlelength=1, columnspacing=1)
    for name, weight in zip(("ice", "sand"), found.weights.T, strict=True):
        middle.plot(found.places, weight, color=COLOURS[name], label=name)
    middle.set(ylabel="weight a(s)", ylim=(-0.05, 1.05))
    middle.set_title("2. So whom to trust where?")
    middle.legend(loc="center left")
    for name, colour, phi in zip(
        ("left, as “ice”", "right, as “sand”"),
        (GREEN, VERMILLION),
        found.potential.T,
        strict=True,
    ):
        bottom.plot(found.places, phi, color=colour, label=name)
    bottom.set(ylabel="Φ(s, a)", ylim=(-0.05, 1.05), xlabel="place on the strip")
    bottom.set_title("3. So which action is advised?")
    bottom.legend(loc="center left")
    return figure


# What a kernel makes of an error, and what coverage adds.


class Kernels(NamedTuple):
    """Log-likelihoods of errors."""

    errors: np.ndarray
    curves: dict[str, np.ndarray]


def kernels() -> Kernels:
    """Two precisions, and heavy tails."""
    errors = np.linspace(0, 0.5, 101)

    def curve(kernel: Callable) -> np.ndarray:
        zero = jnp.zeros(1)
        values = jax.vmap(lambda error: kernel(zero, error[None]))(jnp.array(errors))
        return np.asarray(values)

    return Kernels(
        errors,
        {
            "Gaussian(50)": curve(pm.Gaussian(50.0)),
            "Gaussian(500)": curve(pm.Gaussian(500.0)),
            "StudentT(500)": curve(pm.kernels.StudentT(500.0)),
        },
    )


class Coverage(NamedTuple):
    """Two models of the same physics, with and without what they have seen."""

    places: np.ndarray
    alone: np.ndarray
    covered: np.ndarray


def coverage() -> Coverage:
    """Both are right everywhere; each has seen one half of the strip only."""
    places = jnp.linspace(-1, 1, 201)[:, None]
    seen = np.linspace(-1, 0, 51, dtype=np.float32)[:, None]
    spec, kernel = strip_sources().spec, pm.Gaussian(50.0, normalised=False)

    def judged(models: Iterable[Callable]) -> np.ndarray:
        sources = [
            pm.SourceTask(name, lambda obs: 0, model, kernel)
            for name, model in zip(("left", "right"), models, strict=True)
        ]
        library = pm.SourceLibrary(sources, spec)
        right = jnp.ones(len(places), int)
        likely = jax.vmap(library.log_likelihoods)(places, right, places + 0.5)
        return np.asarray(likely)

    physics = push(0.5)
    halves = (seen, seen + 1.0)
    covered = [
        CoveredDynamics(physics, pm.encoders.Identity(), jnp.asarray(half))
        for half in halves
    ]
    return Coverage(
        np.asarray(places[:, 0]), judged([physics, physics]), judged(covered)
    )


def draw_kernels() -> Figure:
    """Kernels above, coverage below."""
    shapes, seen = kernels(), coverage()
    figure = Figure(figsize=(4.5, 5.0), layout="constrained")
    top, bottom = figure.subplots(2, 1)
    looks = ((BLUE, "-"), (VERMILLION, "-"), (VERMILLION, "--"))
    for (name, curve), (colour, dash) in zip(shapes.curves.items(), looks, strict=True):
        top.plot(shapes.errors, curve, color=colour, ls=dash, label=name)
    top.set(ylim=(-22, 4), xlabel="error of the prediction, r", ylabel="log ρ(r)")
    top.set_title("What an error costs")
    top.legend(loc="lower right")
    for name, colour, curve in zip(
        ("has seen the left", "has seen the right"),
        (GREEN, VERMILLION),
        seen.covered.T,
        strict=True,
    ):
        bottom.plot(seen.places, curve, color=colour, label=name)
    bottom.plot(seen.places, seen.alone[:, 0], color="0.3", ls=":", label="model alone")
    bottom.set(xlabel="place on the strip", ylabel="log-likelihood", ylim=(-52, 6))
    bottom.set_title("The same right model, with coverage")
    bottom.legend(loc="lower center")
    return figure


# The mixture of Transfer-CartPole while it learns.

MOMENTS = (0, 100, 500, 1_000, 5_000)


class Moments(NamedTuple):
    """Weights over positions at several moments, and the right source there."""

    sources: tuple[str, ...]
    positions: np.ndarray
    right: np.ndarray
    weights: dict[int, np.ndarray]


def moments() -> Moments:
    """The full run of `mars` with seed 0 that results/ keeps; angles averaged."""
    (results,) = read_results(ROOT / "results" / "cartpole" / "mars")
    seen = results.seen["mars"]
    maps = seen.arrays["weights"].mean(axis=1) / 100
    find = pm.load_task("cartpole").right_source
    assert find is not None
    positions = CART.x.values
    states = jnp.zeros((len(positions), 4)).at[:, 0].set(positions)
    return Moments(
        seen.sources,
        positions,
        np.asarray(jax.vmap(find)(states)),
        {moment: maps[seen.steps.index(moment)] for moment in MOMENTS},
    )


def draw_moments() -> Figure:
    """One band for each moment, the truth at the top."""
    found = moments()
    colours = SOURCES[: len(found.sources)]
    figure = Figure(figsize=(4.5, 5.6), layout="constrained")
    heights = [0.45] + [1.0] * len(MOMENTS)
    rows = figure.subplots(len(heights), 1, sharex=True, height_ratios=heights)
    truth = np.eye(len(found.sources))[found.right]
    titles = ["nearest push: the right source", *map(samples_title, MOMENTS)]
    bands = [truth, *found.weights.values()]
    for axes, title, weights in zip(rows, titles, bands, strict=True):
        axes.stackplot(found.positions, weights.T, colors=colours, lw=0)
        axes.set(ylim=(0, 1), yticks=(), xlim=(-2.4, 2.4))
        axes.grid(False)
        axes.set_title(title, fontsize=10)
    rows[-1].set_xlabel("position of the cart (m)")
    handles = [
        Patch(color=colour, label=name)
        for colour, name in zip(colours, found.sources, strict=True)
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=3)
    return figure


def samples_title(count: int) -> str:
    """How many samples."""
    return f"after {count:,} samples" if count else "before the first sample"


# One state, two sources, a target that is sometimes like the one.

SHARE = 0.75
COUNTS = (0, 4, 16, 64)


class Posterior(NamedTuple):
    """The exact belief about w after so many transitions of one state."""

    grid: np.ndarray
    densities: dict[int, np.ndarray]
    means: dict[int, float]
    network: float
    """The weight that the network finds in all of them."""


def posterior() -> Posterior:
    """Three transitions of four go as "ice" says, the fourth as "sand"."""
    spec = pm.TaskSpec(pm.Discrete(3), pm.Discrete(2))
    sources = pm.SourceLibrary(
        [
            pm.SourceTask("ice", np.full(3, 0), np.full((3, 2), 2), pm.Indicator()),
            pm.SourceTask("sand", np.full(3, 1), np.full((3, 2), 1), pm.Indicator()),
        ],
        spec,
    )
    most = max(COUNTS)
    next_obs = np.where(np.arange(most) % 4 == 3, 1, 2)
    steps = (np.zeros(most, int), np.zeros(most, int), next_obs)
    exact = pm.DirichletMixture(num_states=3, num_sources=2)
    grid = np.asarray(exact._lattice[:, 0])
    densities, means = {}, {}
    for count in COUNTS:
        state = exact.init(jax.random.key(0))
        if count:
            seen = pm.gather_evidence(sources, [column[:count] for column in steps])
            state, _ = jax.jit(exact.update)(state, seen)
        density = np.asarray(jax.nn.softmax(state[0])) * len(grid)
        densities[count] = density
        means[count] = float(exact.weights(state, jnp.array(0))[0])
    belief = pm.learn_belief(sources, steps, updates=2_000)
    network = float(belief.weights(jnp.array(0))[0])
    return Posterior(grid, densities, means, network)


def draw_posterior() -> Figure:
    """Densities with their means."""
    found = posterior()
    figure, grid = panels(1, 2.9)
    axes = grid[0, 0]
    for colour, count in zip(SWEEP[::-1], COUNTS, strict=False):
        density, middle = found.densities[count], found.means[count]
        order = np.argsort(found.grid)
        label = f"{count} transitions, mean {middle:.2f}"
        axes.plot(found.grid[order], density[order], color=colour, label=label)
        height = np.interp(middle, found.grid[order], density[order])
        axes.plot(middle, height, "o", color=colour)
    axes.axvline(found.network, color="0.4", ls=":", label="network's weight")
    axes.set(xlabel="share w of transitions like “ice”", ylabel="density", ylim=(0, 11))
    axes.set_title("What the exact mixture believes of one state")
    axes.legend(loc="upper left", fontsize=9)
    return figure


# A stretch that no source knows.


class Own(NamedTuple):
    """Weights of the sources and, last, of the target's own model."""

    places: np.ndarray
    weights: np.ndarray


def own_model() -> Own:
    """In the middle a push goes the other way, which neither source foresees."""
    sources = strip_sources()
    steps = strip_steps(
        lambda obs: np.select([obs < -0.33, obs > 0.33], [0.5, 0.1], -0.3)
    )
    encoder, kernel = pm.encoders.Identity(), pm.Gaussian(50.0)
    mixture = pm.WithOwnModel(
        pm.NetworkMixture(encoder, 3, 1, epochs=3), pm.OwnNetwork(encoder, kernel, 1, 2)
    )
    belief = pm.learn_belief(sources, steps, mixture=mixture, updates=3_000)
    places = np.linspace(-1, 1, 201, dtype=np.float32)[:, None]
    return Own(places[:, 0], belief.weights_of(places))


def draw_own_model() -> Figure:
    """The weights, stacked."""
    found = own_model()
    figure, grid = panels(1, 2.4)
    axes = grid[0, 0]
    axes.stackplot(
        found.places, found.weights.T, colors=list(COLOURS.values()), labels=COLOURS
    )
    axes.set(xlabel="place on the strip", ylabel="weight a(s)", ylim=(0, 1))
    axes.set(xlim=(-1, 1), xticks=(-1, -0.5, 0, 0.5, 1))
    axes.grid(False)
    axes.set_title("In the middle no source is right")
    figure.legend(loc="outside lower center", ncols=3)
    return figure


# Φ over the actions, along Transfer-CartPole's track.

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
    top.stackplot(found.positions, found.weights.T, colors=SOURCES[:3], labels=names)
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
    settings = replace(
        settings_of(task), steps=steps, evaluate_every=2_000, evaluation_episodes=5
    )
    work = TrainingRun.of(task, method, None, 0, trials, settings)
    moments: list[tuple[int, float, float]] = []
    for moment in work.run():
        memory = work.loop.trials.behaviour
        tested = np.asarray(jax.vmap(work.problem.method.leader.best)(memory))
        score = np.mean([row.score for row in moment.rows])
        moments.append((moment.step, float(np.mean(tested == 0)), float(score)))
    return Gate(*map(list, zip(*moments, strict=True)))


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


# The three forms.

RATE, UPDATES = 0.1, 60
ADVISED, OTHER = 0, 1


def two_actions(form: Form, rewards: tuple[float, float], scale: float) -> np.ndarray:
    """What is decided on after each update of one state with two final actions.

    The first action is the advised one; an update tries both.
    """
    phi, final = jnp.array([1.0, 0.0]), jnp.array(True)
    reward, nothing = jnp.array(rewards), jnp.array(0.0)

    def target(reward: jax.Array, phi: jax.Array) -> jax.Array:
        return td_target(form, reward, phi, nothing, nothing, 0.95, final, scale)

    def update(values: jax.Array, _: None) -> tuple[jax.Array, jax.Array]:
        values += RATE * (jax.vmap(target)(reward, phi) - values)
        return values, decision_values(form, values, phi, scale)

    _, decided = jax.lax.scan(update, jnp.zeros(2), length=UPDATES)
    return np.asarray(decided)


CASES = {"advice is right": (1.0, 0.8), "advice is wrong": (0.8, 1.0)}
"""Rewards of the advised action and of the other."""


def draw_two_actions() -> Figure:
    """Rows are forms, columns whether the advice is any good."""
    figure, grid = panels(3, 1.75, columns=2)
    for row, (name, form) in zip(grid, FORMS.items(), strict=True):
        for axes, rewards in zip(row, CASES.values(), strict=True):
            decided = two_actions(form, rewards, scale=0.5)
            axes.plot(decided[:, ADVISED], color=BLUE, label="advised action")
            axes.plot(decided[:, OTHER], color=VERMILLION, label="the other")
            axes.set(ylim=(0, 1.65), yticks=(0, 0.5, 1, 1.5))
            chosen = "advised" if decided[-1].argmax() == ADVISED else "other"
            axes.set_title(f"{name}: the {chosen}", fontsize=9.5)
        row[0].set_ylabel("decides on")
        row[1].set_yticklabels([])
    for axes, case in zip(grid[0], CASES, strict=True):
        place = {"transform": axes.transAxes, "weight": "bold", "fontsize": 10.5}
        axes.text(0, 1.28, case, **place)
    for axes in grid[-1]:
        axes.set_xlabel("updates")
    handles, labels = grid[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2)
    return figure


CELLS, SWEEPS = 6, 60
LEFT, RIGHT = 0, 1


def corridor(form: Form, advised: int, scale: float = 2.0) -> np.ndarray:
    """The greedy action of every cell after each sweep: [sweeps, cells].

    Going right from the last cell ends the episode with the only reward, 1. γ = 0.9.
    """
    cells = np.arange(CELLS)
    following = jnp.array([np.maximum(cells - 1, 0), np.minimum(cells + 1, CELLS - 1)])
    final = jnp.zeros((2, CELLS), bool).at[RIGHT, -1].set(True)
    phi = jnp.zeros((CELLS, 2)).at[:, advised].set(1.0)

    def target(values: jax.Array, cell: jax.Array, action: jax.Array) -> jax.Array:
        after, over = following[action, cell], final[action, cell]
        chosen = bootstrap_action(form, values[after], phi[after], scale)
        return td_target(
            *(form, over.astype(float), phi[cell, action]),
            *(values[after, chosen], phi[after, chosen], 0.9, over, scale),
        )

    each = jax.vmap(jax.vmap(target, (None, None, 0)), (None, 0, None))

    def sweep(values: jax.Array, _: None) -> tuple[jax.Array, jax.Array]:
        targets = each(values, jnp.asarray(cells), jnp.arange(2))
        values += 0.3 * (targets - values)
        return values, jnp.argmax(values + form.decision * scale * phi, axis=1)

    return np.asarray(jax.lax.scan(sweep, jnp.zeros((CELLS, 2)), length=SWEEPS)[1])


def draw_corridor() -> Figure:
    """The greedy action, cells upwards and sweeps to the right."""
    figure, grid = panels(3, 1.35, columns=2)
    colours = ListedColormap([VERMILLION, BLUE])
    sides = {"advice: to the goal": RIGHT, "advice: away": LEFT}
    for row, (name, form) in zip(grid, FORMS.items(), strict=True):
        for axes, advised in zip(row, sides.values(), strict=True):
            greedy = corridor(form, advised)
            axes.imshow(
                greedy.T, aspect="auto", origin="lower", cmap=colours, vmin=0, vmax=1
            )
            axes.set(yticks=(0, CELLS - 1), xticks=(0, 30, 59))
            axes.set_yticklabels(("1", "6"))
            axes.grid(False)
        row[0].set_ylabel(f"{name}\ncell", fontsize=9.5)
        row[1].set_yticklabels([])
    for axes, side in zip(grid[0], sides, strict=True):
        axes.set_title(side, fontsize=10)
    for axes in grid[-1]:
        axes.set_xlabel("sweeps")
    handles = [
        Patch(color=BLUE, label="goes to the goal"),
        Patch(color=VERMILLION, label="goes away"),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=2)
    return figure


# How-to pages: how many samples a mixture needs, and whether a method harms.

AMOUNTS = (50, 100, 200, 500, 1_000, 2_000, 5_000)


def amounts() -> dict[int, list[float]]:
    """Share of states with the right source on top, by transitions; five draws."""
    task = pm.load_task("cartpole")
    find = task.right_source
    assert find is not None
    exam = pm.explore(task, samples=2_000, seed=100).obs
    right = np.asarray(jax.vmap(find)(jnp.asarray(exam)))

    draws = [pm.explore(task, samples=max(AMOUNTS), seed=seed) for seed in range(5)]

    def share(amount: int, seed: int) -> float:
        rows = np.resize(np.arange(amount), max(AMOUNTS))
        known = [np.asarray(column)[rows] for column in draws[seed][:3]]
        belief = pm.learn_belief(task.sources, known, seed=seed)
        return float(np.mean(belief.weights_of(exam).argmax(axis=1) == right))

    return {amount: [share(amount, seed) for seed in range(5)] for amount in AMOUNTS}


def draw_amounts() -> Figure:
    """Every draw a dot, their mean a line."""
    found = amounts()
    figure, grid = panels(1, 2.6)
    axes = grid[0, 0]
    for amount, shares in found.items():
        axes.plot([amount] * 5, shares, "o", color=BLUE, alpha=0.35, mec="none")
    axes.plot(list(found), [np.mean(shares) for shares in found.values()], color=BLUE)
    axes.axhline(1 / 3, color="0.4", ls=":")
    axes.text(AMOUNTS[0], 0.35, "chance", color="0.3", fontsize=9)
    axes.set_xscale("log")
    axes.set_xticks(AMOUNTS, [f"{amount:,}" for amount in AMOUNTS], fontsize=9)
    axes.minorticks_off()
    axes.set(ylim=(0.3, 1.0), xlabel="transitions of the target")
    axes.set_title("States in which the right source is on top")
    return figure


COMPARED = ("mars", "mapse", "mars-reward", "scratch")


def harm() -> dict[str, Measures]:
    """What results/ says of some methods on Transfer-CartPole."""
    (results,) = read_results(ROOT / "results" / "cartpole")
    table = {row.method: row for row in measure(results)}
    return {name: table[name] for name in COMPARED}


def draw_harm() -> Figure:
    """Means of the run with intervals; the chance of harm in words."""
    found = harm()
    figure, grid = panels(1, 2.5)
    axes: Axes = grid[0, 0]
    for place, (name, row) in enumerate(reversed(found.items())):
        whisker(axes, row.area, place, style(name)[0])
        if row.harms is not None:
            told = f"P(negative transfer) {float(row.harms.estimate):.2f}"
            middle = float(row.area.estimate)
            side = "right" if middle > 250 else "left"
            axes.text(middle, place + 0.22, told, ha=side, fontsize=9)
    axes.set_yticks(range(len(found)), reversed(found))
    axes.set(xlim=(0, 520), ylim=(-0.5, len(found) - 0.3))
    axes.set_xlabel("steps balanced, mean of the run")
    axes.set_title("Interquartile means, 95 % intervals")
    return figure


PICTURES: dict[str, Callable[[], Figure]] = {
    "concepts-idea": draw_idea,
    "concepts-kernels": draw_kernels,
    "concepts-moments": draw_moments,
    "concepts-posterior": draw_posterior,
    "concepts-own-model": draw_own_model,
    "concepts-potential": draw_pushes,
    "concepts-gate": draw_gate,
    "concepts-forms": draw_two_actions,
    "concepts-corridor": draw_corridor,
    "howto-amounts": draw_amounts,
    "howto-harm": draw_harm,
}
"""By the name of the file."""


def main() -> None:
    """Draw what was asked for."""
    for name in sys.argv[1:] or PICTURES:
        started = time.perf_counter()
        with matplotlib.rc_context(PHONE):
            figure = PICTURES[name]()
            figure.savefig(IMAGES / f"{name}.png", dpi=160, metadata={"Software": None})
        print(f"{name}: {time.perf_counter() - started:.1f} s", flush=True)


if __name__ == "__main__":
    main()
