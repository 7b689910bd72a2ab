"""Pictures of docs/concepts/forms.md: what the three forms of MARS decide on."""

import jax
import jax.numpy as jnp
import numpy as np
from look import panels
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from policymix.beliefs.potentials import (
    EXPLICIT,
    LOOKAHEAD,
    REWARD,
    Form,
    bootstrap_action,
    decision_values,
    td_target,
)
from policymix.reports.palette import BLUE, VERMILLION

FORMS = {"REWARD": REWARD, "LOOKAHEAD": LOOKAHEAD, "EXPLICIT": EXPLICIT}

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
            form,
            over.astype(float),
            phi[cell, action],
            values[after, chosen],
            phi[after, chosen],
            discount=0.9,
            terminated=over,
            scale=scale,
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


PICTURES = {
    "concepts-forms": draw_two_actions,
    "concepts-corridor": draw_corridor,
}
