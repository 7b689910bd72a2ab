"""A run's folder: what was run, and one row for every evaluation of every trial.

Written and read here alone; what is wrong with a folder is named by file and line.
"""

import csv
import gzip
import io
import math
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from policymix.core.errors import FileFormatError
from policymix.core.seeds import LIMIT
from policymix.storage.folders import (
    MANIFEST,
    RESTORE,
    canonical,
    json_of,
    read_bytes,
    write_file,
)
from policymix.storage.records import RecordError, conforms, is_finite, read_settings

FORMAT, VERSION = "policymix run", 1
FACTS, ROWS = "run.json", "evaluations.csv"
MAX_ROWS_BYTES, MAX_NAME = 1 << 28, 100
PACKED = f"{ROWS}.gz"
"""The same rows, compressed; read where there are no others."""


class Row(NamedTuple):
    """One evaluation of one trial."""

    domain: str
    method: str
    trial: int
    seed: int
    step: int
    score: float
    alone: float
    """The score without the sources; nan in folders that do not say it."""
    training: float = math.nan
    """Mean return of all training episodes so far; nan before the first has ended."""


HEADER = ",".join(Row._fields)
EARLIER = tuple(",".join(Row._fields[:known]) for known in (6, 7))
"""Headers of folders from before rows had all that they have today."""
NEEDED: dict[str, Any] = {
    "status": str,
    "domain": str,
    "measure": str,
    "better": str,
    "methods": list[str],
    "seed": int,
    "trials": int,
    "settings": dict,
    "sources": dict[str, str],
    "source_samples": dict[str, int],
    "versions": dict[str, str],
    "devices": str,
    "wall_seconds": dict[str, float],
}
"""Facts of every run, and their types."""


@dataclass(frozen=True)
class Curve:
    """All trials of one method: scores [evaluations, trials], with and without sources.

    What is reached `alone` and in `training` is nan where the rows do not say it.
    """

    method: str
    steps: np.ndarray
    scores: np.ndarray
    alone: np.ndarray
    seeds: tuple[int, ...]
    training: np.ndarray = field(default_factory=lambda: np.array(math.nan))


@dataclass(frozen=True)
class Run:
    """One folder: its facts, and a curve for each method."""

    folder: Path
    facts: dict[str, Any]
    curves: dict[str, Curve]

    @property
    def has_snapshots(self) -> bool:
        """Whether somebody looked at the mixture."""
        return (self.folder / MANIFEST).exists()


def files_of(facts: dict[str, Any], rows: Sequence[Row]) -> dict[str, bytes]:
    """The contents of both files."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([Row._fields, *rows])
    return {ROWS: text.getvalue().encode(), FACTS: canonical(facts)}


def write_run(out: Path, facts: dict[str, Any], rows: Sequence[Row]) -> None:
    """Both files, each whole."""
    for name, content in files_of(facts, rows).items():
        write_file(out / name, content)


def read_run(folder: Path) -> Run:
    """A run's folder, whole and sound, or an error that says where it is not."""
    facts = read_facts(folder)
    path = folder / (PACKED if (folder / PACKED).exists() else ROWS)
    return Run(folder, facts, read_curves(path, facts))


def find_runs(place: Path) -> list[Path]:
    """The folders of runs at or below a place, in order of their names."""
    found = (path.parent for path in place.rglob(FACTS))
    return sorted(path for path in found if not is_scratch(path.relative_to(place)))


def is_scratch(path: Path) -> bool:
    """Whether a folder is one that somebody was writing when he was stopped."""
    return any(part.startswith(".") for part in path.parts)


def read_facts(folder: Path) -> dict[str, Any]:
    """What was run."""
    path = folder / FACTS
    facts = json_of(path)
    if not isinstance(facts, dict) or facts.get("format") != FORMAT:
        raise FileFormatError(path, "format", f"no {FORMAT}", f"Give a {FORMAT} folder")
    if facts.get("version") != VERSION:
        problem = f"{facts.get('version')!r}, but this release reads {VERSION}"
        raise FileFormatError(path, "version", problem, "Run it again")
    for name, kind in NEEDED.items():
        if not conforms(facts.get(name), kind):
            problem = f"{facts.get(name)!r:.40} is not of the right type"
            raise FileFormatError(path, name, problem, RESTORE)
    try:
        check_facts(facts)
    except RecordError as error:
        raise FileFormatError(path, error.field, error.problem, RESTORE) from None
    return facts


def check_facts(facts: dict[str, Any]) -> None:
    """Complain of facts that no run can have."""
    settings = read_settings(facts["settings"])
    for name in ("steps", "evaluate_every"):
        if getattr(settings, name) < 1:
            raise RecordError(f"settings.{name}", "it must be at least 1")
    if not all(map(is_finite, facts["wall_seconds"].values())):
        raise RecordError("wall_seconds", "one of them is endless")
    for name in (facts["domain"], *facts["methods"]):
        if not name.isprintable() or not 0 < len(name) <= MAX_NAME:
            raise RecordError("methods", f"{name!r:.40} is no readable name")
    if Path(facts["domain"]).name != facts["domain"]:
        raise RecordError("domain", f"{facts['domain']!r} is no plain name")
    if facts["trials"] < 1:
        raise RecordError("trials", f"{facts['trials']} of them")
    if not 0 <= facts["seed"] <= LIMIT - facts["trials"]:
        raise RecordError("seed", f"{facts['seed']} is none")
    if not facts["methods"]:
        raise RecordError("methods", "there is none")
    if facts["better"] not in ("higher", "lower"):
        raise RecordError("better", f"{facts['better']!r} is not higher or lower")
    sweep = facts.get("sweep")
    if sweep is None:
        return
    if not isinstance(sweep, dict) or set(sweep) != {"setting", "value"}:
        raise RecordError("sweep", f"{sweep!r:.40} is not a setting and a value")
    setting, value = str(sweep["setting"]), sweep["value"]
    if facts["settings"].get(setting) != value or not conforms(value, float):
        raise RecordError("sweep", f"{sweep!r:.40} is not among the settings")


