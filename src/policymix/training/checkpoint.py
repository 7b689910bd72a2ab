"""A long training in a folder: all that a run needs to go on where it was.

Agents, mixtures, replays, rows, and what was seen of mixtures on the way; keys follow
from seeds and steps. Safetensors and JSON, written whole before what was there is
removed; reading executes no code.
"""

import hashlib
import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import jax
import numpy as np

from policymix.core.errors import DomainError, FileFormatError, PolicymixError
from policymix.storage.folders import (
    ARRAYS,
    MANIFEST,
    MAX_ARRAYS_BYTES,
    RESTORE,
    canonical,
    pack,
    read_folder,
    write_folder,
)
from policymix.storage.runs import Row
from policymix.training.identity import identity_of
from policymix.training.run import TrainingRun

FORMAT, VERSION = "policymix checkpoint", 1
PREFIX = "step-"
TOLD = ("score", "alone", "training")
WAS_SEEN = "seen."
"""How the names of arrays begin that whoever looked on the way wants back."""
NO_ARRAYS: Mapping[str, np.ndarray] = MappingProxyType({})


class Reached(NamedTuple):
    """What there was at the last evaluation, besides the state of the run."""

    rows: list[Row]
    seen: dict[str, np.ndarray]


def too_large(run: TrainingRun, looks: int = 0) -> str:
    """What is said of a state that is more than will be read back; "" if it fits.

    Args:
        run: ready.
        looks: how often mixtures are kept on the way.
    """
    trials = run.loop.trials
    size = 4 * len(run.seeds) * run.plan.capacity * run.setup.layout.width
    size += sum(leaf.nbytes for leaf in jax.tree.leaves(trials))
    size += looks * sum(leaf.nbytes for leaf in jax.tree.leaves(trials.mixture))
    if size <= MAX_ARRAYS_BYTES:
        return ""
    return (
        f"a checkpoint of {len(run.seeds)} trials could have {size:,} bytes, more than "
        f"the {MAX_ARRAYS_BYTES:,} that are read back"
    )


