"""Source tasks, and all those of a library evaluated together.

Sources of one architecture are stacked and evaluated by one batched call, so ninety-six
small networks cost little more than three. What cannot be stacked, plain functions for
instance, is called one by one.
"""

from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

from policymix.core.encoders import AbstractEncoder, plain_encoder
from policymix.core.kernels import AbstractKernel, Gaussian
from policymix.core.types import Action, Discrete, Observation, Scalar, TaskSpec
from policymix.sources.asking import Answers, told
from policymix.sources.dynamics import AbstractCovered, LogDensity
from policymix.sources.foreign import ForeignDynamics
from policymix.sources.policies import probabilities_of

LEAST = -1e6
"""A log-likelihood that stands for "impossible": were every source at −∞, a mixture's
loss would be infinite and its gradient no number."""


class SourceTask(eqx.Module):
    """A task solved before: what to do in it, and what happens in it.

    Args:
        name: readable; reports and complaints use it.
        policy: a function of one observation that returns an action's index, action
            probabilities or, for continuous actions, the action; an object with
            `predict(obs, deterministic=True)`, as Stable-Baselines3's models have it;
            or a table: an array with an action for each state.
        dynamics: a function (obs, action) -> next_obs; a Gymnasium environment whose
            state can be set, see `Simulator`; a `LogDensity`; `fit_dynamics(…).model`;
            or a table of next states.
        kernel: turns a prediction's error into a log-likelihood. Its precision is per
            encoded unit: per spread of the source data, where observations are scaled.
        observe: the target's observation as the source's, if the source speaks another
            language: a function, a list of the components that it sees, or, for a
            target of numbered states, a table with the source's state for each.
        act: the source's action as the target's: a list with the target's action for
            each of the source's, or a function.
        act_inverse: the target's action as the source's, for the dynamics; only needed
            where `act` cannot be inverted. −1 stands for an action it does not know.

    Policy and dynamics of a source with maps are its own: they take and return what the
    source observes and does. Plain functions may use NumPy, `if` and chance; those that
    use jax.numpy only are compiled and run much faster.
    """

    name: str = eqx.field(static=True)
    policy: Any
    dynamics: Any
    kernel: AbstractKernel = eqx.field(default_factory=Gaussian)
    observe: Any = None
    act: Any = None
    act_inverse: Any = None


class Stack(eqx.Module):
    """Members of one architecture, their arrays joined along a leading axis."""

    members: PyTree
    places: tuple[int, ...] = eqx.field(static=True)
    batched: bool = eqx.field(static=True)

    def map(self, call: Callable[[PyTree], Array]) -> Float[Array, " members *shape"]:
        """Apply a function to every member."""
        if self.batched:
            return eqx.filter_vmap(call, in_axes=eqx.if_array(0))(self.members)
        return call(self.members)[None]


def stack_alike(items: Sequence[PyTree]) -> tuple[Stack, ...]:
    """Group items that differ only in the values of their arrays."""
    groups: list[list[int]] = []
    for place, item in enumerate(items):
        alike = (group for group in groups if _alike(items[group[0]], item))
        group = next(alike, None)
        if group is None:
            groups.append([place])
        else:
            group.append(place)
    return tuple(_stack([items[place] for place in g], tuple(g)) for g in groups)


def _alike(one: PyTree, other: PyTree) -> bool:
    arrays, rest = eqx.partition(one, eqx.is_array)
    other_arrays, other_rest = eqx.partition(other, eqx.is_array)
    leaves, structure = jax.tree.flatten(arrays)
    other_leaves, other_structure = jax.tree.flatten(other_arrays)
    return (
        len(leaves) > 0
        and structure == other_structure
        and bool(eqx.tree_equal(rest, other_rest))
        and all(
            a.shape == b.shape and a.dtype == b.dtype
            for a, b in zip(leaves, other_leaves, strict=True)
        )
    )