def read_curves(path: Path, facts: dict[str, Any]) -> dict[str, Curve]:
    """Every method's curve, from a file that has each row once."""
    lines = lines_of(path)
    first = next(lines, [])
    if ",".join(first) not in (HEADER, *EARLIER):
        problem = f"the header is {','.join(first)!r:.99} instead of {HEADER!r}"
        raise FileFormatError(path, "line 1", problem, RESTORE)
    rows: dict[tuple[str, int, int], tuple[int, Row]] = {}
    for number, line in enumerate(lines, start=2):
        row = read_row(path, number, line, facts, columns=len(first))
        key = row.method, row.trial, row.step
        if key in rows:
            problem = f"repeats line {rows[key][0]} ({name_of(*key)})"
            raise FileFormatError(path, f"line {number}", problem, RESTORE)
        rows[key] = number, row
    return {
        method: curve_of(path, facts, method, rows)
        for method in facts["methods"]
        if facts["status"] == "finished" or any(key[0] == method for key in rows)
    }


def lines_of(path: Path) -> Iterator[list[str]]:
    """A file's lines, each as its values; only those that are asked for are made."""
    content = read_bytes(path, MAX_ROWS_BYTES)
    try:
        text = (unpacked(content) if path.name == PACKED else content).decode()
        if text and not text.endswith("\n"):
            last = f"line {len(text.splitlines())}"
            raise FileFormatError(path, last, "it is cut off", RESTORE)
        yield from csv.reader(io.StringIO(text, newline=""), strict=True)
    except FileFormatError:
        raise
    except (ValueError, csv.Error, EOFError, OSError, zlib.error) as error:
        raise FileFormatError(path, "file", f"no rows ({error})", RESTORE) from None


def unpacked(content: bytes) -> bytes:
    """The rows of a compressed file, which may be no bomb."""
    with gzip.GzipFile(fileobj=io.BytesIO(content)) as file:
        rows = file.read(MAX_ROWS_BYTES + 1)
    if len(rows) > MAX_ROWS_BYTES:
        raise ValueError(f"more than the {MAX_ROWS_BYTES} bytes that are read")
    return rows


def name_of(method: str, trial: int, step: int) -> str:
    """A row, in words."""
    return f"{method}, trial {trial}, step {step}"


def read_row(
    path: Path, number: int, line: Sequence[str], facts: dict[str, Any], columns: int
) -> Row:
    """One line, checked against the header and against the facts of its run."""
    try:
        return parse_row(line, facts, columns)
    except ValueError as error:
        problem = f"{error!s:.200}"
        raise FileFormatError(path, f"line {number}", problem, RESTORE) from None


def parse_row(parts: Sequence[str], facts: dict[str, Any], columns: int) -> Row:
    """The values of a line; a ValueError says what is wrong with them."""
    if len(parts) != columns:
        raise ValueError(f"{len(parts)} values instead of {columns}")
    domain, method, *numbers = parts
    trial, seed, step = map(int, numbers[:3])
    scores = [float(number) for number in numbers[3:]]
    for name, score in zip(("score", "score alone"), scores, strict=False):
        if not math.isfinite(score):
            raise ValueError(f"the {name} is {score}")
    if any(map(math.isinf, scores)):
        raise ValueError("the return of training episodes is infinite")
    if domain != facts["domain"]:
        raise ValueError(f"the domain is {domain!r}, not {facts['domain']!r}")
    if method not in facts["methods"]:
        raise ValueError(f"{method!r} is none of the run's methods")
    if not 0 <= trial < facts["trials"] or seed != facts["seed"] + trial:
        raise ValueError(f"the run has no trial {trial} with seed {seed}")
    every, last = (facts["settings"][name] for name in ("evaluate_every", "steps"))
    if not 0 <= step <= last or (step % every and step != last):
        raise ValueError(f"the step is {step}, at which no test is due")
    untold = [math.nan] * (len(Row._fields) - columns)
    return Row(domain, method, trial, seed, step, *scores, *untold)


def curve_of(
    path: Path,
    facts: dict[str, Any],
    method: str,
    rows: dict[tuple[str, int, int], tuple[int, Row]],
) -> Curve:
    """One method's rows as an array; none may be missing."""
    mine = {key[1:]: place for key, (place, _) in rows.items() if key[0] == method}
    steps = sorted({step for _, step in mine})
    every, last = (facts["settings"][name] for name in ("evaluate_every", "steps"))
    if facts["status"] == "finished" and (not steps or steps[-1] != last):
        problem = f"{method} ends at step {steps[-1] if steps else None}, not at {last}"
        line = max(mine.values(), default=len(rows) + 1)
        raise FileFormatError(path, f"line {line}", problem, RESTORE)
    before = min(mine.values()) - 1
    for due in (min(place * every, last) for place in range(len(steps))):
        for trial in range(facts["trials"]):
            if (trial, due) not in mine:
                problem = f"after it, {name_of(method, trial, due)} is missing"
                raise FileFormatError(path, f"line {before}", problem, RESTORE)
            before = mine[trial, due]
    found = [
        [rows[method, trial, step][1] for trial in range(facts["trials"])]
        for step in steps
    ]
    told = np.array([[row[-3:] for row in test] for test in found], float)
    seeds = tuple(facts["seed"] + trial for trial in range(facts["trials"]))
    scores, alone, training = np.moveaxis(told, -1, 0)
    return Curve(method, np.array(steps), scores, alone, seeds, training)
