"""Pictures that a notebook shows: a learning curve, and who is trusted where.

Loads matplotlib, so it is imported where something is drawn.
"""

import base64
import io
import math
from collections.abc import Sequence

import numpy as np
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from policymix.core.colours import BLUE, SOURCE_COLOURS


class Picture(Figure):
    """A figure that notebooks show without a backend; `savefig` keeps it."""

    def _repr_png_(self) -> bytes:
        file = io.BytesIO()
        self.savefig(file, format="png", dpi=110)
        return file.getvalue()


def image_tag(picture: Picture) -> str:
    """A picture inside HTML."""
    content = base64.b64encode(picture._repr_png_()).decode()
    return f'<img alt="" src="data:image/png;base64,{content}">'


def curve_picture(
    steps: np.ndarray, scores: np.ndarray, title: str, measure: str
) -> Picture:
    """The mean over trials, a band of one standard error, and every trial.

    Args:
        steps: of the tests.
        scores: [tests, trials].
        title: of the picture.
        measure: what scores count.
    """
    picture = Picture(figsize=(6, 3), layout="constrained")
    axes, trials = picture.subplots(), scores.shape[1]
    middle = scores.mean(axis=1)
    if trials > 1:
        error = scores.std(axis=1, ddof=1) / math.sqrt(trials)
        low, high = middle - error, middle + error
        axes.fill_between(steps, low, high, color=BLUE, alpha=0.2, lw=0)
        axes.plot(steps, scores, color=BLUE, alpha=0.25, lw=0.6)
    axes.plot(steps, middle, color=BLUE)
    axes.set(xlabel="samples of the target", ylabel=measure, title=title)
    return picture


def trust_picture(
    states: np.ndarray,
    weights: np.ndarray,
    names: Sequence[str],
    labels: tuple[str, str],
) -> Picture:
    """States by two numbers, in the mixed colours of the sources.

    Args:
        states: [states, 2].
        weights: [states, sources].
        names: of the sources.
        labels: of the two numbers.
    """
    picture = Picture(figsize=(6, 4), layout="constrained")
    axes, colours = picture.subplots(), colours_of(len(names))
    mixed = np.clip(weights @ np.array([to_rgb(c) for c in colours]), 0, 1)
    axes.scatter(states[:, 0], states[:, 1], 14, mixed, lw=0)
    axes.set(xlabel=labels[0], ylabel=labels[1])
    means = weights.mean(axis=0)
    handles = [
        Line2D([], [], color=colour, marker="s", ls="", label=f"{name} {share:.0%}")
        for colour, name, share in zip(colours, names, means, strict=True)
    ]
    picture.legend(handles=handles, loc="outside upper center", ncols=len(handles))
    return picture


def colours_of(count: int) -> list[str]:
    """One for each source; where they are many, colours come again."""
    return [SOURCE_COLOURS[place % len(SOURCE_COLOURS)] for place in range(count)]