def _stack(items: list[PyTree], places: tuple[int, ...]) -> Stack:
    if len(items) == 1:
        return Stack(items[0], places, batched=False)
    arrays, rest = zip(*(eqx.partition(i, eqx.is_array) for i in items), strict=True)
    joined = jax.tree.map(lambda *leaves: jnp.stack(leaves), *arrays)
    return Stack(eqx.combine(joined, rest[0]), places, batched=True)


def evaluate(
    stacks: tuple[Stack, ...], call: Callable[[PyTree], Array]
) -> Float[Array, " n *shape"]:
    """Apply a function to every item, in the items' own order."""
    results = jnp.concatenate([stack.map(call) for stack in stacks])
    places = np.concatenate([stack.places for stack in stacks])
    if np.all(places == np.arange(places.size)):
        return results
    return results[np.argsort(places)]


class Experts(eqx.Module):
    """The frozen knowledge of a library, as pure functions of one transition."""

    policies: tuple[Stack, ...]
    models: tuple[Stack, ...]
    encoder: AbstractEncoder
    spec: TaskSpec = eqx.field(static=True)

    @property
    def num_sources(self) -> int:
        """How many there are."""
        return sum(len(stack.places) for stack in self.policies)

    def advise(
        self, obs: Observation, answers: Answers | None = None
    ) -> Float[Array, "n advice"]:
        """Every source's action probabilities (or its action, when continuous).

        Args:
            obs: one state.
            answers: of policies on the host, if they were asked before.
        """
        policies = self.policies if answers is None else told(self.policies, answers)
        return evaluate(policies, lambda policy: self.advice_of(policy, obs))

    def advice_of(self, policy: Callable, obs: Observation) -> Float[Array, " advice"]:
        """One source's advice; an action's index becomes one-hot."""
        advice, space = jnp.asarray(policy(obs)), self.spec.action
        if isinstance(space, Discrete):
            return probabilities_of(advice, space.n)
        return advice.astype(float)

    def log_likelihoods(
        self,
        obs: Observation,
        action: Action,
        next_obs: Observation,
        answers: Answers | None = None,
    ) -> Float[Array, " n"]:
        """How well every source explains one transition of the target.

        Args:
            obs: where it began.
            action: what was done.
            next_obs: where it led.
            answers: of models on the host, if they were asked before.
        """
        models = self.models if answers is None else told(self.models, answers)
        return evaluate(
            models, lambda model: self.likelihood_of(model, obs, action, next_obs)
        )

    def likelihood_of(
        self,
        model: tuple[Callable, AbstractKernel],
        obs: Observation,
        action: Action,
        next_obs: Observation,
    ) -> Scalar:
        """One source's log-likelihood: its own density, or its kernel's.

        A source of another language is judged by what it sees of s'.

        To a covered model the distance from its data counts as an error. It makes the
        error longer but adds no dimension: a likelihood is one of s', so that models
        with and without coverage can be compared.
        """
        dynamics, kernel = model
        if isinstance(dynamics, ForeignDynamics):
            seen = (self.encoder, obs, action, next_obs)
            return jnp.maximum(dynamics.log_likelihood(kernel, *seen), LEAST)
        if isinstance(dynamics, LogDensity):
            return jnp.maximum(dynamics(obs, action, next_obs), LEAST)
        prediction = self.encoder(jnp.asarray(dynamics(obs, action)))
        observed = self.encoder(next_obs)
        if isinstance(dynamics, AbstractCovered):
            radius = dynamics.miss(observed - prediction, obs)
            return kernel.at(radius, observed.size)
        return kernel(prediction, observed)


def experts_of(
    sources: Sequence[SourceTask], spec: TaskSpec, encoder: AbstractEncoder | None
) -> Experts:
    """Sources that compiled code can call, together.

    Args:
        sources: adapted to the spaces.
        spec: of their target.
        encoder: of its observations; None takes them as they are.
    """
    return Experts(
        stack_alike([source.policy for source in sources]),
        stack_alike([(source.dynamics, source.kernel) for source in sources]),
        plain_encoder(spec.observation) if encoder is None else encoder,
        spec,
    )
