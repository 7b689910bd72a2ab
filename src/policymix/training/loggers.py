"""Callbacks that write down how training goes: a table, TensorBoard's events."""

import csv
import io
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from policymix.core.errors import MissingExtraError, PolicymixError
from policymix.storage.folders import write_file
from policymix.storage.runs import Row
from policymix.training.milestone import Milestone


class CSVLogger:
    """Writes every evaluation to a table, as soon as it is there.

    Its columns are those of `Row` and, for methods with a mixture, `trust/NAME` for
    each source (see `Milestone.trust`). One logger may be given to several trainings.
    Where a training goes on from a checkpoint, so does its file.

    Args:
        path: of a new file.
    """

    def __init__(self, path: str | Path):
        self.path = Path(path)
        self._columns: list[str] | None = None

    def __call__(self, now: Milestone) -> None:
        """Append a line for each trial."""
        columns = [*Row._fields, *(f"trust/{name}" for name in now.trust)]
        if self._columns is None:
            write_file(self.path, _text(self._begin(now, columns)))
            self._columns = columns
        self._check(self._columns, columns)
        told = zip(now.rows, *now.trust.values(), strict=True)
        with self.path.open("ab") as file:
            file.write(_text([(*row, *trust) for row, *trust in told]))

    def _begin(self, now: Milestone, columns: list[str]) -> list[list[str]]:
        """The lines that come before the first of this logger."""
        if not self.path.exists():
            return [columns]
        with self.path.open(newline="") as file:
            lines = list(csv.reader(file))
        self._check(lines[0] if lines else [], columns)
        mine, step = Row._fields.index("method"), Row._fields.index("step")
        method, again = now.rows[0].method, str(now.step)
        lines = [line for line in lines if (line[mine], line[step]) != (method, again)]
        if now.step == 0 and any(line[mine] == method for line in lines):
            raise PolicymixError(
                f"{self.path} has a training with {method} already. Choose another "
                "file or delete it first"
            )
        return lines

    def _check(self, found: list[str], columns: list[str]) -> None:
        if found != columns:
            raise PolicymixError(
                f"{self.path} has the columns {', '.join(found)}, which do not fit "
                "this method. Give each training a CSVLogger of its own"
            )


def _text(lines: Sequence[Sequence[Any]]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(lines)
    return text.getvalue().encode()


class TensorBoardLogger:
    """Writes every evaluation for TensorBoard: `tensorboard --logdir FOLDER`.

    The folder gets one of each method, with the means of its trials, and in it one of
    each trial if there are several. Tags: `test/score`, `test/score_alone` (without
    the sources), `train/return` and `transfer/source_weight/NAME`. Needs the extra
    `tensorboard`.

    Args:
        folder: where to write.
    """

    def __init__(self, folder: str | Path):
        try:
            from tensorboard.summary import Writer
        except ImportError as error:
            raise MissingExtraError("TensorBoardLogger", "tensorboard") from error
        self.folder, self._make = Path(folder), Writer
        self._writers: dict[Path, Any] = {}

    def __call__(self, now: Milestone) -> None:
        """Write all figures, so that TensorBoard shows them at once."""
        method = self.folder / now.rows[0].method.replace("/", "-")
        figures = {
            "test/score": [row.score for row in now.rows],
            "test/score_alone": [row.alone for row in now.rows],
            "train/return": [row.training for row in now.rows],
        }
        weights = {f"transfer/source_weight/{k}": v for k, v in now.trust.items()}
        for tag, values in (figures | weights).items():
            self._write(method, tag, float(np.mean(values)), now.step)
            for row, value in zip(now.rows, values, strict=True):
                if len(now.rows) > 1:
                    place = method / f"trial-{row.trial}"
                    self._write(place, tag, float(value), now.step)
        for writer in self._writers.values():
            writer.flush()

    def close(self) -> None:
        """End all files; another call begins new ones."""
        while self._writers:
            self._writers.popitem()[1].close()

    def _write(self, place: Path, tag: str, value: float, step: int) -> None:
        if math.isnan(value):  # no training episode has ended yet
            return
        if place not in self._writers:
            self._writers[place] = self._make(str(place))
        self._writers[place].add_scalar(tag, value, step)
