"""How a domain is studied, as data: what is run, when it is looked at, what is right.

Experiments and reports ask a domain for its `Study`; they know no domain by name.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import numpy as np


class Axis(NamedTuple):
    """One side of a map."""

    label: str
    values: np.ndarray
    ticks: tuple[float, ...] = ()


@dataclass(frozen=True)
class Plane:
    """A map over two numbers of a state."""

    x: Axis
    y: Axis
    states: Callable[[], np.ndarray]
    """Observations [y, x, several, …]; the weights of the several are averaged."""
    note: str = ""
    """What became of the numbers that are on no side."""


@dataclass(frozen=True)
class Cells:
    """A map of a grid whose cells are the states, numbered row by row."""

    walls: Callable[[], np.ndarray]
    """True where no state is."""
    start: Callable[[], int]
    goal: Callable[[], int]


@dataclass(frozen=True)
class Paths:
    """Test episodes, drawn by the first two numbers of their observations."""

    x: Axis
    y: Axis


View: TypeAlias = Plane | Cells | Paths
"""What a domain may ask for."""


@dataclass(frozen=True)
class Points:
    """States that training visited, drawn by two of their numbers: for own tasks."""

    labels: tuple[str, ...]
    """Of all numbers of a state."""
    axes: tuple[int, int]
    """Across and up: which of them are drawn at first."""


REUSES = (0.85, 0.9, 0.95, 0.99, 0.995)
REUSE_SWEEPS = {"mapse": ("mapse_reuse", REUSES), "ucb": ("ucb_reuse", REUSES)}
SWEEPS = REUSE_SWEEPS | {"caps": ("exit_rate", (0.01, 0.001, 0.0001))}
"""Method → setting and values: figures 5 to 7 of the paper's appendix."""

ADVICE_METHODS = ("mars", "follow", "vote", "scratch", "mars-explicit")
"""What is compared where the question is how good advice must be."""
TABLE_METHODS = (*ADVICE_METHODS, "scratch-replay")
"""The same, where values are a table: no transfer at its best replays, too."""


@dataclass(frozen=True)
class Study:
    """All that experiments and reports want to know of a domain.

    Args:
        title: for people.
        about: what the task is and what each source knows, in a few sentences.
        trials: of each method.
        quick: trials and samples of an experiment of about two minutes.
        effort: seconds for a million samples on two cores, with and without a mixture.
        looks: samples after which the mixture is looked at …
        shown: … and those of them that its figure shows.
        view: how the mixture is drawn.
        truth: which source is called right, in words; empty where none ever is.
        sweeps: method → setting and values.
        methods: what is compared; empty stands for all that the paper compares.
        claims: names of what is claimed of this domain beside what is of all.
        solved: a score that is as good as solved, and the samples from which on it
            should be kept.
        twin: name of a domain that should be learned as well, score for score.
        linear: scores span decades, and their axis is linear up to this number.
        paper: setting → what the paper's table has.
        decisions: number → a decision of ours that concerns this domain alone.
        reasons: setting → number of the decision behind it, where it is not the one
            behind this setting everywhere.
        drawings: title, and pictures of the tasks by name.
    """

    title: str = ""
    about: str = ""
    trials: int = 20
    quick: tuple[int, int | None] = (4, None)
    effort: tuple[float, float] = (100.0, 50.0)
    looks: tuple[int, ...] = ()
    shown: tuple[int, ...] = ()
    view: View | None = None
    truth: str = "as the domain tells"
    sweeps: Mapping[str, tuple[str, tuple[float, ...]]] = field(
        default_factory=lambda: SWEEPS
    )
    methods: tuple[str, ...] = ()
    claims: tuple[str, ...] = ()
    solved: tuple[float, int] | None = None
    twin: str = ""
    linear: float | None = None
    paper: Mapping[str, Any] = field(default_factory=dict)
    decisions: Mapping[int, str] = field(default_factory=dict)
    reasons: Mapping[str, int] = field(default_factory=dict)
    drawings: tuple[str, Callable[[], Mapping[str, np.ndarray]]] | None = None
