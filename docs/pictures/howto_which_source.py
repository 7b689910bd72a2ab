"""Pictures of docs/howto/which_source.md: how many samples a mixture needs."""

import jax
import jax.numpy as jnp
import numpy as np
from look import panels
from matplotlib.figure import Figure

import policymix as pm
from policymix.reports.palette import BLUE

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


PICTURES = {
    "howto-amounts": draw_amounts,
}
