"""Figures of learning curves, sweeps and summaries, for print: PNG and PDF."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from policymix.core.pictures import Picture
from policymix.experiments.plans import FORMS, YARDSTICKS
from policymix.reports.analysis import measure, profiles
from policymix.reports.palette import SWEEP, style
from policymix.reports.results import Results
from policymix.reports.statistics import Interval, mean, standard_error
from policymix.storage.runs import Curve

PRINT: Any = {
    "font.size": 9,
    "axes.titlesize": 9.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "0.9",
    "legend.frameon": False,
    "legend.fontsize": 8,
    "pdf.fonttype": 42,
    "text.parse_math": False,
}
"""Readable at the width of a page; fonts stay text in the PDF, and $ in a name a $."""
SWEPT = {
    "mapse_reuse": "MAPSE, reuse p (p_t = p^episode)",
    "ucb_reuse": "UCB, reuse p (p_t = p^episode)",
    "exit_rate": "CAPS, learning rate of the termination",
}


DPI = 160
"""Of the PNGs."""


def write_figure(folder: Path, name: str, make: Callable[[], Figure]) -> Path:
    """Make a figure and write it as PNG and PDF, the same bytes every time."""
    with matplotlib.rc_context(PRINT):
        figure = make()
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{name}.png"
        figure.savefig(path, dpi=DPI, metadata={"Software": None})
        figure.savefig(path.with_suffix(".pdf"), metadata={"CreationDate": None})
    return path


def thousands(value: Any, place: Any = None) -> str:
    """5000 as 5K."""
    del place
    return f"{value / 1000:g}K" if abs(value) >= 1000 else f"{value:g}"


def name_axes(axes: Axes, results: Results) -> None:
    """Label an axis of learning curves."""
    measure = results.facts["measure"]
    axes.set(xlabel="samples of the target", ylabel=f"{measure} (test)")
    axes.xaxis.set_major_formatter(FuncFormatter(thousands))
    if results.study.linear is not None:
        axes.set_yscale("symlog", linthresh=results.study.linear)
        axes.yaxis.set_major_formatter(FuncFormatter(thousands))
        axes.set_ylim(bottom=0)
    axes.margins(x=0.01)


def dashes(pattern: str) -> Any:
    """An SVG dash pattern as matplotlib's."""
    return (0, tuple(float(part) for part in pattern.split())) if pattern else "-"


def plot(axes: Axes, curve: Curve, label: str, colour: str, pattern: str = "") -> None:
    """A method's scores."""
    plot_trials(axes, curve.steps, curve.scores, label, colour, pattern)


def plot_trials(
    axes: Axes,
    steps: np.ndarray,
    values: np.ndarray,
    label: str,
    colour: str,
    pattern: str = "",
) -> None:
    """Mean over trials with a band of one standard error."""
    middle, error = mean(values), standard_error(values)
    axes.plot(steps, middle, color=colour, ls=dashes(pattern), lw=1.4, label=label)
    if np.isfinite(error).all():
        low, high = middle - error, middle + error
        axes.fill_between(steps, low, high, color=colour, alpha=0.18, lw=0)


def band(results: Results) -> str:
    """What the line and the band are."""
    return f"mean ± standard error of {results.facts['trials']} trials, not smoothed"


def panels_of(results: Results) -> dict[str, list[str]]:
    """The paper's methods, and what goes beyond them."""
    beyond = {*FORMS, *YARDSTICKS}
    paper = [name for name in results.curves if name not in beyond]
    extra = [name for name in results.curves if name in beyond]
    return {
        "the paper's methods": paper,
        "forms of MARS and yardsticks": ["mars", *extra] if extra else [],
    }


def curves(results: Results) -> Picture:
    """Figure 2 of the paper, and beside it what the paper does not have."""
    parts = {title: names for title, names in panels_of(results).items() if names}
    figure = Picture(figsize=(3.6 * len(parts) + 1.2, 4.2), layout="constrained")
    panels = figure.subplots(1, len(parts), squeeze=False)[0]
    for axes, (title, names) in zip(panels, parts.items(), strict=True):
        for name in sorted(names, key=lambda name: name == "mars"):
            if name in results.curves:
                plot(axes, results.curves[name], name, *style(name))
        name_axes(axes, results)
        if not results.own:
            axes.set_title(title)
        axes.legend(ncols=3, loc="upper center", bbox_to_anchor=(0.5, -0.18))
    figure.suptitle(f"{results.title}: {band(results)}", fontsize=10)
    return figure


