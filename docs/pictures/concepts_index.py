"""Pictures of docs/concepts/index.md: the idea, along a strip."""

from typing import NamedTuple

import jax
import numpy as np
from look import panels
from matplotlib.figure import Figure
from strip import COLOURS, Steps, strip_sources, strip_steps

import policymix as pm
from policymix.reports.palette import GREEN, VERMILLION


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


PICTURES = {
    "concepts-idea": draw_idea,
}
