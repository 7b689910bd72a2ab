"""Pictures at the top of README.md: what `policymix demo` found, for light and dark."""

from functools import partial
from typing import Any, NamedTuple

import matplotlib
import numpy as np
from look import ROOT
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from policymix.environments.study import Cells
from policymix.reports.palette import BLUE, GREY, ORANGE, SOURCE_COLOURS
from policymix.reports.results import Results, read_results
from policymix.reports.statistics import standard_error

RUN = ROOT / "results" / "demo"
GLIMPSES = (0, 1_000, 2_000, 12_000)
LIMIT = 300
"""Steps after which a test is broken off."""
UNCLEAR = "0.62"


class Look(NamedTuple):
    """Colours of a page."""

    ink: str
    paper: str
    wall: str
    line: str


LIGHT = Look("#1f2328", "#ffffff", "#30363d", BLUE)
DARK = Look("#e6edf3", "#0d1117", "#262c36", "#58a6ff")


class Glimpse(NamedTuple):
    """One trial of mars after so many samples."""

    samples: int
    weights: np.ndarray
    """[cell, source], shares."""
    steps: float
    """To the goal, in the test of that moment."""


def demo() -> Results:
    """The run that is kept."""
    (results,) = read_results(RUN)
    return results


def glimpses(results: Results) -> list[Glimpse]:
    """What the first trial of mars trusted, and how well it did."""
    seen, curve = results.seen["mars"], results.curves["mars"]
    found = []
    for samples in GLIMPSES:
        weights = seen.arrays["weights"][seen.steps.index(samples)] / 100
        score = curve.scores[curve.steps.tolist().index(samples), 0]
        found.append(Glimpse(samples, weights, float(score)))
    return found


def helpless(results: Results) -> list[str]:
    """Methods that reach the goal in no test of any trial."""
    curves = results.curves.items()
    return [name for name, curve in curves if np.all(curve.scores >= LIMIT)]


def lit(weights: np.ndarray) -> np.ndarray:
    """Sources' colours, mixed; the less it is clear whom to trust, the greyer."""
    count = weights.shape[1]
    palette = np.array([to_rgb(colour) for colour in SOURCE_COLOURS[:count]])
    shares = weights / weights.sum(axis=1, keepdims=True)
    clear = (count * shares.max(axis=1, keepdims=True) - 1) / (count - 1)
    return clear * (shares @ palette) + (1 - clear) * np.array(to_rgb(UNCLEAR))


def draw_rooms(axes: Axes, view: Cells, moment: Glimpse, look: Look) -> None:
    """The maze in the colours of whom is trusted where."""
    walls = view.walls()
    colours = lit(moment.weights).reshape(*walls.shape, 3)
    axes.imshow(np.where(walls[..., None], to_rgb(look.wall), colours))
    for cell, mark, size in ((view.start(), "o", 5), (view.goal(), "*", 9)):
        row, column = divmod(cell, walls.shape[1])
        axes.plot(column, row, mark, ms=size, mfc="white", mec="black", mew=0.8)
    axes.set(xticks=[], yticks=[])
    axes.spines[:].set_visible(False)
    when = (
        f"{moment.samples:,} samples" if moment.samples else "before the first sample"
    )
    done = "goal not reached"
    if moment.steps < LIMIT:
        done = f"goal in {moment.steps:.0f} steps"
    axes.set_title(f"{when}\n{done}", fontsize=10.5, loc="center")


def draw_curves(axes: Axes, results: Results, look: Look) -> None:
    """Steps to the goal while learning: the mean of all trials and its error."""
    axes.axhline(LIMIT, color=ORANGE, lw=2.4)
    styles = {"scratch-replay": (GREY, "--", 2.4), "mars": (look.line, "-", 3.0)}
    for name, (colour, dashes, width) in styles.items():
        curve = results.curves[name]
        middle, error = curve.scores.mean(axis=1), standard_error(curve.scores)
        axes.plot(curve.steps, middle, dashes, color=colour, lw=width)
        low, high = middle - error, middle + error
        axes.fill_between(curve.steps, low, high, color=colour, alpha=0.25, lw=0)
    last = int(results.curves["mars"].steps[-1])
    never = "each source alone, their vote, plain Q-learning: never"
    ours = "policymix: learns whom to trust in which room"
    for side, x, y, text, colour in (
        ("right", last, 306, never, look.ink),
        ("left", 4_900, 108, ours, look.line),
        ("right", 8_700, 225, "no transfer, at its best", look.ink),
    ):
        axes.text(x, y, text, color=colour, ha=side, va="bottom", fontsize=11)
    ticks = range(0, last + 1, 2_000)
    axes.set(xlim=(0, last), ylim=(70, 335), yticks=(86, 200, LIMIT))
    axes.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
    axes.set(xlabel="samples of the new task", ylabel="steps to the goal")


def draw_demo(look: Look) -> Figure:
    """Four moments above, learning curves below."""
    inked = ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color")
    plain: Any = dict.fromkeys((*inked, "ytick.color"), look.ink)
    plain |= dict.fromkeys(("figure.facecolor", "axes.facecolor"), look.paper)
    with matplotlib.rc_context(plain | {"axes.grid": False, "font.size": 11}):
        figure = Figure(figsize=(10, 6.1), layout="constrained")
        parts = figure.subfigures(2, 1, squeeze=False, height_ratios=(1.35, 1))
        above, below = parts.flat
        results = demo()
        view = results.study.view
        assert isinstance(view, Cells)
        panels = above.subplots(1, len(GLIMPSES))
        for axes, moment in zip(panels, glimpses(results), strict=True):
            draw_rooms(axes, view, moment, look)
        colours = dict(zip(results.source_names, SOURCE_COLOURS, strict=False))
        key = {"trusted: nobody yet": UNCLEAR}
        key |= {f"{name} source": colour for name, colour in colours.items()}
        handles = [Patch(color=colour, label=name) for name, colour in key.items()]
        above.legend(handles=handles, loc="outside lower center", ncols=len(key))
        draw_curves(below.subplots(), results, look)
    return figure


PICTURES = {"demo": partial(draw_demo, LIGHT), "demo-dark": partial(draw_demo, DARK)}
