"""Figures of the mixture during training (figure 3) and of the tasks (figure 4)."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection
from matplotlib.colors import Normalize, to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from policymix.environments.study import Cells, Paths, Plane, Points
from policymix.reports.figures import thousands
from policymix.reports.palette import SOURCE_COLOURS
from policymix.reports.results import Results, Seen

Size = tuple[float, float]
PERCENT = Normalize(0, 100)
BAR = ScalarMappable(PERCENT, "cividis")
MOST_COLUMNS = 7
"""Moments of a figure, where nobody has chosen some."""
NARROWEST = 4.5
"""Inches of a figure, for its title."""


def mixture(results: Results) -> Figure:
    """Figure 3 of the paper for one domain: columns are moments."""
    method, view = results.believer, results.view
    assert method is not None, f"{results.domain} has no mixture to draw"
    seen = results.seen[method]
    stride = -(-len(seen.steps) // MOST_COLUMNS)
    wanted = results.study.shown or seen.steps[::-stride]
    times = [place for place, time in enumerate(seen.steps) if time in wanted]
    if isinstance(view, Cells):
        figure = cells(view, seen, times)
    elif isinstance(view, Plane):
        figure = plane(view, seen, times)
    elif isinstance(view, Points):
        figure = points(view, seen, times)
    else:
        assert isinstance(view, Paths), f"{results.domain} has nothing to draw"
        figure = paths(view, seen, times)
    seed = results.facts["seed"]
    title = f"{results.title}: mixture of {method}, one trial (seed {seed})"
    figure.suptitle(title, fontsize=10)
    return figure


def grid_of(rows: int, columns: int, size: Size) -> tuple[Figure, np.ndarray]:
    """A figure of so many axes without ticks, each so many inches wide and high."""
    width, height = size
    whole = max(width * columns + 1, NARROWEST), height * rows + 0.3
    figure = Figure(figsize=whole, layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False)
    for axes in panels.flat:
        axes.grid(False)
        axes.set(xticks=[], yticks=[])
    return figure, panels


def name_sides(figure: Figure, across: str, up: str) -> None:
    """Once for all panels: under each of them names would run into their neighbours."""
    figure.supxlabel(across, fontsize=8.5)
    figure.supylabel(up, fontsize=8.5)


def heading(axes: Axes, seen: Seen, place: int) -> None:
    """How many samples."""
    axes.set_title(f"{thousands(seen.steps[place])} samples", fontsize=8.5)


def cells(view: Cells, seen: Seen, places: list[int]) -> Figure:
    """A heat-map of the grid for each source."""
    walls = view.walls()
    figure, panels = grid_of(len(seen.sources), len(places), (1.25, 1.25))
    for column, place in enumerate(places):
        heading(panels[0, column], seen, place)
        for row, name in enumerate(seen.sources):
            # Beyond the last of numbered states there is nothing, as in a wall.
            weights = np.resize(seen.arrays["weights"][place, :, row], walls.shape)
            axes = panels[row, column]
            shown = np.ma.masked_where(walls, weights)
            axes.imshow(shown, norm=PERCENT, cmap="cividis")
            axes.set_facecolor("0.75")
            if column == 0:
                axes.set_ylabel(name, fontsize=8.5)
    figure.colorbar(BAR, ax=panels, shrink=0.6, label="weight a(s), %")
    return figure


def plane(sides: Plane, seen: Seen, places: list[int]) -> Figure:
    """A heat-map for each source over two numbers of a state."""
    figure, panels = grid_of(len(seen.sources), len(places), (1.5, 1.2))
    extent = (*edges(sides.x.values), *edges(sides.y.values))
    for column, place in enumerate(places):
        heading(panels[0, column], seen, place)
        for row, name in enumerate(seen.sources):
            axes = panels[row, column]
            weights = seen.arrays["weights"][place, :, :, row]
            axes.imshow(
                weights,
                norm=PERCENT,
                extent=extent,
                origin="lower",
                aspect="auto",
                cmap="cividis",
            )
            if column == 0:
                axes.set(yticks=sides.y.ticks)
                axes.set_ylabel(name, fontsize=8.5)
            if row == len(seen.sources) - 1:
                axes.set(xticks=sides.x.ticks)
    name_sides(figure, sides.x.label, sides.y.label)
    figure.colorbar(BAR, ax=panels, shrink=0.8, label=f"weight a(s), %{sides.note}")
    return figure


def points(view: Points, seen: Seen, places: list[int]) -> Figure:
    """Visited states, a row for each source."""
    figure, panels = grid_of(len(seen.sources), len(places), (1.5, 1.2))
    states = seen.arrays["visited"].reshape(-1, len(view.labels))
    across, up = (states[:, axis] for axis in view.axes)
    for column, place in enumerate(places):
        heading(panels[0, column], seen, place)
        for row, name in enumerate(seen.sources):
            axes, weights = panels[row, column], seen.arrays["weights"][place, :, row]
            axes.scatter(across, up, 4, weights, norm=PERCENT, cmap="cividis", lw=0)
            if column == 0:
                axes.yaxis.set_major_locator(MaxNLocator(3))
                axes.set_ylabel(name, fontsize=8.5)
            if row == len(seen.sources) - 1:
                axes.xaxis.set_major_locator(MaxNLocator(3))
    name_sides(figure, *(view.labels[axis] for axis in view.axes))
    figure.colorbar(BAR, ax=panels, shrink=0.8, label="weight a(s), %")
    return figure


def edges(values: np.ndarray) -> tuple[float, float]:
    """Where a row of cells begins and ends, half a cell beyond the middles."""
    half = (values[1] - values[0]) / 2
    return float(values[0] - half), float(values[-1] + half)


def paths(view: Paths, seen: Seen, places: list[int]) -> Figure:
    """Where test episodes lead, in the colours of the mixture."""
    figure, panels = grid_of(1, len(places), (1.9, 2.7))
    palette = np.array(
        [to_rgb(colour) for colour in SOURCE_COLOURS[: len(seen.sources)]]
    )
    for column, place in enumerate(places):
        axes = panels[0, column]
        heading(axes, seen, place)
        axes.axhline(0, color="0.5", lw=1)
        for track, weights in zip(
            seen.arrays["places"][place], seen.arrays["weights"][place], strict=True
        ):
            segments = np.stack([track[:-1], track[1:]], axis=1)
            colours = np.clip(weights[:-1] / 100 @ palette, 0, 1)
            axes.add_collection(LineCollection(list(segments), colors=colours, lw=1.3))
        limits = {"xlim": view.x.values, "ylim": view.y.values}
        axes.set(**limits, xticks=view.x.ticks)
        axes.set_xlabel(view.x.label, fontsize=8.5)
        mean = seen.arrays["scores"][place].mean()
        axes.set_title(f"{axes.get_title()}\nreturn {mean:.0f}", fontsize=8.5)
    panels[0, 0].set(yticks=view.y.ticks)
    panels[0, 0].set_ylabel(view.y.label, fontsize=8.5)
    handles = [
        Line2D([], [], color=colour, lw=2.5, label=name)
        for colour, name in zip(SOURCE_COLOURS, seen.sources, strict=False)
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))
    return figure


def drawings(results: Results) -> Figure:
    """Figure 4 of the paper: the source tasks and the target."""
    assert results.study.drawings is not None
    title, draw = results.study.drawings
    pictures = draw()
    figure, panels = grid_of(1, len(pictures), (1.6, 1.9))
    for axes, (name, picture) in zip(panels[0], pictures.items(), strict=True):
        axes.imshow(picture)
        axes.set_title(name, fontsize=8.5)
    figure.suptitle(title, fontsize=10)
    return figure
