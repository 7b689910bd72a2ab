"""Figures in sentences: `251 ± 2<!--area lander-weak mars-->` is read from rows.

What stands before such a comment is written by `python docs/write_tables.py`; readers
of a page do not see the comment. Methods and domains are those of `results`.
"""

import math
import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

import numpy as np

from policymix.reports.analysis import areas, ends, gain
from policymix.reports.results import Results, read_results
from policymix.reports.statistics import standard_error
from policymix.reports.verdicts import number, show

ROOT = Path(__file__).parents[1]
FOLDERS = (
    "paper",
    "inventory",
    "advice",
    "acrobot",
    "likelihood",
    "unselected",
    "demo",
)
"""Of `results`; those that are there."""
VALUE = r"(?:never|[-−]?\d[\d.,]*(?: ± [\d.]+| \[[^\]]+\]| of \d+)?)"
FIGURE = re.compile(rf"{VALUE}<!--([a-z].*?)-->")


@cache
def everything() -> dict[str, Results]:
    """Every domain that was run, by its name."""
    folders = [ROOT / "results" / name for name in FOLDERS]
    return {
        results.domain: results
        for folder in folders
        if folder.exists()
        for results in read_results(folder)
    }


def area(results: Results, method: str) -> str:
    """The mean test score of a run, over trials."""
    return with_error(areas(results)[method])


def end(results: Results, method: str) -> str:
    """The mean of the last tenth of the tests."""
    return with_error(ends(results)[method])


def alone(results: Results, method: str) -> str:
    """The same when the sources are taken away."""
    return with_error(ends(results, alone=True)[method])


def better(results: Results, ours: str, theirs: str) -> str:
    """By how much the area is better; negative where it is worse."""
    return show(gain(results, ours, theirs))


def better_end(results: Results, ours: str, theirs: str) -> str:
    """The same at the end."""
    return show(gain(results, ours, theirs, at_end=True))


def times(results: Results, ours: str, theirs: str) -> str:
    """One mean area divided by another."""
    found = areas(results)
    return f"{found[ours].mean() / found[theirs].mean():.2f}"


def settled(results: Results, method: str, bar: str) -> str:
    """Samples from which on no test is worse than a bar; the median over trials."""
    median = float(np.median(settling(results, method, float(bar))))
    return f"{median:,.0f}" if np.isfinite(median) else "never"


def settled_by(results: Results, method: str, bar: str, samples: str) -> str:
    """Trials of which no test is worse than a bar from so many samples on."""
    found = settling(results, method, float(bar)) <= float(samples)
    return f"{found.sum()} of {found.size}"


def settling(results: Results, method: str, bar: float) -> np.ndarray:
    """For each trial: samples at the first of the tests that all keep the bar."""
    curve, sign = results.curves[method], results.sign
    kept = sign * curve.scores >= sign * bar
    steps = np.append(curve.steps, np.inf)
    broken = len(kept) - np.argmin(kept[::-1], axis=0)
    return np.where(kept.all(axis=0), steps[0], steps[broken])


def with_error(values: np.ndarray) -> str:
    """Mean ± standard error, to two figures of the error."""
    mean, error = float(values.mean()), float(standard_error(values))
    if error < 1e-9 * abs(mean):
        return number(mean)
    digits = max(0, 1 - math.floor(math.log10(error)))
    return f"{mean:.{digits}f} ± {error:.{digits}f}"


MEASURES: dict[str, Callable[..., str]] = {
    "area": area,
    "end": end,
    "alone": alone,
    "better": better,
    "better-end": better_end,
    "times": times,
    "settled": settled,
    "settled-by": settled_by,
}


def figure(asked: str, runs: Mapping[str, Results]) -> str:
    """One figure: the name of a measure, "short" for a bare mean, a domain, details."""
    words = asked.split()
    short = words[0] == "short"
    name, domain, *details = words[1:] if short else words
    measured = MEASURES[name](runs[domain], *details)
    if short:
        measured = number(float(re.split(r" ± | \[", measured)[0]))
    return measured.replace("-", "−")


def with_figures(text: str, runs: Mapping[str, Results]) -> str:
    """A page with the figures of these runs."""
    return FIGURE.sub(lambda m: f"{figure(m[1], runs)}<!--{m[1]}-->", text)
