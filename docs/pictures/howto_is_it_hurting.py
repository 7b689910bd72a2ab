"""Pictures of docs/howto/is_it_hurting.md: methods that help and methods that harm."""

from look import ROOT, panels
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from policymix.reports.analysis import Measures, measure
from policymix.reports.figures import whisker
from policymix.reports.palette import style
from policymix.reports.results import read_results

COMPARED = ("mars", "mapse", "ucb", "mars-reward", "scratch")


def harm() -> dict[str, Measures]:
    """What results/paper says of some methods on Transfer-CartPole."""
    (results,) = read_results(ROOT / "results" / "paper" / "cartpole")
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


PICTURES = {
    "howto-harm": draw_harm,
}
