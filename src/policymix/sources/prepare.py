"""A library made ready for its target."""

from dataclasses import replace

from jaxtyping import Array

from policymix.core.encoders import OneHot
from policymix.core.types import Discrete, TaskSpec
from policymix.sources.library import SourceLibrary
from policymix.sources.units import measure_scale


def prepare_sources(
    sources: SourceLibrary, spec: TaskSpec, probes: Array
) -> SourceLibrary:
    """Sources tried on a target, its observations brought to like units.

    Args:
        sources: as the user has them.
        spec: spaces of the target.
        probes: some of its observations.
    """
    if sources.encoder is None and isinstance(spec.observation, Discrete):
        sources = replace(sources, encoder=OneHot(spec.observation.n))
    library = sources.for_target(spec, probes)
    if library.encoder is not None:
        return library
    scale = measure_scale(library.sources, library.experts, probes)
    return replace(library, encoder=scale)
