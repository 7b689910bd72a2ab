"""What we know: source tasks and their library."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float

from policymix.core import encoders, kernels, networks, perceptron
from policymix.core.encoders import AbstractEncoder
from policymix.core.errors import SourceError
from policymix.core.kernels import AbstractKernel
from policymix.core.types import Action, Box, Discrete, Observation, Space, TaskSpec
from policymix.environments.registry import known_domain
from policymix.sources import dynamics, foreign, policies
from policymix.sources.checks import (
    check_names,
    check_source,
    check_sources,
    probe_observations,
)
from policymix.sources.experts import Experts, SourceTask, experts_of
from policymix.sources.maps import translate
from policymix.storage.folders import pack, read_folder, write_folder
from policymix.storage.records import LARGEST, Reader, RecordError, blaming, to_record

FORMAT, VERSION = "policymix source library", 1
KINDS = (
    *(encoders.Identity, encoders.Clip, encoders.Standardise),
    *(encoders.OneHot, encoders.OneHotGrid),
    *(kernels.Gaussian, kernels.StudentT, kernels.Indicator),
    *(policies.TablePolicy, policies.GreedyPolicy, policies.SoftmaxPolicy),
    *(policies.ClippedPolicy, policies.SquashedPolicy),
    *(networks.MLP, perceptron.Perceptron),
    *(dynamics.TableDynamics, dynamics.NetworkDynamics, dynamics.BoundedDynamics),
    *(dynamics.CoveredDynamics, dynamics.CoverageAlone, dynamics.CoverageApart),
    dynamics.LogDensity,
    *(foreign.ForeignPolicy, foreign.ForeignDynamics),
    *(foreign.Components, foreign.Entries, foreign.ActionTable),
)
"""What a library folder may hold besides the kinds of its domain; nothing else is ever
built from a file."""
SAVED_MAPS = (
    "Maps that are functions stay in your program; lists and tables of observe, act "
    "and act_inverse are saved"
)

MOST_STATES = 2**24
"""Of a finite space that is read from a file."""


@dataclass(frozen=True)
class SourceLibrary:
    """The sources that may help with a target, in a fixed order.

    Args:
        sources: at least one; their names must differ.
        spec: the target's spaces. `for_target` sets them later.
        encoder: turns observations into the vectors that kernels compare and mixtures
            read, so that a precision means the same in every component. None leaves
            the choice to the task: an own target's observations are scaled by the
            spread of source data; otherwise they are taken as they are.
        tried: whether `for_target` has tried and adapted the sources.
    """

    sources: Sequence[SourceTask]
    spec: TaskSpec | None = None
    encoder: AbstractEncoder | None = None
    tried: bool = field(default=False, repr=False, compare=False)

    def __post_init__(self):
        object.__setattr__(self, "sources", check_sources(self.sources))
        check_names([source.name for source in self.sources])

    def __len__(self) -> int:
        return len(self.sources)

    @property
    def names(self) -> tuple[str, ...]:
        """The sources' names, in order."""
        return tuple(source.name for source in self.sources)

    def for_target(
        self, spec: TaskSpec, observations: Array | None = None
    ) -> "SourceLibrary":
        """The same sources, adapted to the spaces of a target and tried there.

        Args:
            spec: the target's spaces.
            observations: some of the target's, to try the sources on; by default draws
                from its space.

        Raises:
            SourceError: says which source is unsound, and what to do.
        """
        probes = observations
        if probes is None:
            probes = probe_observations(spec.observation)
        sources = tuple(translate(source, spec, probes) for source in self.sources)
        ready = replace(self, sources=sources, spec=spec, tried=True)
        for source in ready.sources:
            check_source(source, ready.experts, probes)
        return ready

    @cached_property
    def experts(self) -> Experts:
        """All sources together, for compiled code; they are tried first, if need be."""
        if self.spec is None:
            raise SourceError(
                "the library does not know its target's spaces. "
                "Give SourceLibrary(..., spec=TaskSpec(...)) or call for_target(spec)"
            )
        if not self.tried:
            return self.for_target(self.spec).experts
        return experts_of(self.sources, self.spec, self.encoder)

    def advise(self, obs: Observation) -> Float[Array, "n advice"]:
        """Every source's advice in one state."""
        return self.experts.advise(obs)

    def log_likelihoods(
        self, obs: Observation, action: Action, next_obs: Observation
    ) -> Float[Array, " n"]:
        """How well every source explains one transition."""
        return self.experts.log_likelihoods(obs, action, next_obs)

    def save(self, folder: str | Path, facts: dict[str, Any] | None = None) -> None:
        """Write a new folder of arrays and a manifest.

        Args:
            folder: must not exist yet, or be empty.
            facts: anything JSON can hold (how the sources were trained, scores, …).
        """
        arrays: dict[str, np.ndarray] = {}
        manifest = {**library_record(self, arrays), "facts": facts or {}}
        write_folder(Path(folder), pack(FORMAT, VERSION, manifest, arrays))

    @classmethod
    def load(cls, folder: str | Path) -> "SourceLibrary":
        """Read a folder; no code in it is ever executed."""
        return read_library_folder(Path(folder))[0]


