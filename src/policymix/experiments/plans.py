"""What each experiment consists of, as data; a domain's `Study` has its numbers."""

from dataclasses import replace
from typing import NamedTuple

from policymix.core.seeds import check_seed
from policymix.core.settings import Settings
from policymix.environments.study import Study
from policymix.training.task import TransferTask

COMPARED = ("mars", "mapse", "caps", "ucb")
FORMS = ("mars-explicit", "mars-lookahead", "mars-reward", "mars-printed")
CONTEXTLESS = ("vote", "mixture-global")
"""Baselines that ask all sources alike in every state."""
YARDSTICKS = ("mapse-advised", "follow", "oracle")
CONTEXTUAL = ("mars", *FORMS, "mapse", "mapse-advised", "mixture-global", "follow")
"""Methods that learn a mixture."""
COMPILING = 4.0
"""Seconds, roughly, before a part takes its first step."""


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
    """All parts of one domain."""

    task: TransferTask
    settings: Settings
    trials: int
    seed: int
    parts: tuple[Part, ...]

    @property
    def study(self) -> Study:
        """How the domain is studied."""
        return self.task.domain.study

    def title(self, part: Part) -> str:
        """Of a part among those of other domains."""
        return f"{self.task.domain.name} {part.name}"

    def settings_of(self, part: Part) -> Settings:
        """Those of the domain, and what the part changes."""
        if part.setting is None:
            return self.settings
        return replace(self.settings, **{part.setting: part.value})

    def looks(self, part: Part) -> tuple[int, ...]:
        """When the part's mixture is looked at."""
        if part.setting is not None or part.method not in CONTEXTUAL:
            return ()
        return tuple(time for time in self.study.looks if time <= self.settings.steps)

    def effort(self, part: Part) -> float:
        """Seconds it may take on two cores."""
        mixture, plain = self.study.effort
        speed = mixture if part.method in CONTEXTUAL else plain
        return COMPILING + speed * 1e-6 * self.settings.steps * self.trials


def plan(task: TransferTask, seed: int, quick: bool) -> Experiment:
    """A domain's experiment, or a small one of the same form."""
    settings, study = task.domain.settings, task.domain.study
    trials = study.trials
    if quick:
        trials, steps = study.quick
        settings = replace(settings, steps=steps or settings.steps)
    first, parts = check_seed(seed, trials), parts_of(task, settings)
    return Experiment(task, settings, trials, first, parts)


def parts_of(task: TransferTask, settings: Settings) -> tuple[Part, ...]:
    """Every method, then every value of a sweep that is not the domain's own."""
    alone = tuple(f"phi{i + 1}" for i in range(len(task.sources)))
    repeated = () if settings.layers else ("scratch-replay",)
    usual = (*COMPARED, *alone, "scratch", *repeated, *CONTEXTLESS, *FORMS, *YARDSTICKS)
    names = task.domain.study.methods or usual
    if task.right_source is None:
        names = tuple(name for name in names if name != "oracle")
    swept = [
        Part(method, setting, value)
        for method, (setting, values) in task.domain.study.sweeps.items()
        for value in values
        if value != getattr(settings, setting)
    ]
    return (*map(Part, names), *swept)
