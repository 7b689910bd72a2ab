"""What sources and mixture say about a target that another library explores.

The shell around the pure functions: it keeps the mixture's state and the transitions
that it learns from, and speaks NumPy.
"""

from dataclasses import replace
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from policymix.errors import PolicymixError, SourceError
from policymix.experts import Experts
from policymix.mixture import AbstractMixture, Evidence, Metrics
from policymix.potentials import potential
from policymix.problems import make_mixture
from policymix.scaling import prepare
from policymix.settings import Settings
from policymix.source_checks import probe_observations
from policymix.sources import SourceLibrary
from policymix.types import Discrete, Observation, TaskSpec


class Told(eqx.Module):
    """What does not change while a target is explored."""

    experts: Experts
    mixture: AbstractMixture


@partial(jax.jit, static_argnums=0)
def _judge(rest: Told, arrays: Told, rows: tuple[Array, Array, Array]) -> Array:
    return jax.vmap(eqx.combine(arrays, rest).experts.log_likelihoods)(*rows)


@partial(jax.jit, static_argnums=0)
def _advise(
    rest: Told, arrays: Told, state: Any, obs: Array
) -> tuple[Float[Array, "rows m"], Float[Array, "rows n advice"]]:
    told = eqx.combine(arrays, rest)

    def one(obs: Observation) -> tuple[Array, Array]:
        return told.mixture.weights(state, obs), told.experts.advise(obs)

    return jax.vmap(one)(obs)


@partial(jax.jit, static_argnums=0)
def _potential(rest: Told, arrays: Told, state: Any, obs: Array) -> Array:
    told = eqx.combine(arrays, rest)

    def one(obs: Observation) -> Array:
        return potential(told.mixture.weights(state, obs), told.experts.advise(obs))

    return jax.vmap(one)(obs)


@partial(jax.jit, static_argnums=0)
def _learn(
    rest: Told, arrays: Told, state: Any, evidence: Evidence
) -> tuple[Any, Metrics, Float[Array, " m"]]:
    """Updates one after the other, along the evidence's first axis."""
    mixture = eqx.combine(arrays, rest).mixture
    state, metrics = jax.lax.scan(lambda *step: mixture.update(*step), state, evidence)
    latest = jax.tree.map(lambda part: part[-1], metrics)
    seen = jax.vmap(mixture.weights, (None, 0))(state, evidence.obs[-1])
    return state, latest, jnp.mean(seen, axis=0)