class Checkpoint:
    """The latest state of a run, in a folder that is new or holds this very run.

    Args:
        folder: where it is kept.
        run: made with `recorded=True`.
    """

    def __init__(self, folder: str | Path, run: TrainingRun):
        self.folder, self._run = Path(folder), run
        self._facts = json.loads(canonical(_identity(run)))
        if told := too_large(run):
            raise PolicymixError(f"{told}. Lower capacity or trials")

    def resume(self) -> Reached:
        """Bring the run to where it was; what it had until then, or nothing.

        Raises:
            DomainError: the environment failed on its way back; it may be tried again.
            PolicymixError: what is kept cannot be gone on with.
        """
        found = self._places()
        if not found:
            return Reached([], {})
        *earlier, folder = found
        facts, arrays = read_folder(folder, FORMAT, VERSION)
        self._check_same(folder, facts)
        for old in earlier:  # whoever was to remove it was killed
            shutil.rmtree(old, ignore_errors=True)
        try:
            self._restore(arrays)
            return Reached(self._rows(arrays), _seen(arrays))
        except DomainError:
            raise
        except (LookupError, ValueError, TypeError) as error:
            raise FileFormatError(
                folder / ARRAYS, "arrays", f"not those of this run ({error})", RESTORE
            ) from None

    def save(
        self, rows: Sequence[Row], seen: Mapping[str, np.ndarray] = NO_ARRAYS
    ) -> None:
        """Write the present state, then remove the one before.

        Args:
            rows: all until now.
            seen: other arrays that `resume` shall give back.
        """
        loop = self._run.loop
        steps = loop.steps
        earlier = self._places()
        arrays = {f"trial.{i}": x for i, x in enumerate(jax.tree.leaves(loop.trials))}
        replays = loop.rows
        arrays["replay"] = replays[:, : min(steps, replays.shape[1])]
        arrays["places"] = np.array([(r.trial, r.step) for r in rows], np.int64)
        told = [[getattr(row, name) for name in TOLD] for row in rows]
        arrays["scores"] = np.array(told, np.float64)
        histories = loop.histories
        arrays["lengths"] = np.array([len(h) for h in histories], np.int64)
        arrays["histories"] = np.array([x for h in histories for x in h], np.float64)
        arrays |= {f"{WAS_SEEN}{name}": array for name, array in seen.items()}
        place = self.folder / f"{PREFIX}{steps:012d}"
        if place not in earlier:
            write_folder(place, pack(FORMAT, VERSION, self._facts, arrays))
        for old in earlier:
            if old != place:
                shutil.rmtree(old, ignore_errors=True)

    def _places(self) -> list[Path]:
        """Whole checkpoints, the newest last."""
        return sorted(self.folder.glob(f"{PREFIX}*"))

    def _check_same(self, folder: Path, facts: dict[str, Any]) -> None:
        for name, ours in self._facts.items():
            if facts.get(name) != ours:
                theirs = facts.get(name)
                if isinstance(ours, dict) and isinstance(theirs, dict):
                    differ = [k for k in ours if ours[k] != theirs.get(k)]
                    name = f"{name}.{differ[0]}" if differ else name
                    theirs, ours = (
                        (d.get(differ[0]) if differ else d) for d in (theirs, ours)
                    )
                raise FileFormatError(
                    folder / MANIFEST,
                    name,
                    f"{theirs!r}, but this training has {ours!r}",
                    f"Give the same arguments as before, or another folder than "
                    f"{self.folder}",
                )

    def _restore(self, arrays: dict[str, np.ndarray]) -> None:
        loop = self._run.loop
        leaves, structure = jax.tree.flatten(loop.trials)
        step = self._step(arrays)
        replays = np.zeros_like(loop.rows)
        part = replays[:, : min(step, replays.shape[1])]
        expected = {f"trial.{i}": (x.shape, x.dtype) for i, x in enumerate(leaves)}
        expected["replay"] = (part.shape, part.dtype)
        expected["lengths"] = ((len(loop.histories),), np.dtype(np.int64))
        for name, kind in expected.items():
            _check_kind(name, arrays[name], *kind)
        part[:] = arrays["replay"]
        found = [arrays[f"trial.{place}"] for place in range(len(leaves))]
        ends = np.cumsum(arrays["lengths"])[:-1]
        histories = [h.tolist() for h in np.split(arrays["histories"], ends)]
        trials = jax.tree.unflatten(structure, found)
        self._run.restore(trials, replays, step, histories)
        if loop.fault[1].any():
            raise ValueError("one of its trials has failed")

    def _step(self, arrays: dict[str, np.ndarray]) -> int:
        """Where it was: after an evaluation of all trials, of which there are rows."""
        places, trials = arrays["places"], len(self._run.seeds)
        count, settings = len(places), self._run.settings
        _check_kind("places", places, (count, 2), np.dtype(np.int64))
        _check_kind("scores", arrays["scores"], (count, len(TOLD)), np.dtype(float))
        due = [*range(0, settings.steps, settings.evaluate_every), settings.steps]
        expected = [(t, step) for step in due for t in range(trials)][:count]
        if not count or count % trials or places.tolist() != list(map(list, expected)):
            raise ValueError("places are not those of its evaluations")
        return int(places[-1, 1])

    def _rows(self, arrays: dict[str, np.ndarray]) -> list[Row]:
        run = self._run
        named, seeds = (run.task.domain.name, run.name), run.seeds.tolist()
        pairs = zip(arrays["places"].tolist(), arrays["scores"].tolist(), strict=True)
        return [Row(*named, t, seeds[t], step, *told) for (t, step), told in pairs]


def _seen(arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    names = [name for name in arrays if name.startswith(WAS_SEEN)]
    return {name.removeprefix(WAS_SEEN): arrays[name] for name in names}


def _check_kind(
    name: str, found: np.ndarray, shape: tuple[int, ...], kind: np.dtype
) -> None:
    if found.shape != shape or found.dtype != kind:
        raise ValueError(
            f"{name} is {found.dtype}{list(found.shape)} instead of {kind}{list(shape)}"
        )


def _arrays(tree: Any) -> list[np.ndarray]:
    return [np.asarray(leaf) for leaf in jax.tree.leaves(tree)]


def kept_at(home: Path, run: TrainingRun) -> Path:
    """Where this very run is kept, among runs that differ from it in something."""
    facts = canonical(_identity(run))
    return home / hashlib.sha256(facts).hexdigest()[:12]


def _identity(run: TrainingRun) -> dict[str, Any]:
    """What must be the same for a run to go on."""
    mixture = run.setup.mixture
    units = [x.tobytes() for x in _arrays(run.task.sources.experts.encoder)]
    return {
        "domain": run.task.domain.name,
        "method": run.name,
        "settings": asdict(run.settings),
        "seeds": run.seeds.tolist(),
        **identity_of(run.task),
        "units of observations": hashlib.sha256(b"".join(units)).hexdigest(),
        "mixture": None if mixture is None else type(mixture).__name__,
    }
