"""What must be the same for rows to belong together: target and sources, as digests."""

import hashlib
from typing import Any

from policymix.sources.fingerprint import fingerprint
from policymix.training.task import TransferTask


def identity_of(task: TransferTask) -> dict[str, Any]:
    """A digest for every source; of a target of the user's own, too, if it repeats.

    Sources count by what they are made of, the user's own also by what they answered.
    """
    answered = {} if task.prints is None else task.prints.sources
    found: dict[str, Any] = {"sources": {}}
    for source in task.sources.sources:
        parts = fingerprint(source), answered.get(source.name)
        found["sources"][source.name] = _joined(*parts)
    if task.prints is not None and task.prints.target is not None:
        found["target"] = task.prints.target
    return found


def _joined(made_of: str, answered: str | None) -> str:
    if answered is None:
        return made_of
    return hashlib.sha256((made_of + answered).encode()).hexdigest()
