"""From a task, a method and settings to what a trial is made of."""

import jax.numpy as jnp

from policymix.agents.caps import CAPS
from policymix.agents.dqn import DQN
from policymix.agents.learner import AbstractAgent, AbstractLearner
from policymix.agents.q_learning import QLearning
from policymix.behaviours import Epsilon
from policymix.catalogue import TransferTask
from policymix.encoders import Identity, OneHot
from policymix.errors import PolicymixError
from policymix.methods import Given, Method, Recipe, find_recipe
from policymix.network_mixture import NetworkMixture
from policymix.settings import PAPER, Settings
from policymix.sources import SourceLibrary
from policymix.trial import Problem
from policymix.types import Box, Discrete, TaskSpec


def settings_of(task: TransferTask) -> Settings:
    """The paper's settings of a domain; the defaults for any other."""
    return PAPER.get(task.domain.name, Settings())


def build_problem(
    task: TransferTask, method: str | Recipe, settings: Settings
) -> Problem:
    """Put agent, mixture and method together.

    Args:
        task: a target and its sources.
        method: its name, or a recipe of your own.
        settings: numbers for all of them.
    """
    library = task.sources
    spec, count = library.experts.spec, len(library)
    recipe = find_recipe(method, count) if isinstance(method, str) else method
    made = recipe(Given(settings, count, task.right_source))
    guided = float(sum(made.form)) > 0.0
    return Problem(
        spec,
        library.experts if made.advised else None,
        make_agent(spec, made, settings, count, guided),
        make_mixture(library, spec, settings) if made.contextual else None,
        made,
        Epsilon(settings.epsilon_start, settings.epsilon_decay, settings.epsilon_floor),
    )


def make_agent(
    spec: TaskSpec, method: Method, settings: Settings, count: int, guided: bool
) -> AbstractAgent:
    """A table or a network of values; CAPS around it for options."""
    options = count if method.options else 0
    rate = settings.shaped_rate if guided else settings.learning_rate
    learner = make_learner(spec, settings, options, rate)
    return CAPS(learner, count, settings.exit_rate) if options else learner


def make_learner(
    spec: TaskSpec, settings: Settings, options: int, rate: float
) -> AbstractLearner:
    """Values of the actions and of so many options more."""
    action, observation = spec.action, spec.observation
    if not isinstance(action, Discrete):
        raise PolicymixError(
            f"the target's actions are {action}: the learners here need a finite set "
            "of actions (Discrete)"
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
    discrete = isinstance(observation, Discrete)
    inputs = observation.n if discrete else len(observation.low)
    return DQN(
        settings.discount,
        (inputs, *settings.layers, outputs),
        OneHot(inputs) if discrete else Identity(),
        learning_rate=rate,
        penalty=settings.penalty,
        double=settings.double,
        huber=settings.huber,
    )


def make_mixture(
    library: SourceLibrary, spec: TaskSpec, settings: Settings
) -> NetworkMixture:
    """The paper's network over encoded observations."""
    observation = spec.observation
    kind = int if isinstance(observation, Discrete) else float
    inputs = library.encoder(jnp.zeros(observation.shape, kind)).size
    return NetworkMixture(
        *(library.encoder, len(library), inputs),
        *(settings.mixture_layers, settings.mixture_rate, settings.epochs),
    )
