"""A picture of how well sources fit a target, before training."""

import io
from pathlib import Path
from typing import Any

import numpy as np

from policymix.core.errors import PolicymixError
from policymix.core.pictures import Picture
from policymix.reports.palette import BLUE, GREY, VERMILLION
from policymix.storage.folders import write_file
from policymix.training.fits import FORGIVEN, Fits

LEAST_SHARE = 1e-4
"""Shares below this are drawn as this."""
MANY, TOO_MANY = 5, 24
"""Components whose numbers are written upright, or not at all."""
DRAWN_AS = ("png", "pdf", "svg")


def write_picture(picture: Picture, path: Path) -> None:
    """Write or replace a file, in the form that its name ends in."""
    form = path.suffix.removeprefix(".")
    if form not in DRAWN_AS:
        raise PolicymixError(
            f"{path} is no name of a picture: it must end in .{', .'.join(DRAWN_AS)}"
        )
    content = io.BytesIO()
    picture.savefig(content, dpi=150, format=form)
    write_file(path, content.getvalue())


def fits_picture(fits: Fits) -> Picture:
    """Errors of the sources, of their components, and how far they disagree."""
    count = len(fits.sources)
    picture = Picture(figsize=(11, 1.8 + 0.35 * max(count, 3)), layout="constrained")
    errors, components, advice = picture.subplots(1, 3, width_ratios=(3, 3, 2))
    names = [source.name for source in fits.sources]
    _errors(errors, fits, names)
    _components(components, fits)
    _advice(advice, fits, names)
    return picture


def _errors(axes: Any, fits: Fits, names: list[str]) -> None:
    ratios = np.array([source.ratio for source in fits.sources])
    shown = np.clip(np.nan_to_num(ratios, nan=LEAST_SHARE), LEAST_SHARE, None)
    colours = [BLUE if ratio < FORGIVEN else VERMILLION for ratio in ratios]
    places, left = np.arange(len(names)), LEAST_SHARE / 2
    axes.barh(places, shown - left, left=left, color=colours, height=0.6)
    for limit, style in ((1.0, "-"), (FORGIVEN, ":")):
        axes.axvline(limit, color=GREY, linestyle=style, linewidth=1)
    axes.set_xscale("log")
    axes.set_xlim(left, max(10.0, 3 * shown.max()))
    axes.set_yticks(places, names)
    axes.invert_yaxis()
    axes.set_xlabel("squared error as a share of what changes")
    axes.set_title("Better than “nothing changes” (line at 1)?", fontsize=10)


def _components(axes: Any, fits: Fits) -> None:
    most = max(len(source.errors) for source in fits.sources)
    shares = np.full((len(fits.sources), most), np.nan)
    for place, source in enumerate(fits.sources):
        with np.errstate(all="ignore"):
            shares[place, : len(source.errors)] = source.errors / source.changes
    tens = np.log10(np.clip(shares, LEAST_SHARE, None))
    axes.imshow(tens, cmap="coolwarm", vmin=-2, vmax=2, aspect="auto")
    upright = 90 if most > MANY else 0
    for (row, column), share in np.ndenumerate(shares):
        if np.isfinite(share) and most < TOO_MANY:
            shade = "white" if abs(tens[row, column]) > 1.5 else "black"
            centred: Any = {"ha": "center", "va": "center", "rotation": upright}
            axes.text(column, row, _told_share(share), color=shade, **centred)
    axes.set_xticks(range(0, most, 1 + most // TOO_MANY))
    axes.set_yticks([])
    axes.set_xlabel("component that the source sees")
    axes.set_title("The same by component", fontsize=10)


def _told_share(share: float) -> str:
    if share < 0.001:
        return "< 0.001"
    return f"{share:.2g}" if share < 100 else f"{share:,.0f}"


def _advice(axes: Any, fits: Fits, names: list[str]) -> None:
    axes.imshow(fits.advice, cmap="Greys", vmin=0, vmax=1, aspect="auto")
    for (row, column), value in np.ndenumerate(fits.advice):
        shade = "white" if value > 0.5 else "black"
        axes.text(column, row, f"{value:.0%}", ha="center", va="center", color=shade)
    axes.set_xticks(range(len(names)), names, rotation=30, ha="right")
    axes.set_yticks([])
    told = "How far apart advice is" if fits.continuous else "States with other advice"
    axes.set_title(told, fontsize=10)
