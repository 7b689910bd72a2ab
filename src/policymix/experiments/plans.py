"""What each experiment of the paper consists of, as data."""

from dataclasses import replace
from typing import NamedTuple

from policymix.core.settings import PAPER, Settings
from policymix.training.setup import settings_of
from policymix.training.task import TransferTask

METHODS = ("mars", "mapse", "caps", "ucb")
FORMS = ("mars-explicit", "mars-lookahead", "mars-reward")
YARDSTICKS = ("follow", "oracle")
CONTEXTUAL = ("mars", *FORMS, "mapse", "follow")
"""Methods that learn a mixture."""

REUSES = (0.85, 0.9, 0.95, 0.99, 0.995)
SWEEPS = {
    "mapse": ("mapse_reuse", REUSES),
    "ucb": ("ucb_reuse", REUSES),
    "caps": ("exit_rate", (0.01, 0.001, 0.0001)),
}
"""Method → setting and values: figures 5 to 7 of the paper's appendix."""

INVENTORIES = ("inventory", "inventory-unforeseen")
SEVERAL = {"all": tuple(PAPER), "inventory": INVENTORIES}
"""Names that stand for several domains: those of the paper, and both inventories."""

TRIALS = {"maze": 20, "cartpole": 20, "lander": 10}
LOOKS = {
    "maze": (0, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000),
    "cartpole": (
        *(0, 100, 200, 300, 500, 700, 1_000, 1_500, 2_000, 2_500, 5_000, 7_500),
        10_000,
    ),
    "lander": (
        *(0, 1_000, 2_500, 5_000, 7_500, 10_000, 15_000, 20_000, 25_000, 35_000),
        50_000,
    ),
    **dict.fromkeys(
        INVENTORIES, (0, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000)
    ),
}
"""Samples after which the mixture is looked at; those of figure 3 are among them."""
FIGURE_3 = {
    "maze": (0, 5_000, 10_000, 20_000, 50_000, 100_000),
    "cartpole": (0, 100, 500, 1_000, 2_500, 5_000),
    "lander": (0, 10_000, 25_000, 50_000),
    **dict.fromkeys(INVENTORIES, (0, 100, 500, 1_000, 2_000, 20_000)),
}

QUICK = {
    "maze": (2, 120_000),
    "cartpole": (4, 10_000),
    "lander": (2, 10_000),
    **dict.fromkeys(INVENTORIES, (4, 4_000)),
}
"""Trials and samples of an experiment that takes about two minutes."""

EFFORT = {
    "maze": (35.0, 1.0),
    "cartpole": (27.0, 9.0),
    "lander": (230.0, 180.0),
    **dict.fromkeys(INVENTORIES, (120.0, 10.0)),
}
"""Seconds for a million samples on two cores, with and without a mixture."""
COMPILING = 4.0
"""Seconds, roughly, before a piece takes its first step."""


class Part(NamedTuple):
    """One method with one set of settings: what is run, kept or lost as a whole."""

    method: str
    setting: str | None = None
    """What a sweep changes; None stands for the domain's own settings."""
    value: float = 0.0

    @property
    def name(self) -> str:
        """Also the name of its folder."""
        if self.setting is None:
            return self.method
        return f"{self.method}-{self.setting.split('_')[1]}-{self.value:g}"


class Experiment(NamedTuple):
    """All pieces of one domain."""

    task: TransferTask
    settings: Settings
    trials: int
    seed: int
    pieces: tuple[Part, ...]

    def title(self, piece: Part) -> str:
        """Of a piece among those of other domains."""
        return f"{self.task.domain.name} {piece.name}"

    def settings_of(self, piece: Part) -> Settings:
        """Those of the domain, and what the piece changes."""
        if piece.setting is None:
            return self.settings
        return replace(self.settings, **{piece.setting: piece.value})

    def looks(self, piece: Part) -> tuple[int, ...]:
        """When the piece's mixture is looked at."""
        if piece.setting is not None or piece.method not in CONTEXTUAL:
            return ()
        times = LOOKS.get(self.task.domain.name, ())
        return tuple(time for time in times if time <= self.settings.steps)

    def effort(self, piece: Part) -> float:
        """Seconds it may take on two cores."""
        mixture, plain = EFFORT.get(self.task.domain.name, (100.0, 50.0))
        speed = mixture if piece.method in CONTEXTUAL else plain
        return COMPILING + speed * 1e-6 * self.settings.steps * self.trials


def plan(task: TransferTask, seed: int, quick: bool) -> Experiment:
    """The paper's experiment on a domain, or a small one of the same form."""
    settings, name = settings_of(task), task.domain.name
    trials = TRIALS.get(name, 20)
    if quick:
        trials, steps = QUICK.get(name, (4, settings.steps))
        settings = replace(settings, steps=steps)
    return Experiment(task, settings, trials, seed, pieces(task, settings))


def pieces(task: TransferTask, settings: Settings) -> tuple[Part, ...]:
    """Every method, then every value of a sweep that is not the domain's own."""
    alone = tuple(f"phi{i + 1}" for i in range(len(task.sources)))
    names = (*METHODS, *alone, "scratch", *FORMS, *YARDSTICKS)
    if task.right_source is None:
        names = tuple(name for name in names if name != "oracle")
    swept = [
        Part(method, setting, value)
        for method, (setting, values) in SWEEPS.items()
        if method != "caps" or settings.layers is not None
        for value in values
        if value != getattr(settings, setting)
    ]
    return (*map(Part, names), *swept)
