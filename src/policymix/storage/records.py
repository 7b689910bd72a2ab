"""Modules as JSON and arrays, and back: only kinds that are on a list.

A module becomes `{"kind": name, field: …}`; an array becomes `{"array": its name}`.
Reading builds only the kinds that the caller allows and checks every field against the
type that its class declares.
"""

import dataclasses
import math
import types
import typing
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from policymix.core.errors import FileFormatError, PolicymixError
from policymix.core.settings import Settings
from policymix.storage.folders import MANIFEST, RESTORE

LATER = {
    "own_model",
    "mixture",
    "mixture_prior",
    "prior_strength",
    "precision",
    "concentration",
    "heads",
    "caution",
    "final_episodes",
    "clip",
    "replay",
    "target_rate",
    "learn_every",
}
"""Settings that older files do not have."""
LARGEST = 2**16
"""A whole number in a module is the size of something; no module has larger ones."""
DEEPEST = 32
"""Fields within fields."""
RETIRED = {"horizon"}
"""Settings that only older files have; nothing reads them any more."""


class RecordError(PolicymixError, ValueError):
    """A record does not describe a module; `field` says where."""

    def __init__(self, field: str, problem: str):
        self.field = field
        self.problem = problem
        super().__init__(f"{field}: {problem}")


@contextmanager
def blaming(folder: Path, part: str) -> Iterator[None]:
    """While a folder's facts are read: whatever is wrong with them is told as such.

    Args:
        folder: that is read.
        part: of its facts, to be named where the mistake is in no single field.
    """
    try:
        yield
    except RecordError as error:
        field, problem, cause = error.field, error.problem, error
    except Exception as error:  # a forger may reach any line below
        told = str(error).splitlines() or [type(error).__name__]
        field, problem, cause = part, told[0][:300], error
    else:
        return
    raise FileFormatError(folder / MANIFEST, field, problem, RESTORE) from cause


def _refuse(field: str, value: Any) -> Any:
    raise RecordError(field, f"{value!r} cannot be saved; only tables and networks can")


def to_record(
    value: Any,
    field: str,
    arrays: dict[str, np.ndarray],
    otherwise: Callable[[str, Any], Any] = _refuse,
) -> Any:
    """Describe a value.

    Args:
        value: a module, a tuple, an array or a number.
        field: its name.
        arrays: its arrays are added to these, under the names of their fields.
        otherwise: describes what is none of these; by default it is refused.
    """
    if eqx.is_array(value) or isinstance(value, np.ndarray):
        arrays[field] = np.asarray(value)
        return {"array": field}
    if isinstance(value, tuple):
        return [
            to_record(part, f"{field}.{place}", arrays, otherwise)
            for place, part in enumerate(value)
        ]
    if isinstance(value, eqx.Module):
        record: dict[str, Any] = {"kind": type(value).__name__}
        for part in dataclasses.fields(value):
            record[part.name] = to_record(
                getattr(value, part.name), f"{field}.{part.name}", arrays, otherwise
            )
        return record
    if isinstance(value, int) and abs(value) > LARGEST:
        raise RecordError(field, f"{value} is more than the {LARGEST} that are read")
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return otherwise(field, value)


class Reader:
    """Builds values from records of allowed kinds; each array may be used once."""

    def __init__(self, kinds: Sequence[type], arrays: dict[str, np.ndarray]):
        self._kinds = {kind.__name__: kind for kind in kinds}
        self._unread = dict(arrays)

    def read(self, record: Any, field: str, expected: Any) -> Any:
        """Build the value that a field of type `expected` describes."""
        value = self._build(record, field)
        if not conforms(value, expected):
            raise RecordError(field, f"{_brief(value)} is not {_name(expected)}")
        return value

    def finish(self) -> None:
        """Complain of arrays that nothing refers to."""
        if self._unread:
            raise RecordError(min(self._unread), "an array that nothing refers to")

    def _build(self, record: Any, field: str) -> Any:
        if field.count(".") > DEEPEST:
            raise RecordError(field[:40], "it lies too deep")
        if isinstance(record, int) and abs(record) > LARGEST:
            raise RecordError(field, f"it is beyond {LARGEST}")
        if isinstance(record, list):
            return tuple(self._build(r, f"{field}.{i}") for i, r in enumerate(record))
        if not isinstance(record, dict):
            return record
        if set(record) == {"array"}:
            return self._array(record["array"], field)
        kind = self._kinds.get(record.get("kind", "")) if _has_kind(record) else None
        if kind is None:
            known = ", ".join(self._kinds)
            raise RecordError(f"{field}.kind", f"{record.get('kind')!r} is not {known}")
        parts = dataclasses.fields(kind)
        if set(record) != {part.name for part in parts} | {"kind"}:
            raise RecordError(field, f"not the fields of {kind.__name__}")
        values = {
            part.name: self.read(record[part.name], f"{field}.{part.name}", part.type)
            for part in parts
        }
        return kind(**values)

    def _array(self, name: Any, field: str) -> Any:
        if name != field or name not in self._unread:
            raise RecordError(field, "its array is missing")
        array = self._unread.pop(name)
        if not np.all(np.isfinite(array)):
            raise RecordError(field, "its array holds NaN or infinity")
        return jnp.asarray(array)


def conforms(value: Any, expected: Any) -> bool:
    """Whether a value has the type that a class declares for a field."""
    origin, parts = typing.get_origin(expected), typing.get_args(expected)
    if origin in (tuple, list):
        return isinstance(value, origin) and all(conforms(v, parts[0]) for v in value)
    if origin is dict:
        return isinstance(value, dict) and all(
            conforms(v, parts[1]) for v in value.values()
        )
    if origin in (typing.Union, types.UnionType):
        return any(conforms(value, part) for part in parts)
    if origin is Callable:
        return callable(value)
    if isinstance(value, bool):
        return expected is bool
    if expected is float:
        return isinstance(value, int | float)
    return isinstance(value, expected)


def _has_kind(record: dict[str, Any]) -> bool:
    return isinstance(record.get("kind"), str)


def _name(expected: Any) -> str:
    return getattr(expected, "__name__", str(expected))


def _brief(value: Any) -> str:
    return f"{type(value).__name__} {getattr(value, 'shape', value)!s:.40}"


def read_settings(record: dict[str, Any]) -> Settings:
    """Settings from JSON, each field of the type of its default.

    Fields that came later may be missing: their defaults are what was done before.
    Those that have retired are left out.
    """
    record = {name: value for name, value in record.items() if name not in RETIRED}
    known = {field.name: field.type for field in dataclasses.fields(Settings)}
    if not set(known) - LATER <= set(record) <= set(known):
        raise RecordError("settings", "not the fields of Settings")
    values: dict[str, Any] = {}
    for name, found in record.items():
        value: Any = tuple(found) if isinstance(found, list) else found
        if not conforms(value, known[name]) or not is_finite(value):
            raise RecordError(f"settings.{name}", f"{value!r:.40} has the wrong type")
        if isinstance(found, list) and len(found) > DEEPEST:
            raise RecordError(f"settings.{name}", f"{len(found)} layers")
        values[name] = float(value) if known[name] is float else value
    return Settings(**values)


def is_finite(value: Any) -> bool:
    """Whether a value is no number, or one that fits into 64 bits."""
    try:
        return not isinstance(value, int | float) or math.isfinite(value)
    except OverflowError:
        return False
