"""From settings to a mixture for a target and its sources."""

import jax.numpy as jnp

from policymix.beliefs.mixture import AbstractMixture
from policymix.beliefs.network import NetworkMixture
from policymix.beliefs.own_model import (
    AbstractOwnModel,
    OwnNetwork,
    OwnSoftmax,
    WithOwnModel,
)
from policymix.core.kernels import Gaussian
from policymix.core.settings import Settings
from policymix.core.types import Discrete, TaskSpec
from policymix.sources.dynamics import LogDensity
from policymix.sources.library import SourceLibrary


def make_mixture(
    library: SourceLibrary, spec: TaskSpec, settings: Settings
) -> AbstractMixture:
    """The paper's network over encoded observations; with `own_model` one more."""
    encoder, observation = library.experts.encoder, spec.observation
    kind = int if isinstance(observation, Discrete) else float
    inputs = encoder(jnp.zeros(observation.shape, kind)).size
    mixture = NetworkMixture(
        encoder,
        num_sources=len(library) + settings.own_model,
        num_inputs=inputs,
        layers=settings.mixture_layers,
        learning_rate=settings.mixture_rate,
        epochs=settings.epochs,
    )
    if not settings.own_model:
        return mixture
    return WithOwnModel(mixture, make_own_model(library, spec, inputs))


def make_own_model(
    library: SourceLibrary, spec: TaskSpec, inputs: int
) -> AbstractOwnModel:
    """A model of the target, judged by the kernel of the sources."""
    encoder, action = library.experts.encoder, spec.action
    num_actions = action.n if isinstance(action, Discrete) else action.shape[0]
    if isinstance(spec.observation, Discrete):
        return OwnSoftmax(encoder, inputs, num_actions, spec.observation.n)
    judged = (s for s in library.sources if not isinstance(s.dynamics, LogDensity))
    first = next(judged, None)
    kernel = Gaussian() if first is None else first.kernel
    return OwnNetwork(encoder, kernel, inputs, num_actions)
