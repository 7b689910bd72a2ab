"""What was run, written down so that it can be run again."""

import platform
from collections.abc import Sequence
from dataclasses import asdict
from importlib.metadata import version
from typing import Any

import jax

from policymix.core.settings import Settings
from policymix.sources.fingerprint import fingerprint
from policymix.storage.runs import FORMAT, VERSION
from policymix.training.task import TransferTask

PACKAGES = ("policymix", "jax", "jaxlib", "equinox", "optax", "numpy", "gymnasium")


def describe(
    task: TransferTask,
    methods: Sequence[str],
    settings: Settings,
    seed: int,
    trials: int,
) -> dict[str, Any]:
    """All that a reader needs to know in order to run it again."""
    device, sources = jax.devices()[0], task.sources.sources
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
        "sources": {source.name: fingerprint(source) for source in sources},
        "source_samples": {name: origins[name]["samples"] for name in origins},
        "versions": {
            "python": platform.python_version(),
            **{package: version(package) for package in PACKAGES},
        },
        "devices": f"{len(jax.devices())} × {device.device_kind}",
        "wall_seconds": {},
    }