class Advisor:
    """Sources, and a mixture that learns which of them is right where.

    Args:
        sources: a library, as the user has it.
        spec: spaces of the target.
        settings: of the mixture (layers, rate, epochs, batch, capacity, own_model).
        seed: of the mixture and of what it replays.
        observations: some of the target's, to try the sources on.
    """

    def __init__(
        self,
        sources: SourceLibrary,
        spec: TaskSpec,
        settings: Settings,
        seed: int = 0,
        observations: np.ndarray | None = None,
    ):
        if observations is None:
            observations = np.asarray(probe_observations(spec.observation))
        self.spec, self.settings = spec, settings
        mixture = self._tell(_fitting(sources, spec, observations))
        self.state = mixture.init(jax.random.key(seed))
        self._rng = np.random.default_rng(seed)
        self._rows = _Ring(spec, len(self.library), settings.capacity)
        self.metrics: Metrics | None = None
        self.trusted: np.ndarray | None = None
        """Mean weights over the latest batch."""

    @property
    def names(self) -> tuple[str, ...]:
        """Of the components: the sources', and "own" for the target's own model."""
        own = ("own",) if self.settings.own_model else ()
        return self.library.names + own

    def observe(
        self, obs: np.ndarray, action: np.ndarray, next_obs: np.ndarray
    ) -> None:
        """Ask every source about transitions of the target, one row each."""
        rows = (self._states(obs), self._actions(action), self._states(next_obs))
        likelihoods = np.asarray(_judge(self._rest, self._arrays, rows))
        if not np.all(np.isfinite(likelihoods)):
            row, source = np.argwhere(~np.isfinite(likelihoods))[0]
            raise SourceError(
                f"source {self.library.names[source]!r}: its prediction is not finite "
                f"at the observation {rows[0][row].tolist()} and the action "
                f"{rows[1][row].tolist()}. Mend its dynamics there"
            )
        self._rows.add(*rows, likelihoods)

    def learn(self, updates: int = 1) -> None:
        """Train the mixture on replayed transitions."""
        if not self._rows.filled:
            return
        shape = (updates, self.settings.batch)
        evidence = self._rows.at(self._rng.integers(self._rows.filled, size=shape))
        self.state, metrics, trusted = _learn(
            self._rest, self._arrays, self.state, evidence
        )
        self.metrics, self.trusted = metrics, np.asarray(trusted)

    def weights(self, obs: np.ndarray) -> np.ndarray:
        """a(s) for many observations; the last column is the own model's, if any."""
        return self._ask(obs)[0]

    def advice(self, obs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Weights [rows, n] and advice [rows, n, actions] of the sources."""
        weights, advice = self._ask(obs)
        return weights[:, : advice.shape[1]], advice

    def potential(self, obs: np.ndarray) -> np.ndarray:
        """Φ(s, ·) for many observations, if actions are discrete."""
        rows = self._states(obs)
        phi = np.asarray(_potential(self._rest, self._arrays, self.state, rows))
        return self._sound(phi, obs)

    def draw(self, obs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What a source drawn from the mixture would do, and whether one was drawn.

        None is where the target's own model was drawn, which gives no advice.
        """
        weights, advice = self.advice(obs)
        chance = self._rng.random(len(weights))
        shares = np.cumsum(weights, axis=1)
        drawn = chance < shares[:, -1]
        source = np.argmax(shares > chance[:, None], axis=1)
        chosen = advice[np.arange(len(source)), source]
        if isinstance(self.spec.action, Discrete):
            luck = self._rng.random(len(chosen))[:, None]
            chosen = np.argmax(np.cumsum(chosen, axis=1) > luck, axis=1)
        return chosen, drawn

    def figures(self) -> dict[str, float]:
        """Figures for a log, by their tags."""
        if self.metrics is None or self.trusted is None:
            return {}
        shares = zip(self.names, self.trusted.tolist(), strict=True)
        return {
            **{f"transfer/source_weight/{name}": share for name, share in shares},
            "transfer/entropy": float(self.metrics.entropy),
            "transfer/log_evidence": float(self.metrics.log_evidence),
        }

    def arrays(self) -> dict[str, np.ndarray]:
        """All that was learned, by name."""
        leaves = jax.tree.leaves((self.library.experts.encoder, self.state))
        return {f"{place}": np.asarray(leaf) for place, leaf in enumerate(leaves)}

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Take up what `arrays` of an advisor with the same sources returned."""
        kept = (self.library.experts.encoder, self.state)
        leaves, structure = jax.tree.flatten(kept)
        found = [arrays.get(f"{place}") for place in range(len(leaves))]
        same = all(
            new is not None and new.shape == old.shape and new.dtype == old.dtype
            for new, old in zip(found, leaves, strict=True)
        )
        if len(arrays) != len(leaves) or not same:
            raise PolicymixError(
                "what was saved does not belong to these sources and settings. Give "
                "the sources and settings that the agent was trained with"
            )
        encoder, self.state = jax.tree.unflatten(structure, map(jnp.asarray, found))
        self._tell(replace(self.library, encoder=encoder))

    def _tell(self, library: SourceLibrary) -> AbstractMixture:
        self.library = library
        mixture = make_mixture(library, self.spec, self.settings)
        told = Told(library.experts, mixture)
        self._arrays, self._rest = eqx.partition(told, eqx.is_array)
        return mixture

    def _ask(self, obs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        answers = _advise(self._rest, self._arrays, self.state, self._states(obs))
        weights, advice = (np.asarray(part) for part in answers)
        return weights, self._sound(advice, obs)

    def _sound(self, values: np.ndarray, obs: np.ndarray) -> np.ndarray:
        if np.all(np.isfinite(values)):
            return values
        raise SourceError(
            f"a source's advice is not finite or not a legal action at one of the "
            f"observations {np.asarray(obs)[:3].tolist()} …. Mend the policy of one of "
            f"{', '.join(map(repr, self.library.names))}"
        )

    def _states(self, obs: Any) -> np.ndarray:
        space = self.spec.observation
        kind = np.int32 if isinstance(space, Discrete) else np.float32
        return np.asarray(obs).reshape(-1, *space.shape).astype(kind)

    def _actions(self, action: Any) -> np.ndarray:
        space = self.spec.action
        kind = np.int32 if isinstance(space, Discrete) else np.float32
        return np.asarray(action).reshape(-1, *space.shape).astype(kind)


def _fitting(
    sources: SourceLibrary, spec: TaskSpec, observations: np.ndarray
) -> SourceLibrary:
    """Sources for a target; those that were prepared for one like it stay so."""
    known = sources.spec
    if known is None:
        return prepare(sources, spec, jnp.asarray(observations))
    same = known.observation.shape == spec.observation.shape
    if not same or _size(known) != _size(spec):
        raise SourceError(
            f"the sources {sources.names} are for {known}, but the target has {spec}. "
            "Give sources for this target"
        )
    return sources


def _size(spec: TaskSpec) -> Any:
    """Of the action space."""
    return spec.action.n if isinstance(spec.action, Discrete) else spec.action.shape


class _Ring:
    """The latest transitions, and what the sources said of them."""

    def __init__(self, spec: TaskSpec, sources: int, capacity: int):
        kinds = [
            np.int32 if isinstance(space, Discrete) else np.float32
            for space in (spec.observation, spec.action)
        ]
        self._parts = (
            np.zeros((capacity, *spec.observation.shape), kinds[0]),
            np.zeros((capacity, *spec.action.shape), kinds[1]),
            np.zeros((capacity, *spec.observation.shape), kinds[0]),
            np.zeros((capacity, sources), np.float32),
        )
        self._capacity, self._written = capacity, 0

    @property
    def filled(self) -> int:
        return min(self._written, self._capacity)

    def add(self, *rows: np.ndarray) -> None:
        places = (self._written + np.arange(len(rows[0]))) % self._capacity
        for part, values in zip(self._parts, rows, strict=True):
            part[places] = values
        self._written += len(rows[0])

    def at(self, places: np.ndarray) -> Evidence:
        return Evidence(*(jnp.asarray(part[places]) for part in self._parts))
