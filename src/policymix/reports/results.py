"""The runs of a folder, put together domain by domain."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from policymix.core.errors import FileFormatError, PolicymixError
from policymix.core.settings import Settings
from policymix.environments.registry import known_domain
from policymix.environments.study import Points, Study, View
from policymix.experiments.plans import CONTEXTLESS, FORMS, YARDSTICKS
from policymix.experiments.snapshots import OWN_MODEL, read_snapshots
from policymix.experiments.visited import view_of
from policymix.storage.records import LATER
from policymix.storage.runs import FACTS, Curve, Run, find_runs, read_run

SHARED = ("measure", "better", "seed", "trials", "sources")
"""Facts in which all runs of a domain must agree, besides their settings."""

UTMOST = 1e100
"""Scores beyond this count as it: what reports compute would be infinite."""


@dataclass(frozen=True)
class Seen:
    """What was seen of a method's mixture; the first axis of each array is time.

    Only of the states that an own task "visited" it is not.
    """

    steps: tuple[int, ...]
    sources: tuple[str, ...]
    arrays: dict[str, np.ndarray]
    view: View | Points | None = None
    """How an own task's mixture is drawn; a domain's `Study` says it of the others."""


@dataclass(frozen=True)
class Results:
    """All that is known of one domain."""

    domain: str
    facts: dict[str, Any]
    """Of the first run; the others agree in what matters."""
    curves: dict[str, Curve]
    sweeps: dict[tuple[str, str], dict[float, Curve]]
    """(method, setting) → value → curve; the domain's own value is among them."""
    seen: dict[str, Seen]
    wall_seconds: float
    unfinished: tuple[str, ...]

    @property
    def study(self) -> Study:
        """How the domain is studied; the defaults where it is nobody's but a user's."""
        known = None if self.own else known_domain(self.domain)
        return Study(title=self.domain) if known is None else known.study

    @property
    def own(self) -> bool:
        """Whether the target is the user's own: nobody has claimed anything of it."""
        return bool(self.facts.get("own"))

    @property
    def believer(self) -> str | None:
        """The method whose mixture is shown: mars, or the first that has one."""
        seen = [name for name in self.curves if name in self.seen]
        return "mars" if "mars" in seen else next(iter(seen), None)

    @property
    def view(self) -> View | Points | None:
        """How its mixture is drawn."""
        method = self.believer
        return self.study.view or (self.seen[method].view if method else None)

    @property
    def source_names(self) -> tuple[str, ...]:
        """In their order, which the facts do not keep; none where none was seen."""
        method = self.believer
        seen = self.seen[method].sources if method else ()
        return tuple(name for name in seen if name != OWN_MODEL)

    @property
    def title(self) -> str:
        """The domain, for people."""
        return self.study.title or self.domain

    @property
    def sign(self) -> int:
        """Times this, higher scores are better."""
        return -1 if self.facts["better"] == "lower" else 1


def read_results(place: Path) -> list[Results]:
    """Every domain that has runs at or below a place."""
    folders = find_runs(place)
    if not folders:
        raise PolicymixError(
            f"{place} holds no run: there is no {FACTS} in it or below. Make one with "
            "policymix run or policymix reproduce"
        )
    runs = [within_reach(read_run(folder)) for folder in folders]
    names = dict.fromkeys(run.facts["domain"] for run in runs)
    return [
        put_together(name, [r for r in runs if r.facts["domain"] == name])
        for name in names
    ]


def within_reach(run: Run) -> Run:
    """The run with scores whose squares are numbers, too."""
    curves = {
        name: replace(
            curve,
            scores=np.clip(curve.scores, -UTMOST, UTMOST),
            alone=np.clip(curve.alone, -UTMOST, UTMOST),
            training=np.clip(curve.training, -UTMOST, UTMOST),
        )
        for name, curve in run.curves.items()
    }
    return replace(run, curves=curves)


def put_together(domain: str, runs: Sequence[Run]) -> Results:
    """The runs of one domain, which must be comparable."""
    check_comparable(runs)
    curves: dict[str, Curve] = {}
    homes: dict[str, Path] = {}
    sweeps: dict[tuple[str, str], dict[float, Curve]] = {}
    seen: dict[str, Seen] = {}
    for run in runs:
        sweep = run.facts.get("sweep")
        for method, curve in run.curves.items():
            title = method
            if sweep is not None:
                title = f"{method} with {sweep['setting']} {sweep['value']:g}"
            if title in homes:
                raise PolicymixError(
                    f"{title} on {domain} is both in {homes[title]} and in "
                    f"{run.folder}: report on one of them"
                )
            homes[title] = run.folder
            if sweep is not None:
                values = sweeps.setdefault((method, sweep["setting"]), {})
                values[sweep["value"]] = curve
                continue
            curves[method] = curve
            if run.has_snapshots:
                facts, arrays = read_snapshots(run.folder)
                steps, sources = tuple(facts["steps"]), tuple(facts["sources"])
                view = view_of(facts.get("view"))
                seen[method] = Seen(steps, sources, arrays, view)
    if not curves:
        raise PolicymixError(
            f"{runs[0].folder} has nothing to report on {domain}: no method with the "
            "settings of the domain was tested. Give the folder of the whole experiment"
        )
    curves = {name: curves[name] for name in sorted(curves, key=place_of)}
    usual = unswept(runs)[0].facts["settings"]
    for (method, setting), values in sweeps.items():
        if method in curves:
            values[usual[setting]] = curves[method]
    return Results(
        domain,
        unswept(runs)[0].facts,
        curves,
        {key: dict(sorted(values.items())) for key, values in sweeps.items()},
        seen,
        float(sum(sum(run.facts["wall_seconds"].values()) for run in runs)),
        tuple(str(r.folder) for r in runs if r.facts["status"] != "finished"),
    )


def place_of(method: str) -> tuple[int, int, str]:
    """The order in which methods are listed."""
    plain = ("mars", "mapse", "caps", "ucb", "phi", "scratch", "scratch-replay")
    order = (*plain, *CONTEXTLESS, *FORMS, *YARDSTICKS)
    family = method.rstrip("0123456789") if method.startswith("phi") else method
    place = order.index(family) if family in order else len(order)
    return place, len(method) if family == "phi" else 0, method


def kind_of(method: str) -> str:
    """How reports group methods."""
    if method in YARDSTICKS:
        return "yardstick"
    return "ours" if method.startswith(("mars", "mapse")) else "baseline"


def unswept(runs: Sequence[Run]) -> list[Run]:
    """Those that change no setting; all, if every one does."""
    return [run for run in runs if run.facts.get("sweep") is None] or list(runs)


def check_comparable(runs: Sequence[Run]) -> None:
    """Methods are compared under the same settings, seeds and sources only."""
    first = unswept(runs)[0]
    for run in runs:
        sweep = run.facts.get("sweep")
        swept = {sweep["setting"]: sweep["value"]} if sweep else {}
        wanted = settings_of(first) | swept
        differs = [name for name in SHARED if run.facts[name] != first.facts[name]]
        if settings_of(run) != wanted:
            differs.append("settings")
        if differs:
            raise FileFormatError(
                run.folder / FACTS,
                differs[0],
                f"not the same as in {first.folder / FACTS}",
                "Only runs that agree in it can be compared: report on each by itself",
            )


def settings_of(run: Run) -> dict[str, Any]:
    """Also those that came after the run: they had their defaults."""
    return {name: getattr(Settings, name) for name in LATER} | run.facts["settings"]
