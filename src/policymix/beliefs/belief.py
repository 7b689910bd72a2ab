"""From transitions of a target to a belief about it: which source is right where."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Num

from policymix.beliefs.mixture import AbstractMixture, Evidence, Metrics
from policymix.beliefs.network import NetworkMixture
from policymix.beliefs.own_model import OWN_MODEL
from policymix.beliefs.potentials import potential
from policymix.beliefs.telling import Over, chosen, most_telling
from policymix.core.errors import PolicymixError
from policymix.core.progress import Begin, silent
from policymix.core.seeds import key_of
from policymix.core.types import Action, Discrete, Key, Observation
from policymix.sources.experts import Experts
from policymix.sources.library import SourceLibrary

if TYPE_CHECKING:
    from policymix.core.pictures import Picture

BATCHES_AT_ONCE = 500


@dataclass(frozen=True)
class Belief:
    """A mixture, what it has learned, and the sources it is about."""

    library: SourceLibrary
    mixture: AbstractMixture
    state: Any
    visited: Callable[[], np.ndarray] | None = field(default=None, compare=False)
    """Gives states of the target, to draw where none are given."""

    def weights(self, obs: Observation) -> Float[Array, " n"]:
        """a(s): how far each source is trusted in one state."""
        return self.mixture.weights(self.state, obs)

    def potential(self, obs: Observation) -> Float[Array, " actions"]:
        """Φ(s, ·): how far each action is advised in one state."""
        return potential(self.weights(obs), self.library.advise(obs))

    def weights_of(self, rows: np.ndarray) -> np.ndarray:
        """The weights in many states at once."""
        return np.asarray(_weights(self.mixture, self.state, rows))

    def follow(self, obs: np.ndarray) -> np.ndarray:
        """What the most trusted source would do, for many observations at once."""
        return np.asarray(_follow(self.library.experts, self.mixture, self.state, obs))

    def plot(self, states: np.ndarray | None = None, over: Over = None) -> "Picture":
        """Who is trusted where: states in the mixed colours of the sources.

        Args:
            states: where to look; by default some that the sources lead to, if the
                belief is that of an agent.
            over: which two numbers of an observation are drawn, as (0, 2) or
                {"x": 0, "angle": 2}; by default those that tell most. States of a
                finite task are numbered row by row.
        """
        from policymix.core.pictures import trust_picture

        states = self._rows(states)
        weights = self.weights_of(states)
        names = (*self.library.names, OWN_MODEL)[: weights.shape[1]]
        if states.ndim == 1:
            columns = math.ceil(math.sqrt(states.max() + 1))
            places = np.stack([states % columns, -(states // columns)], axis=1)
            return trust_picture(places, weights, names, ("column", "row (from above)"))
        named = chosen(over, states.shape[1]) or {
            f"observation[{i}]": i for i in most_telling(states, weights)
        }
        across, up = (list(named) * 2)[:2]
        drawn = states[:, [named[across], named[up]]]
        return trust_picture(drawn, weights, names, (across, up))

    def _rows(self, states: Any) -> np.ndarray:
        if states is None:
            if self.visited is None:
                raise PolicymixError(
                    "this belief knows no states to draw. Give some of the target's, "
                    "such as policymix.explore(task, 500).obs"
                )
            states = self.visited()
        rows = np.asarray(states)
        shape = self.library.experts.spec.observation.shape
        if rows.ndim != 1 + len(shape) or rows.shape[1:] != shape or not len(rows):
            raise PolicymixError(
                f"states of shape {rows.shape} cannot be drawn: give rows of "
                f"observations, whose shape is {shape}"
            )
        return rows

    def _repr_html_(self) -> str:
        from policymix.core.pictures import image_tag

        told = f"{type(self.mixture).__name__} of {', '.join(self.library.names)}"
        return f"<p>{escape(told)}</p>{image_tag(self.plot()) if self.visited else ''}"


@eqx.filter_jit
def _weights(
    mixture: AbstractMixture, state: Any, rows: ArrayLike
) -> Float[Array, "rows n"]:
    return jax.vmap(mixture.weights, (None, 0))(state, jnp.asarray(rows))


@eqx.filter_jit
def _follow(
    experts: Experts, mixture: AbstractMixture, state: Any, rows: ArrayLike
) -> Num[Array, " rows *act"]:
    finite = isinstance(experts.spec.action, Discrete)

    def action(obs: Observation) -> Action:
        advice = experts.advise(obs)
        trusted = jnp.argmax(mixture.log_weights(state, obs)[: len(advice)])
        return jnp.argmax(advice[trusted]) if finite else advice[trusted]

    return jax.vmap(action)(jnp.asarray(rows))


def gather_evidence(
    library: SourceLibrary, transitions: Sequence[np.ndarray]
) -> Evidence:
    """Ask every source once about every transition (obs, action, next_obs)."""
    obs, action, next_obs = (jnp.asarray(part) for part in transitions[:3])
    likely = _log_likelihoods(library.experts, obs, action, next_obs)
    return Evidence(obs, action, next_obs, likely)


@eqx.filter_jit
def _log_likelihoods(
    experts: Experts, obs: Array, action: Array, next_obs: Array
) -> Float[Array, "rows n"]:
    return jax.vmap(experts.log_likelihoods)(obs, action, next_obs)


def learn_belief(
    library: SourceLibrary,
    transitions: Sequence[np.ndarray],
    *,
    mixture: AbstractMixture | None = None,
    updates: int = 6_000,
    batch: int = 32,
    seed: int = 0,
    begin: Begin = silent,
) -> Belief:
    """Train a mixture on transitions that were collected before.

    Args:
        library: the sources.
        transitions: rows of obs, action and next_obs of the target.
        mixture: by default the paper's network, three epochs per batch.
        updates: batches to learn from; a mixture that does not replay (the exact one)
            sees every transition once instead.
        batch: transitions in each.
        seed: of the network and the batches.
        begin: reports on the progress.
    """
    evidence = gather_evidence(library, transitions)
    if mixture is None:
        encoder = library.experts.encoder
        inputs = encoder(evidence.obs[0]).size
        mixture = NetworkMixture(encoder, len(library), inputs, epochs=3)
    init_key, batch_key = jax.random.split(key_of(seed))
    state = mixture.init(init_key)
    if not mixture.replays:
        return Belief(library, mixture, mixture.update(state, evidence)[0])
    advance = begin("mixture", updates, "entropy")
    for start in range(0, updates, BATCHES_AT_ONCE):
        steps = min(BATCHES_AT_ONCE, updates - start)
        keys = jax.random.split(jax.random.fold_in(batch_key, start), steps)
        state, metrics = _learn(mixture, state, evidence, keys, batch)
        advance(steps, float(metrics.entropy[-1]))
    return Belief(library, mixture, state)


@eqx.filter_jit
def _learn(
    mixture: AbstractMixture, state: Any, evidence: Evidence, keys: Array, batch: int
) -> tuple[Any, Metrics]:
    def step(state: Any, key: Key) -> tuple[Any, Metrics]:
        rows = jax.random.randint(key, (batch,), 0, len(evidence.action))
        return mixture.update(state, jax.tree.map(lambda x: x[rows], evidence))

    return jax.lax.scan(step, state, keys)
