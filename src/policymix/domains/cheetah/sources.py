"""Cheetah sources: a policy of SAC's for each physics, and the simulator itself.

The simulators are the dynamics, so only policies are kept in files.
`benchmarks/cheetah.py` trains them.
"""

from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import equinox as eqx
import numpy as np

from policymix.domains.cheetah.task import FAMILY, make_cheetah, set_cheetah
from policymix.sources.experts import SourceTask
from policymix.sources.library import KINDS, SourceLibrary
from policymix.sources.simulators import Simulator
from policymix.storage.folders import pack, read_folder, write_folder
from policymix.storage.records import Reader, blaming, to_record

FORMAT, VERSION = "policymix policies", 1


def cheetah_sources() -> SourceLibrary:
    """The shipped policies of Transfer-Cheetah, each with its simulator."""
    with as_file(files("policymix.domains.cheetah") / "library") as folder:
        policies = load_policies(folder)
    return SourceLibrary(
        [
            SourceTask(name, policies[name], Simulator(make_cheetah(name), set_cheetah))
            for name in FAMILY.sources
        ]
    )


def save_policies(
    folder: Path, policies: dict[str, eqx.Module], facts: dict[str, Any]
) -> None:
    """Write a new folder of policies."""
    arrays: dict[str, np.ndarray] = {}
    records = {name: to_record(p, name, arrays) for name, p in policies.items()}
    content = {"policies": records, "facts": facts}
    write_folder(folder, pack(FORMAT, VERSION, content, arrays))


def load_policies(folder: Path) -> dict[str, eqx.Module]:
    """Read a folder of policies; no code in it is ever executed."""
    manifest, arrays = read_folder(folder, FORMAT, VERSION)
    with blaming(folder, "policies"):
        reader = Reader(KINDS, arrays)
        policies = {
            name: reader.read(record, name, eqx.Module)
            for name, record in manifest["policies"].items()
        }
        reader.finish()
        return policies