def read_library_folder(folder: Path) -> tuple[SourceLibrary, dict[str, Any]]:
    """A library, and what was written down when it was saved."""
    manifest, arrays = read_folder(folder, FORMAT, VERSION)
    with blaming(folder, "sources"):
        facts = manifest.get("facts")
        if not isinstance(facts, dict):
            raise RecordError("facts", "not an object")
        reader = Reader(kinds_of(facts.get("domain")), arrays)
        return read_library(manifest, reader), facts


def kinds_of(domain: Any) -> tuple[type, ...]:
    """What may be built from a file with sources for a domain of that name."""
    known = known_domain(domain) if isinstance(domain, str) else None
    return KINDS if known is None else KINDS + known.kinds


def library_record(
    library: SourceLibrary, arrays: dict[str, np.ndarray]
) -> dict[str, Any]:
    """Describe a library; its arrays are added to `arrays`."""
    if not library.tried:
        library = library.for_target(library.experts.spec)
    try:
        records = [
            {
                "name": source.name,
                "policy": to_record(source.policy, f"{i}.policy", arrays),
                "dynamics": to_record(source.dynamics, f"{i}.dynamics", arrays),
                "kernel": to_record(source.kernel, f"{i}.kernel", arrays),
            }
            for i, source in enumerate(library.sources)
        ]
        encoder = to_record(library.experts.encoder, "encoder", arrays)
    except RecordError as error:
        maps = any(part in error.field for part in (".observe", ".act", ".ask"))
        hint = f". {SAVED_MAPS}" if maps else ""
        raise SourceError(f"the library cannot be saved: {error}{hint}") from None
    spec = _spec_record(library.experts.spec)
    return {"spec": spec, "encoder": encoder, "sources": records}


def read_library(manifest: dict[str, Any], reader: Reader) -> SourceLibrary:
    """Build the library that a record describes."""
    records = manifest.get("sources")
    if not isinstance(records, list):
        raise RecordError("sources", "not a list")
    sources = []
    for i, record in enumerate(records):
        parts = {"name", "policy", "dynamics", "kernel"}
        if not isinstance(record, dict) or set(record) != parts:
            raise RecordError(f"sources.{i}", f"not an object of {sorted(parts)}")
        sources.append(
            SourceTask(
                reader.read(record["name"], f"{i}.name", str),
                reader.read(record["policy"], f"{i}.policy", eqx.Module),
                reader.read(record["dynamics"], f"{i}.dynamics", eqx.Module),
                reader.read(record["kernel"], f"{i}.kernel", AbstractKernel),
            )
        )
    encoder = reader.read(manifest.get("encoder"), "encoder", AbstractEncoder)
    reader.finish()
    library = SourceLibrary(sources, encoder=encoder)
    return library.for_target(_read_spec(manifest.get("spec")))


def _spec_record(spec: TaskSpec) -> dict[str, Any]:
    def record(space: Space) -> dict[str, Any]:
        if isinstance(space, Discrete):
            return {"n": space.n}
        finite = [
            [b if np.isfinite(b) else None for b in bounds]
            for bounds in (space.low, space.high)
        ]
        return {"low": finite[0], "high": finite[1]}

    return {"observation": record(spec.observation), "action": record(spec.action)}


def _read_spec(record: Any) -> TaskSpec:
    try:
        observation = _read_space(record["observation"], MOST_STATES)
        return TaskSpec(observation, _read_space(record["action"], LARGEST))
    except (TypeError, KeyError, ValueError):
        raise RecordError("spec", "not a pair of spaces") from None


def _read_space(record: dict[str, Any], most: int) -> Space:
    if set(record) == {"n"}:
        if type(record["n"]) is not int or not 1 <= record["n"] <= most:
            raise ValueError
        return Discrete(record["n"])
    low = tuple(-np.inf if b is None else float(b) for b in record["low"])
    high = tuple(np.inf if b is None else float(b) for b in record["high"])
    pairs = zip(low, high, strict=True)
    if not 0 < len(low) <= LARGEST or not all(a <= b for a, b in pairs):
        raise ValueError
    return Box(low, high)
