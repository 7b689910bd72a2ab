"""From a task, a method and settings to what a trial is made of."""

import jax.numpy as jnp

from policymix.agents.base import AbstractAgent, AbstractLearner
from policymix.agents.caps import CAPS
from policymix.agents.dqn import DQN
from policymix.agents.q_learning import QLearning
from policymix.beliefs.mixture import AbstractMixture
from policymix.beliefs.network import NetworkMixture
from policymix.beliefs.own_model import (
    AbstractOwnModel,
    OwnNetwork,
    OwnSoftmax,
    WithOwnModel,
)
from policymix.core.encoders import AbstractEncoder, Identity, OneHot, Standardise
from policymix.core.errors import PolicymixError
from policymix.core.kernels import Gaussian
from policymix.core.settings import Settings
from policymix.core.types import Box, Discrete, TaskSpec
from policymix.environments.targets import horizon_of
from policymix.methods.behaviours import Epsilon
from policymix.methods.method import Given, Method, Recipe
from policymix.methods.recipes import find_recipe
from policymix.sources.dynamics import LogDensity
from policymix.sources.experts import Experts
from policymix.sources.library import SourceLibrary
from policymix.training.step import LearningSetup
from policymix.training.task import TransferTask


def build_problem(
    task: TransferTask, method: str | Recipe, settings: Settings
) -> LearningSetup:
    """Put agent, mixture and method together.

    Args:
        task: a target and its sources.
        method: its name, or a recipe of your own.
        settings: numbers for all of them.
    """
    library = task.sources
    spec, count = library.experts.spec, len(library)
    recipe = find_recipe(method, count) if isinstance(method, str) else method
    horizon = horizon_of(task.domain.family().target, task.horizon)
    made = recipe(
        Given(
            settings,
            num_sources=count,
            horizon=horizon,
            right_source=task.right_source,
        )
    )
    guided = float(sum(made.form)) > 0.0
    return LearningSetup(
        spec,
        library.experts if made.advised else None,
        make_agent(library, made, settings, guided),
        make_mixture(library, spec, settings) if made.contextual else None,
        made,
        Epsilon(settings.epsilon_start, settings.epsilon_decay, settings.epsilon_floor),
    )


def make_agent(
    library: SourceLibrary, method: Method, settings: Settings, guided: bool
) -> AbstractAgent:
    """A table or a network of values; CAPS around it for options."""
    count = len(library)
    options = count if method.options else 0
    rate = settings.shaped_rate if guided else settings.learning_rate
    learner = make_learner(library.experts, settings, options, rate)
    return CAPS(learner, count, settings.exit_rate) if options else learner


def make_learner(
    experts: Experts, settings: Settings, options: int, rate: float
) -> AbstractLearner:
    """Values of the actions and of so many options more."""
    action, observation = experts.spec.action, experts.spec.observation
    if not isinstance(action, Discrete):
        raise PolicymixError(
            f"the target's actions are {action}: the learners of policymix.train need "
            "a finite set of actions (Discrete). For continuous actions use MarsSAC or "
            "MapseSAC of policymix.bridges.stable_baselines3"
        )
    outputs = action.n + options
    if settings.layers is None:
        if isinstance(observation, Box):
            raise PolicymixError(
                "layers=None asks for a table, but the target's observations are "
                "vectors. Give hidden layers, for instance layers=(64, 64)"
            )
        return QLearning(
            settings.discount, observation.n, outputs, rate, settings.initial_value
        )
    encoder = value_encoder(experts)
    inputs = (
        observation.n if isinstance(observation, Discrete) else observation.shape[0]
    )
    return DQN(
        settings.discount,
        (inputs, *settings.layers, outputs),
        encoder,
        learning_rate=rate,
        penalty=settings.penalty,
        double=settings.double,
        huber=settings.huber,
    )


def value_encoder(experts: Experts) -> AbstractEncoder:
    """What a network of values sees: numbers of like size, if they were measured."""
    if isinstance(experts.spec.observation, Discrete):
        return OneHot(experts.spec.observation.n)
    scaled = isinstance(experts.encoder, Standardise)
    return experts.encoder if scaled else Identity()


def make_mixture(
    library: SourceLibrary, spec: TaskSpec, settings: Settings
) -> AbstractMixture:
    """The paper's network over encoded observations; with `own_model` one more."""
    encoder, observation = library.experts.encoder, spec.observation
    kind = int if isinstance(observation, Discrete) else float
    inputs = encoder(jnp.zeros(observation.shape, kind)).size
    mixture = NetworkMixture(
        *(encoder, len(library) + settings.own_model, inputs),
        *(settings.mixture_layers, settings.mixture_rate, settings.epochs),
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
