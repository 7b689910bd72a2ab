"""Curves, profiles and sweeps as the page reads them."""

from typing import Any

import numpy as np

from policymix.experiments.plans import FORMS, YARDSTICKS
from policymix.reports.analysis import profiles
from policymix.reports.figures import SWEPT
from policymix.reports.palette import SWEEP, style
from policymix.reports.results import Results, kind_of
from policymix.reports.statistics import (
    interquartile_mean,
    interval,
    mean,
    standard_error,
)
from policymix.storage.runs import Curve

POINTS = 101
"""Of a profile."""


def numbers(values: Any) -> list:
    """Numbers for JSON: four digits are enough for a screen; no number is None."""
    array = np.asarray(values, float)
    if array.ndim > 1:
        return [numbers(row) for row in array]
    return [float(f"{x:.5g}") if np.isfinite(x) else None for x in array]


def line_of(curve: Curve) -> dict[str, Any]:
    """A method's curve, with its sources and without them, if that was tested."""
    colour, dash = style(curve.method)
    unknown = np.isnan(curve.alone).any()
    return {
        "name": curve.method,
        "kind": kind_of(curve.method),
        "colour": colour,
        "dash": dash,
        "hidden": curve.method in FORMS or curve.method in YARDSTICKS,
        "steps": curve.steps.tolist(),
        **bands_of(curve.scores),
        "alone": None if unknown else bands_of(curve.alone),
    }


def bands_of(scores: np.ndarray) -> dict[str, list]:
    """Both kinds of middle and band."""
    middle = interval(scores, interquartile_mean, resamples=500)
    return {
        **mean_of(scores),
        "iqm": numbers(middle.estimate),
        "iqm_low": numbers(middle.low),
        "iqm_high": numbers(middle.high),
    }


def mean_of(scores: np.ndarray) -> dict[str, list]:
    """Mean and standard error, as in the paper."""
    middle, error = mean(scores), np.nan_to_num(standard_error(scores))
    return {
        "mean": numbers(middle),
        "mean_low": numbers(middle - error),
        "mean_high": numbers(middle + error),
    }


def profile_of(results: Results) -> dict[str, Any]:
    """The performance profile."""
    thresholds = np.linspace(0, 1, POINTS)
    return {
        "label": "mean of the run, 0 = start of no transfer, 1 = best end",
        "thresholds": numbers(thresholds),
        "methods": [
            {
                "name": name,
                "share": numbers(bounds.estimate),
                "low": numbers(bounds.low),
                "high": numbers(bounds.high),
            }
            for name, bounds in profiles(results, thresholds).items()
        ],
    }


def sweep_of(
    results: Results, setting: str, values: dict[float, Curve]
) -> dict[str, Any]:
    """The values of one setting."""
    own = results.facts["settings"][setting]
    return {
        "title": SWEPT.get(setting, setting),
        "series": [
            {
                "name": f"{value:g}" + (" (used above)" if value == own else ""),
                "colour": SWEEP[place % len(SWEEP)],
                "steps": curve.steps.tolist(),
                **mean_of(curve.scores),
            }
            for place, (value, curve) in enumerate(values.items())
        ],
    }
