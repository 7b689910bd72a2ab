"""A digest of all that a source is, so that runs with other sources are told apart."""

import hashlib
from types import CodeType
from typing import Any

import numpy as np

from policymix.sources.experts import SourceTask
from policymix.storage.records import to_record


def fingerprint(source: SourceTask) -> str:
    """SHA-256 of a source's tables and networks; plain functions count by their code.

    What a function reads from outside itself does not count.
    """
    arrays: dict[str, np.ndarray] = {}
    record = to_record(source, "source", arrays, otherwise=_stand_in)
    for part in ("observe", "act", "act_inverse"):
        if record[part] is None:  # as it was before sources had maps
            del record[part]
    content = repr(record).encode() + b"".join(
        arrays[name].tobytes() for name in sorted(arrays)
    )
    return hashlib.sha256(content).hexdigest()


def _stand_in(field: str, value: Any) -> Any:
    """For what no file can hold."""
    del field
    code = getattr(value, "__code__", None)
    if isinstance(code, CodeType):
        return _code(code)
    return f"{type(value).__module__}.{type(value).__qualname__}"


def _code(code: CodeType) -> list[Any]:
    """What a function does, wherever it was written."""
    constants = [
        _code(c) if isinstance(c, CodeType) else repr(c) for c in code.co_consts
    ]
    return [code.co_code.hex(), list(code.co_names), constants]
