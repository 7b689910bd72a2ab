"""What was run, written down so that it can be run again."""

import json
import platform
from collections.abc import Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jax

from policymix.core.errors import FileFormatError
from policymix.core.settings import Settings
from policymix.storage.folders import canonical
from policymix.storage.records import read_settings
from policymix.storage.runs import FACTS, FORMAT, VERSION, read_run
from policymix.training.identity import identity_of
from policymix.training.task import TransferTask

DIGEST = 64
"""Letters of a SHA-256."""
PACKAGES = ("policymix", "jax", "jaxlib", "equinox", "optax", "numpy", "gymnasium")


def describe(
    task: TransferTask,
    methods: Sequence[str],
    settings: Settings,
    seed: int,
    trials: int,
) -> dict[str, Any]:
    """All that a reader needs to know in order to run it again."""
    device = jax.devices()[0]
    origins = task.facts.get("sources", {})
    return {
        "format": FORMAT,
        "version": VERSION,
        "status": "running",
        "domain": task.domain.name,
        "measure": task.domain.measure,
        "better": task.domain.better,
        "methods": list(methods),
        "seed": seed,
        "trials": trials,
        "settings": asdict(settings),
        **identity_of(task),
        "source_samples": {name: origins[name]["samples"] for name in origins},
        "versions": {
            "python": platform.python_version(),
            **{package: version(package) for package in PACKAGES},
        },
        "devices": f"{len(jax.devices())} × {device.device_kind}",
        "wall_seconds": {},
    }


def check_facts_alike(
    folder: Path, facts: dict[str, Any], names: Sequence[str]
) -> None:
    """What was run in a folder must be what is to be run."""
    found = dict(read_run(folder).facts)
    # Settings that came later were not written down: they had their defaults.
    settings = {"settings": asdict(read_settings(found["settings"]))}
    found |= json.loads(canonical(settings))
    wanted = json.loads(canonical(facts))
    for name in names:
        was, now = found.get(name), wanted.get(name)
        if was != now:
            raise FileFormatError(
                folder / FACTS,
                name,
                unlike(was, now),
                "Choose another folder for --out, or delete this one to run it again",
            )


def unlike(was: Any, now: Any) -> str:
    """In which way something differs; of digests only whose they are."""
    if not isinstance(now, dict) or not isinstance(was, dict):
        return f"{was!r}, but this experiment would have {now!r}"
    names = [name for name in {**was, **now} if was.get(name) != now.get(name)]
    told = [
        name
        if isinstance(was.get(name), str) and len(str(was[name])) == DIGEST
        else f"{name} was {was.get(name)!r} and is {now.get(name)!r}"
        for name in names
    ]
    return f"not what this experiment would run: {', '.join(told)}"
