"""What sources and mixture say about a target that another library explores.

The shell around the pure functions: it keeps the mixture's state and the transitions
that it learns from, and speaks NumPy.
"""

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from policymix.beliefs.build import make_mixture
from policymix.beliefs.mixture import Metrics
from policymix.bridges.compiled_advice import compile_advice
from policymix.bridges.recall import Recall
from policymix.bridges.ring import Ring
from policymix.core.errors import PolicymixError, SourceError
from policymix.core.kernels import Gaussian
from policymix.core.seeds import key_of
from policymix.core.settings import Settings
from policymix.core.types import Box, Discrete, Space, TaskSpec
from policymix.sources.checks import probe_observations
from policymix.sources.library import SourceLibrary
from policymix.sources.prepare import prepare_sources

AT_ONCE = 8
"""Batches of a call, at most: by itself a batch takes less time than its call."""


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
        self._tell(_fitting(sources, spec, observations))
        self.state = self._told.init(key_of(seed))
        self._rng = np.random.default_rng(seed)
        self._rows = Ring(spec, len(self.library), settings.capacity)
        self.metrics: Metrics | None = None
        self._trusted: Array | None = None

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
        likelihoods = np.asarray(self._told.judge(*rows))
        if not np.all(np.isfinite(likelihoods)):
            row, source = np.argwhere(~np.isfinite(likelihoods))[0]
            raise SourceError(
                f"source {self.library.names[source]!r}: its prediction is not finite "
                f"at the observation {rows[0][row].tolist()} and the action "
                f"{rows[1][row].tolist()}. Mend its dynamics there"
            )
        self._rows.add(*rows, likelihoods)

    def learn(self, updates: int = 1) -> None:
        """Train the mixture on replayed transitions, some batches in one call."""
        if not self._rows.filled:
            return
        while updates > 0:
            # As many as a power of two, so that few numbers are ever compiled.
            batches = min(AT_ONCE, 1 << (updates.bit_length() - 1))
            size = (batches, self.settings.batch)
            places = self._rng.integers(self._rows.filled, size=size)
            self.state, (self.metrics, self._trusted) = self._told.learn(
                self.state, self._rows.at(places)
            )
            updates -= batches

    def weights(self, obs: np.ndarray) -> np.ndarray:
        """a(s) for many observations; the last column is the own model's, if any."""
        return self._ask(obs)[0]

    def advice(self, obs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Weights [rows, n] and advice [rows, n, actions] of the sources."""
        weights, advice = self._ask(obs)
        return weights[:, : advice.shape[1]], advice

    def recalled(self, obs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Weights, the own model's among them, and advice, asked for once a state."""
        rows = self._states(obs)
        if self._recall.knows(rows):
            return np.asarray(self._told.weigh(self.state, rows)), self._recall(rows)
        weights, advice = self._ask(obs)  # both in one call
        self._recall.keep(rows, advice)
        return weights, advice

    def seen(self, count: int) -> np.ndarray:
        """Some of the latest observations, drawn with replacement."""
        places = self._rng.integers(self._rows.filled, size=count)
        return np.asarray(self._rows.at(places).obs)

    def potential(self, obs: np.ndarray) -> np.ndarray:
        """Φ(s, ·) for many observations, if actions are discrete."""
        rows = self._states(obs)
        phi, advice = self._told.potential(self.state, rows)
        self._check(np.asarray(advice), rows)
        return np.asarray(phi)

    def action_potential(
        self, obs: np.ndarray, action: np.ndarray, precision: float | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Φ(s, a) for many continuous actions in [−1, 1], and its slope in the action.

        Args:
            obs: rows of observations.
            action: as many rows.
            precision: of the kernel on actions; by default 1/d for d components.
        """
        rows, actions = self._states(obs), self._actions(action)
        sharp = 1.0 / actions.shape[1] if precision is None else precision
        kernel = Gaussian(sharp, normalised=False)
        found = self._told.near(self.state, rows, actions, kernel)
        phi, slope, advice = map(np.asarray, found)
        self._check(advice, rows)
        return phi, slope

    def advised(self, obs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The action to follow, and whether there is advice at all.

        Of discrete actions the one of the highest Φ, else the most trusted source's.
        None is where the target's own model is trusted most.
        """
        weights, advice = self.recalled(obs)
        sources = advice.shape[1]
        told = np.argmax(weights, axis=1) < sources
        if isinstance(self.spec.action, Discrete):
            phi = np.einsum("ri,ria->ra", weights[:, :sources], advice)
            return np.argmax(phi, axis=1), told
        trusted = np.argmax(weights[:, :sources], axis=1)
        return self._bounded(advice[np.arange(len(trusted)), trusted]), told

    def draw(self, obs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What a source drawn from the mixture would do, and whether one was drawn.

        None is where the target's own model was drawn, which gives no advice.
        """
        weights, advice = self._ask(obs)
        component = self._pick(weights)
        drawn = component < advice.shape[1]
        source = np.where(drawn, component, 0)
        chosen = advice[np.arange(len(source)), source]
        if isinstance(self.spec.action, Discrete):
            return self._pick(chosen), drawn
        return self._bounded(chosen), drawn

    def figures(self) -> dict[str, float]:
        """Figures for a log, by their tags."""
        if self.metrics is None or self._trusted is None:
            return {}
        shares = zip(self.names, self._trusted.tolist(), strict=True)
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

    def _tell(self, library: SourceLibrary) -> None:
        self.library = library
        mixture = make_mixture(library, self.settings)
        if not mixture.replays:
            raise PolicymixError(
                f"settings.mixture is {self.settings.mixture!r}, which learns from "
                "every transition just once, but an advisor learns from replay. Use "
                'mixture="network"'
            )
        self._told = compile_advice(library.experts, mixture)
        self._recall = Recall(self._policies)

    def _policies(self, rows: np.ndarray) -> np.ndarray:
        advice = np.asarray(self._told.policies(rows))
        self._check(advice, rows)
        return advice

    def _ask(self, obs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        rows = self._states(obs)
        weights, advice = map(np.asarray, self._told.advise(self.state, rows))
        self._check(advice, rows)
        return weights, advice

    def _check(self, advice: np.ndarray, rows: np.ndarray) -> None:
        """An action that does not exist has become a row of zeros or of NaN."""
        legal = np.isfinite(advice).all(axis=2)
        if isinstance(self.spec.action, Discrete):
            legal &= np.abs(advice.sum(axis=2) - 1.0) < 1e-3
        if not legal.all():
            row, source = np.argwhere(~legal)[0]
            raise SourceError(
                f"source {self.library.names[source]!r}: its advice is no legal action "
                f"at the observation {rows[row].tolist()}. Mend its policy there"
            )

    def _bounded(self, action: np.ndarray) -> np.ndarray:
        space = self.spec.action
        assert isinstance(space, Box)
        low, high = (np.array(bound, np.float32) for bound in (space.low, space.high))
        return np.clip(action, low, high)

    def _pick(self, chances: np.ndarray) -> np.ndarray:
        """One column of each row, as often as the row says."""
        shares = np.cumsum(chances, axis=1, dtype=float)
        luck = self._rng.random((len(shares), 1)) * shares[:, -1:]
        return np.argmax(shares > luck, axis=1)

    def _states(self, obs: Any) -> Any:
        space = self.spec.observation
        kind = np.int32 if isinstance(space, Discrete) else np.float32
        return np.asarray(obs).reshape(-1, *space.shape).astype(kind)

    def _actions(self, action: Any) -> Any:
        space = self.spec.action
        kind = np.int32 if isinstance(space, Discrete) else np.float32
        return np.asarray(action).reshape(-1, *space.shape).astype(kind)


def _fitting(
    sources: SourceLibrary, spec: TaskSpec, observations: np.ndarray
) -> SourceLibrary:
    """Sources for a target; those that were prepared for one like it stay so."""
    if not isinstance(sources, SourceLibrary):
        raise SourceError(
            f"sources is a {type(sources).__name__}: give SourceLibrary([source, …])"
        )
    known = sources.spec
    if known is None:
        return prepare_sources(sources, spec, jnp.asarray(observations))
    parts = ((known.observation, spec.observation), (known.action, spec.action))
    if any(_size(old) != _size(new) for old, new in parts):
        raise SourceError(
            f"the sources {sources.names} are for {known}, but the target has {spec}. "
            "Give sources for this target"
        )
    return sources


def _size(space: Space) -> int | tuple[int, ...]:
    return space.n if isinstance(space, Discrete) else space.shape
