"""The lander's likelihood taken apart: its model alone, coverage alone, or a prior."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from policymix.domains.lander.experiment import LANDER
from policymix.environments.domain import Domain
from policymix.sources.dynamics import (
    AbstractCovered,
    CoverageAlone,
    CoverageApart,
)
from policymix.sources.library import SourceLibrary

ABLATED = ("mars-explicit", "follow")
"""What shows a difference between likelihoods."""
STRENGTH = 50.0
"""Of the prior: a source loses half a nat at a distance of 0.1."""


def judged_by(kind: type[AbstractCovered]) -> Callable[[SourceLibrary], SourceLibrary]:
    """The same sources, their models judged in another way."""

    def alter(library: SourceLibrary) -> SourceLibrary:
        def one(source: Any) -> Any:
            known = source.dynamics
            dynamics = kind(known.model, known.encoder, known.seen)
            return replace(source, dynamics=dynamics)

        return replace(library, sources=tuple(map(one, library.sources)))

    return alter


def ablation(
    name: str, title: str, kind: type[AbstractCovered], **numbers: Any
) -> Domain:
    """The lander with another likelihood; both terms together are the lander."""
    return replace(
        LANDER,
        name=name,
        settings=replace(LANDER.settings, **numbers),
        alter=judged_by(kind),
        home=LANDER.name,
        trainer=None,
        study=replace(
            LANDER.study,
            title=f"Transfer-SparseLunarLander, {title}",
            sweeps={},
            methods=ABLATED,
            claims=(),
            paper={},
        ),
    )


MODEL = ablation("lander-model", "judged by models alone", CoverageApart)
COVERAGE = ablation("lander-coverage", "judged by coverage alone", CoverageAlone)
PRIOR = ablation(
    "lander-prior",
    "coverage as a prior",
    CoverageApart,
    mixture_prior="coverage",
    prior_strength=STRENGTH,
)
