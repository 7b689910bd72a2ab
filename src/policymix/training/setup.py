"""From a task, a method and settings to what a trial is made of."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from policymix.agents.base import AbstractLearner, AbstractPupil
from policymix.agents.caps import CAPS
from policymix.agents.dqn import DQN
from policymix.agents.heads import (
    AbstractHeads,
    NetworkHeads,
    SteadyHeads,
    TableHeads,
)
from policymix.agents.judged import Judged
from policymix.agents.multipolar import Multipolar
from policymix.agents.q_learning import QLearning
from policymix.agents.sac import SAC
from policymix.beliefs.build import MixtureMaker, make_mixture
from policymix.beliefs.mixture import AbstractMixture
from policymix.beliefs.own_model import WithOwnModel
from policymix.core.encoders import AbstractEncoder, Identity, OneHot, Standardise
from policymix.core.errors import PolicymixError
from policymix.core.settings import Settings
from policymix.core.types import Box, Discrete, Space, TaskSpec
from policymix.environments.targets import horizon_of
from policymix.methods.behaviours import Epsilon
from policymix.methods.method import Given, Method, Recipe
from policymix.methods.recipes import find_recipe
from policymix.sources.experts import Experts
from policymix.sources.library import SourceLibrary
from policymix.training.arguments import a_mixture, check_settings
from policymix.training.task import TransferTask
from policymix.training.trial import LearningSetup

NOISY = 0.01
"""Stands for ε where the policy itself draws actions."""

TABLES = 2
"""Judges for each head of the settings, where values are tables."""


def build_setup(
    task: TransferTask,
    method: str | Recipe,
    settings: Settings,
    mixture: AbstractMixture | MixtureMaker | None = None,
) -> LearningSetup:
    """Put agent, mixture and method together.

    Args:
        task: prepared.
        method: its name, or a recipe of your own.
        settings: numbers for all of them.
        mixture: one of your own, or a function of the sources and the settings that
            makes it; by default what the settings ask for.
    """
    check_settings(settings)
    library, count = task.sources, len(task.sources)
    recipe = find_recipe(method, count) if isinstance(method, str) else method
    given = Given(
        settings,
        num_sources=count,
        horizon=horizon_of(task.domain.target, task.horizon),
        right_source=task.right_source,
    )
    made = recipe(given)
    if made.printed:
        settings = as_printed(settings, task.domain.study.paper)
        made = recipe(given._replace(settings=settings))
    guided = float(sum(made.form)) > 0.0
    return LearningSetup(
        spec=library.experts.spec,
        experts=library.experts if made.advised else None,
        agent=make_agent(library, made, settings, guided),
        mixture=mixture_of(library, settings, mixture, made),
        method=made,
        epsilon=exploration(library.experts.spec, settings),
        guidance=settings.guidance,
    )


def exploration(spec: TaskSpec, settings: Settings) -> Epsilon:
    """ε by episode; a policy over continuous actions explores by its own noise.

    There ε only tells leaders that something is explored, and how little that is.
    """
    if isinstance(spec.action, Box):
        return Epsilon(NOISY, decay=1.0, floor=NOISY)
    start, decay, floor = (
        settings.epsilon_start,
        settings.epsilon_decay,
        settings.epsilon_floor,
    )
    return Epsilon(start, decay, floor)


def as_printed(settings: Settings, paper: Mapping[str, Any]) -> Settings:
    """The paper's numbers where it has them, its plain learner and its algorithm 2."""
    numbers = {name: value for name, value in paper.items() if value != "table"}
    plain = {"double": False, "huber": False, "clip": 0.0, "replay": False}
    ours = {"own_model": False, "guidance": 0.0}
    return replace(settings, **plain, **ours, **numbers | {"updates": "episode"})


def mixture_of(
    library: SourceLibrary,
    settings: Settings,
    given: AbstractMixture | MixtureMaker | None,
    method: Method,
) -> AbstractMixture | None:
    """The mixture that was given, or the method's, or the settings'."""
    if not method.contextual:
        return None if method.mixture is None else method.mixture(library, settings)
    if given is None:
        return (method.mixture or make_mixture)(library, settings)
    mixture = a_mixture(given, library, settings)
    if not mixture.replays and settings.updates != "step":
        raise PolicymixError(
            f"updates is {settings.updates!r}, but {type(mixture).__name__} learns "
            'from every transition just once. Use updates="step"'
        )
    expected = len(library) + isinstance(mixture, WithOwnModel)
    found = _components(mixture, library)
    if found != expected:
        raise PolicymixError(
            f"{type(mixture).__name__} weighs {found} components, but there are "
            f"{len(library)} sources ({', '.join(library.names)}): give it "
            f"num_sources={expected}"
        )
    return mixture


def _components(mixture: AbstractMixture, library: SourceLibrary) -> int:
    observation = library.experts.spec.observation
    kind = int if isinstance(observation, Discrete) else float

    def weights() -> jax.Array:
        state = mixture.init(jax.random.key(0))
        return mixture.log_weights(state, jnp.zeros(observation.shape, kind))

    return jax.eval_shape(weights).shape[0]


