"""Pictures of docs/concepts/mixture.md: a mixture that learns, exactly or not."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from look import ROOT, panels
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from strip import COLOURS, strip_sources, strip_steps

import policymix as pm
from policymix.beliefs.belief import gather_evidence
from policymix.beliefs.dirichlet import DirichletMixture
from policymix.beliefs.network import NetworkMixture
from policymix.beliefs.own_model import OwnNetwork, WithOwnModel
from policymix.domains.cartpole.experiment import POSITION
from policymix.reports.palette import SOURCE_COLOURS, SWEEP
from policymix.reports.results import read_results

MOMENTS = (0, 100, 500, 1_000, 5_000)


class Moments(NamedTuple):
    """Weights over positions at several moments, and the right source there."""

    sources: tuple[str, ...]
    positions: np.ndarray
    right: np.ndarray
    weights: dict[int, np.ndarray]


def moments() -> Moments:
    """The full run of `mars` with seed 0 that results/paper keeps; angles averaged."""
    (results,) = read_results(ROOT / "results" / "paper" / "cartpole" / "mars")
    seen = results.seen["mars"]
    maps = seen.arrays["weights"].mean(axis=1) / 100
    find = pm.load_task("cartpole").right_source
    assert find is not None
    positions = POSITION.values
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
    colours = SOURCE_COLOURS[: len(found.sources)]
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
    exact = DirichletMixture(num_states=3, num_sources=2)
    grid = np.asarray(exact._lattice[:, 0])
    densities, means = {}, {}
    for count in COUNTS:
        state = exact.init(jax.random.key(0))
        if count:
            seen = gather_evidence(sources, [column[:count] for column in steps])
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
    mixture = WithOwnModel(
        NetworkMixture(encoder, 3, 1, epochs=3), OwnNetwork(encoder, kernel, 1, 2)
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


PICTURES = {
    "concepts-moments": draw_moments,
    "concepts-posterior": draw_posterior,
    "concepts-own-model": draw_own_model,
}
