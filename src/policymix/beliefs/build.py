"""From settings to the mixture of a library: one place for training and for bridges."""

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

import jax.numpy as jnp

from policymix.beliefs.dirichlet import DirichletMixture
from policymix.beliefs.mixture import AbstractMixture
from policymix.beliefs.network import (
    AbstractPrior,
    Coverage,
    GaussianPrior,
    LaplacePrior,
    NetworkMixture,
    UniformPrior,
)
from policymix.beliefs.own_model import (
    HANDICAP,
    AbstractOwnModel,
    OwnNetwork,
    OwnSoftmax,
    OwnTable,
    WithOwnModel,
)
from policymix.beliefs.precisions import (
    AbstractPrecision,
    FixedPrecision,
    LearnedPrecision,
)
from policymix.beliefs.vote import Vote
from policymix.core.encoders import Constant
from policymix.core.errors import PolicymixError
from policymix.core.kernels import AbstractKernel, Gaussian
from policymix.core.settings import Settings
from policymix.core.types import Discrete
from policymix.sources.dynamics import AbstractCovered, LogDensity
from policymix.sources.library import SourceLibrary

MixtureMaker: TypeAlias = Callable[[SourceLibrary, Settings], AbstractMixture]
"""Makes the mixture of prepared sources; `make_mixture` is one."""


def make_mixture(library: SourceLibrary, settings: Settings) -> AbstractMixture:
    """What the settings ask for: a network or exact beliefs; `own_model` adds to both.

    Args:
        library: prepared for its target.
        settings: see `mixture`, `mixture_prior`, `precision` and `concentration`.
    """
    _check("mixture", settings.mixture, ("network", "dirichlet"))
    if settings.mixture == "dirichlet":
        mixture = _exact(library, settings)
    else:
        mixture = _network(library, settings)
    return _with_own_model(mixture, library, settings)


def make_global_mixture(library: SourceLibrary, settings: Settings) -> AbstractMixture:
    """The settings' network, but blind: its weights are the same in every state.

    Likelihoods and an own model see what they see otherwise.
    """
    network = _network(library, replace(settings, mixture="network"))
    blind = replace(network, encoder=Constant(), num_inputs=1)
    return _with_own_model(blind, library, settings)


def make_vote(library: SourceLibrary, settings: Settings) -> AbstractMixture:
    """The same weight for all sources."""
    del settings
    return Vote(len(library))


def _with_own_model(
    mixture: AbstractMixture, library: SourceLibrary, settings: Settings
) -> AbstractMixture:
    if not settings.own_model:
        return mixture
    return WithOwnModel(mixture, make_own_model(library, settings))


def make_own_model(library: SourceLibrary, settings: Settings) -> AbstractOwnModel:
    """A model of the target, judged by the kernel of the sources."""
    encoder, spec = library.experts.encoder, library.experts.spec
    action, observation = spec.action, spec.observation
    num_actions = action.n if isinstance(action, Discrete) else action.shape[0]
    if not isinstance(observation, Discrete):
        inputs = _num_inputs(library)
        return OwnNetwork(encoder, own_kernel(library), inputs, num_actions)
    if settings.mixture == "dirichlet":
        return OwnTable(observation.n, num_actions)
    return OwnSoftmax(encoder, _num_inputs(library), num_actions, observation.n)


def own_kernel(library: SourceLibrary) -> AbstractKernel:
    """Of the first source that has one."""
    judged = (s for s in library.sources if not isinstance(s.dynamics, LogDensity))
    first = next(judged, None)
    return Gaussian() if first is None else first.kernel


def _network(library: SourceLibrary, settings: Settings) -> NetworkMixture:
    return NetworkMixture(
        library.experts.encoder,
        num_sources=len(library) + settings.own_model,
        num_inputs=_num_inputs(library),
        layers=settings.mixture_layers,
        learning_rate=settings.mixture_rate,
        epochs=settings.epochs,
        prior=_prior(settings),
        precision=_precision(library, settings),
        coverage=_coverage(library, settings),
    )


def _exact(library: SourceLibrary, settings: Settings) -> DirichletMixture:
    observation = library.experts.spec.observation
    if not isinstance(observation, Discrete):
        raise PolicymixError(
            'mixture="dirichlet" counts for every state, but the target\'s '
            'observations are vectors. Use mixture="network"'
        )
    if (settings.mixture_prior, settings.precision) != ("uniform", "fixed"):
        raise PolicymixError(
            'mixture_prior and precision belong to mixture="network"; the prior of '
            'mixture="dirichlet" is its concentration. Leave those two as they are'
        )
    if settings.updates != "step":
        raise PolicymixError(
            f'updates is {settings.updates!r}, but mixture="dirichlet" learns from '
            'every transition just once. Use updates="step"'
        )
    count = len(library) + settings.own_model
    return DirichletMixture(observation.n, count, settings.concentration)


def _prior(settings: Settings) -> AbstractPrior:
    name, strength = settings.mixture_prior, settings.prior_strength
    priors = {
        "uniform": UniformPrior(),
        "coverage": UniformPrior(),
        "gaussian": GaussianPrior(strength),
        "laplace": LaplacePrior(strength),
    }
    _check("mixture_prior", name, tuple(priors))
    return priors[name]


def _coverage(library: SourceLibrary, settings: Settings) -> Coverage | None:
    if settings.mixture_prior != "coverage":
        return None
    known = [source.dynamics for source in library.sources]
    for source in library.sources:
        if not isinstance(source.dynamics, AbstractCovered):
            raise PolicymixError(
                f"source {source.name!r} does not know which states it has seen, so "
                'mixture_prior="coverage" has nothing to go by. Use "uniform"'
            )
    return Coverage(tuple(known), settings.prior_strength, int(settings.own_model))


def _precision(library: SourceLibrary, settings: Settings) -> AbstractPrecision:
    """Fixed, or learned from where each component's kernel has it."""
    name = settings.precision
    _check("precision", name, ("fixed", "learned", "per-state"))
    if name == "fixed":
        return FixedPrecision()
    inputs = _num_inputs(library)
    normalisers = []
    for source in library.sources:
        if isinstance(source.dynamics, LogDensity):
            raise PolicymixError(
                f"source {source.name!r} has a density of its own and no kernel, so "
                f'precision="{name}" has nothing to learn there. Use precision="fixed"'
            )
        normalisers.append(source.kernel.log_normaliser(inputs))
    if settings.own_model:
        if isinstance(library.experts.spec.observation, Discrete):
            raise PolicymixError(
                f"own_model=True counts next states and has no kernel, so "
                f'precision="{name}" has nothing to learn there. Use own_model=False, '
                'or precision="fixed"'
            )
        own = own_kernel(library).log_normaliser(inputs)
        normalisers.append(own - HANDICAP)
    return LearnedPrecision(
        inputs, jnp.stack(normalisers), per_state=name == "per-state"
    )


def _num_inputs(library: SourceLibrary) -> int:
    """Length of an encoded observation."""
    observation = library.experts.spec.observation
    kind = int if isinstance(observation, Discrete) else float
    return library.experts.encoder(jnp.zeros(observation.shape, kind)).size


def _check(setting: str, found: str, known: tuple[str, ...]) -> None:
    if found not in known:
        names = ", ".join(f'"{name}"' for name in known)
        raise PolicymixError(f"{setting} is {found!r}: choose one of {names}")