def sweeps(results: Results) -> Figure:
    """The paper's appendix: the values of one setting, for each method that has one."""
    count = len(results.sweeps)
    usual = " (the paper's)" if results.study.paper else " (ours)"
    figure = Figure(figsize=(3.4 * count + 0.4, 3.2), layout="constrained")
    panels = figure.subplots(1, count, squeeze=False, sharey=True)[0]
    for axes, (key, values) in zip(panels, results.sweeps.items(), strict=True):
        own = results.facts["settings"][key[1]]
        for colour, (value, curve) in zip(SWEEP, values.items(), strict=False):
            label = f"{value:g}" + (usual if value == own else "")
            plot(axes, curve, label, colour)
        name_axes(axes, results)
        axes.set_title(SWEPT.get(key[1], key[1]))
        axes.legend(loc="best")
    figure.suptitle(f"{results.title}: {band(results)}", fontsize=10)
    return figure


def summary(results: Results) -> Figure:
    """Areas with their intervals, and performance profiles."""
    figure = Figure(figsize=(9.8, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    rows = measure(results)[::-1]
    for place, row in enumerate(rows):
        whisker(left, row.area, place, style(row.method)[0])
    left.set_yticks(range(len(rows)), [row.method for row in rows])
    worse = "lower" if results.sign < 0 else "higher"
    left.set_xlabel(f"{results.facts['measure']}, mean of the run ({worse} is better)")
    trials = results.facts["trials"]
    left.set_title(f"interquartile mean of {trials} trials, 95 % interval")
    thresholds = np.linspace(0, 1, 101)
    for name, share in profiles(results, thresholds).items():
        colour, pattern = style(name)
        line = {"color": colour, "ls": dashes(pattern), "lw": 1.3, "label": name}
        right.plot(thresholds, share.estimate, **line)
    right.set(
        xlabel="mean of the run: 0 = start of no transfer, 1 = best end",
        ylabel="share of trials at least as good",
        ylim=(-0.02, 1.02),
    )
    right.set_title("performance profile")
    figure.legend(loc="outside right upper")
    figure.suptitle(results.title, fontsize=10)
    return figure


def whisker(axes: Axes, bounds: Interval, place: int, colour: str) -> None:
    """A point with its interval."""
    low, high = float(bounds.low), float(bounds.high)
    axes.plot([low, high], [place, place], color=colour, lw=3, alpha=0.45)
    axes.plot(float(bounds.estimate), place, "o", color=colour, ms=5)


def rightness(results: Results) -> Figure:
    """In how many states the most trusted source is the right one, over time."""
    figure = Figure(figsize=(5.6, 3.0), layout="constrained")
    axes = figure.subplots()
    steps = np.array(next(iter(results.seen.values())).steps)
    for name in sorted(results.seen, key=lambda name: name == "mars"):
        seen = results.seen[name]
        shares = 100 * seen.arrays["right"]
        plot_trials(axes, np.array(seen.steps), shares, name, *style(name))
    chance = 100 / len(results.facts["sources"])
    axes.axhline(chance, color="0.4", lw=0.8, ls=":")
    axes.set_xscale("symlog", linthresh=steps[1] if len(steps) > 1 else 1)
    axes.set_xticks([t for t in results.study.shown if t <= steps[-1]])
    axes.minorticks_off()
    axes.set(
        xlim=(0, steps[-1]),
        ylim=(0, 102),
        xlabel="samples of the target (log scale)",
        ylabel="right source trusted (% of states)",
    )
    axes.xaxis.set_major_formatter(FuncFormatter(thousands))
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    trials = results.facts["trials"]
    band = f"mean ± standard error of {trials} trials; dotted: chance"
    figure.suptitle(f"{results.title}: {band}", fontsize=10)
    return figure