def make_agent(
    library: SourceLibrary, method: Method, settings: Settings, guided: bool
) -> AbstractPupil:
    """A table or a network of values, CAPS around it for options; SAC for vectors."""
    count = len(library)
    if isinstance(library.experts.spec.action, Box):
        return make_sac(library.experts, method, settings)
    if method.judged:
        return make_judged(library.experts, settings)
    options = count if method.options else 0
    rate = settings.shaped_rate if guided else settings.learning_rate
    if method.replays:
        settings = replace(settings, replay=True)
    learner = make_learner(library.experts, settings, options, rate)
    if method.aggregates:
        return make_multipolar(learner, count)
    return CAPS(learner, count, settings.exit_rate) if options else learner


def make_sac(experts: Experts, method: Method, settings: Settings) -> SAC:
    """For actions that are vectors; methods that need finitely many are told so."""
    action = experts.spec.action
    assert isinstance(action, Box)
    wanted = {
        "takes every action for an option": method.options,
        "adds the sources' preferences among all actions to a residual": (
            method.aggregates
        ),
        "shapes the reward by Φ of the best of all actions": (
            method.shapes or method.printed
        ),
    }
    for need, needed in wanted.items():
        if needed:
            raise PolicymixError(
                f"this method {need}, but the target's actions are {action}. Choose "
                "mars, mars-explicit, mapse, ucb, follow, vote or another method that "
                "decides between two actions"
            )
    if not np.all(np.isfinite([action.low, action.high])):
        raise PolicymixError(
            f"the target's actions are {action}: SAC needs bounds on all of them. Wrap "
            "the environment in a gymnasium.ActionWrapper whose action_space is a Box "
            "with finite bounds (gymnasium.wrappers.ClipAction takes bounds away)"
        )
    if settings.layers is None:
        raise PolicymixError(
            "layers=None asks for a table, but the target's actions are vectors. Give "
            "hidden layers, for instance layers=(64, 64)"
        )
    return SAC(
        settings.discount,
        action,
        num_inputs_of(experts.spec.observation),
        settings.layers,
        value_encoder(experts),
        learning_rate=settings.learning_rate,
        target_rate=settings.target_rate,
        studies=method.judged,
    )


def num_inputs_of(observation: Space) -> int:
    """Of a network that sees an encoded observation."""
    return observation.n if isinstance(observation, Discrete) else observation.shape[0]


def make_multipolar(learner: AbstractLearner, count: int) -> Multipolar:
    """Weights and residual are learned by gradients, so a table will not do."""
    if not isinstance(learner, DQN):
        raise PolicymixError(
            "layers=None asks for a table, but multipolar learns a residual network. "
            "Give hidden layers, for instance layers=(64, 64)"
        )
    return Multipolar(learner, count)


def make_learner(
    experts: Experts, settings: Settings, options: int, rate: float
) -> AbstractLearner:
    """Values of the actions and of so many options more."""
    action, observation = experts.spec.action, experts.spec.observation
    assert isinstance(action, Discrete)
    outputs = action.n + options
    if settings.layers is None:
        if isinstance(observation, Box):
            raise PolicymixError(
                "layers=None asks for a table, but the target's observations are "
                "vectors. Give hidden layers, for instance layers=(64, 64)"
            )
        return QLearning(
            settings.discount,
            observation.n,
            outputs,
            rate,
            settings.initial_value,
            remembers=settings.replay,
        )
    return DQN(
        settings.discount,
        (num_inputs_of(observation), *settings.layers, outputs),
        value_encoder(experts),
        learning_rate=rate,
        penalty=settings.penalty,
        double=settings.double,
        huber=settings.huber,
        clip=settings.clip or None,
    )


def make_judged(experts: Experts, settings: Settings) -> Judged:
    """Half of the heads judge, the others are own values.

    Of tables one is enough for the own values; it has no doubts: what it expects at
    first makes it explore. Their judges cost next to nothing, so there are more.
    """
    if settings.heads < 4:
        raise PolicymixError(
            f"heads is {settings.heads}: mars needs at least 4, half of them to judge"
        )
    learner = make_learner(experts, settings, 0, settings.learning_rate)
    count = settings.heads // 2
    mine = settings.heads - count
    heads: AbstractHeads
    if isinstance(learner, DQN):
        student = NetworkHeads(replace(learner, huber=True))
        heads = SteadyHeads(student, mine)
    else:
        assert isinstance(learner, QLearning)
        size = (learner.num_states, learner.outputs)
        rate, initial = learner.learning_rate, learner.initial
        heads = TableHeads(*size, rate, initial)
        student = TableHeads(*size, 1.0, doubt=0.0)
        mine, count = 1, TABLES * settings.heads
    return Judged(
        heads,
        student,
        settings.discount,
        own_heads=mine,
        judges=count,
        caution=settings.caution,
    )


def value_encoder(experts: Experts) -> AbstractEncoder:
    """What a network of values sees: numbers of like size, if they were measured."""
    if isinstance(experts.spec.observation, Discrete):
        return OneHot(experts.spec.observation.n)
    scaled = isinstance(experts.encoder, Standardise)
    return experts.encoder if scaled else Identity()
