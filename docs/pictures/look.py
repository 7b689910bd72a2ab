"""How the pictures look: narrow, and readable on a phone."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from policymix.reports.figures import PRINT

ROOT = Path(__file__).parents[2]
PHONE = PRINT | {
    "font.size": 10.5,
    "axes.titlesize": 11,
    "axes.titlelocation": "left",
    "legend.fontsize": 10,
    "lines.linewidth": 2,
}
"""Readable when the 720 pixels of a picture are shown on 360."""


def panels(count: int, height: float, columns: int = 1) -> tuple[Figure, np.ndarray]:
    """A narrow figure of so many rows, each so many inches high."""
    figure = Figure(figsize=(4.5, height * count), layout="constrained")
    return figure, figure.subplots(count, columns, squeeze=False, sharex="col")
