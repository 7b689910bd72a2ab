"""A source's dynamics from transitions, a recorded dataset or an environment."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import equinox as eqx
import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from gymnasium.spaces import Box, Discrete

from policymix.dynamics import NetworkDynamics, fit_table
from policymix.dynamics_fitting import (
    CHUNK,
    FitSettings,
    Transitions,
    errors,
    improve,
    split,
    stop_early,
)
from policymix.encoders import Standardise, standardise
from policymix.errors import SourceError
from policymix.networks import MLP, absorb, init_mlp
from policymix.progress import bars

PARTS = ("obs", "action", "next_obs")
FEWEST = 20
"""Transitions below which nothing would be left to test a model on."""
SHARE = 0.1
"""Of all transitions: held out for the error, and as many for early stopping."""
EXPLORE = 0.3
"""How often a rollout's action is random, so that a model sees more than one habit."""
ACCEPTED = (
    "Give transitions (obs, action, next_obs), a Minari dataset, or a Gymnasium "
    "environment, its id or a function that makes it"
)
FLATTEN = "gymnasium.wrappers.FlattenObservation"


@dataclass(frozen=True)
class ModelSettings:
    """How a network learns, and when it stops."""

    max_steps: int = 30_000
    """Updates at most, in chunks of 1,000 with a check after each."""
    patience: int = 5
    """Checks without an improvement of 1 % after which training ends."""
    batch: int = 256
    learning_rate: float = 1e-3
    penalty: float = 1e-6

    def __post_init__(self):
        if self.max_steps < CHUNK or self.max_steps % CHUNK:
            raise SourceError(
                f"max_steps is {self.max_steps}. Give a multiple of {CHUNK:,}"
            )
        for name in ("patience", "batch", "learning_rate"):
            if getattr(self, name) <= 0:
                raise SourceError(
                    f"{name} is {getattr(self, name)}. Give more than zero"
                )


class FittedDynamics(NamedTuple):
    """A model, and how wrong it is on transitions that its training never saw."""

    model: Any
    """(obs, action) -> next_obs, in raw units: a `NetworkDynamics`, whose encoder holds
    the spread of its data, or a `TableDynamics`."""
    error: float
    """Mean squared error, summed over components, in units of the data's spread; for
    a table the share of wrong predictions."""
    still: float
    """The error of predicting that nothing changes."""
    components: np.ndarray
    """Root-mean-square error of each component in its own unit; for a table the share
    of wrong predictions."""
    steps: int
    """Updates taken; none for a table."""


class Gathered(NamedTuple):
    """The three columns, and the sizes of their spaces as far as those are known."""

    columns: Sequence[Any]
    num_states: int | None = None
    num_actions: int | None = None


def fit_dynamics(
    data: Any,
    *,
    policy: Callable[[Any], Any] | None = None,
    samples: int = 20_000,
    layers: Sequence[int] = (64, 64),
    num_actions: int | None = None,
    num_states: int | None = None,
    settings: ModelSettings = ModelSettings(),  # noqa: B008, it is frozen
    seed: int = 0,
    progress: bool = True,
) -> FittedDynamics:
    """Learn what happens in a task: a network, or a table where states are indices.

    Eight in ten transitions train the network, one in ten says when to stop, and one in
    ten measures the error. A table has nothing to stop and learns from nine in ten.

    Args:
        data: transitions, as a tuple (obs, action, next_obs), an object with those
            fields or a mapping with those keys, one row each; a Minari dataset; or a
            Gymnasium environment, its id or a function that makes it. Observations
            are rows of numbers or states' indices, actions integers or rows of floats.
        policy: for environments, from one observation to an action or to action
            probabilities; three actions in ten are random all the same. Without a
            policy all are.
        samples: steps to take in an environment.
        layers: hidden layers of the network.
        num_actions: how many discrete actions there are; by default what the
            environment or dataset says, or the largest in the data plus one.
        num_states: the same of states that are indices.
        settings: see there.
        seed: of the rollouts, the splits, the network and its batches.
        progress: whether to show bars.
    """
    gathered = _gather(data, policy, samples, seed, progress)
    rows = _checked(gathered.columns)
    actions = 0
    if rows.action.ndim == 1:
        known = gathered.num_actions
        actions = _count("actions", num_actions, known, rows.action)
    if rows.obs.ndim == 2:
        return _fit_network(rows, actions, layers, settings, seed, progress)
    if not actions:
        raise SourceError(
            "the observations are states' indices but the actions are vectors. "
            "Give integer actions, or observations as rows of floats"
        )
    known = gathered.num_states
    states = _count("states", num_states, known, rows.obs, rows.next_obs)
    return _fit_table(rows, states, actions, seed)


class Assembly(eqx.Module):
    """From a network on standardised numbers to a model on raw ones."""

    units: Standardise
    action_units: Standardise

    def __call__(self, network: MLP) -> NetworkDynamics:
        """Let the layers absorb the units of actions and predictions."""
        size = self.units.centre.size
        inputs = (
            jnp.append(jnp.zeros(size), self.action_units.centre),
            jnp.append(jnp.ones(size), self.action_units.spread),
        )
        raw = absorb(network, inputs, (self.units.centre, self.units.spread))
        return NetworkDynamics(raw, self.units)


def _fit_network(
    data: Transitions,
    num_actions: int,
    layers: Sequence[int],
    settings: ModelSettings,
    seed: int,
    progress: bool,
) -> FittedDynamics:
    if not layers or min(layers) < 1:
        raise SourceError(f"layers are {layers}. Give the width of at least one")
    rest, unseen = split(data, SHARE, seed)
    training, stopping = split(rest, SHARE / (1 - SHARE), seed)
    units = standardise(training.obs)
    if num_actions:
        action_units = Standardise(jnp.zeros(num_actions), jnp.ones(num_actions))
    else:
        action_units = standardise(training.action)
    assemble = Assembly(units, action_units)
    size = units.centre.size
    init_key, batch_key = jax.random.split(jax.random.key(seed))
    network = init_mlp(init_key, (size + action_units.centre.size, *layers, size))
    rates = FitSettings(
        settings.max_steps, settings.batch, settings.learning_rate, settings.penalty
    )
    stages = improve(assemble, network, training, units, rates, batch_key)
    with bars(quiet=not progress) as begin:
        advance = begin("dynamics", settings.max_steps, "error")
        network, checks = stop_early(
            (network for network, _ in stages),
            lambda network: errors(assemble(network), stopping, units)[0],
            settings.patience,
            lambda error: advance(CHUNK, error),
        )
        advance(settings.max_steps - checks * CHUNK, math.nan)
    model = assemble(network)
    gaps = jax.vmap(model)(unseen.obs, unseen.action) - unseen.next_obs
    components = np.sqrt(np.mean(np.square(gaps), axis=0))
    return FittedDynamics(
        model, *errors(model, unseen, units), components, checks * CHUNK
    )


def _fit_table(
    data: Transitions, num_states: int, num_actions: int, seed: int
) -> FittedDynamics:
    training, unseen = split(data, SHARE, seed)
    model = fit_table(*training, num_states, num_actions)
    predicted = jax.vmap(model)(unseen.obs, unseen.action)
    wrong = float(np.mean(predicted != unseen.next_obs))
    moved = float(np.mean(unseen.obs != unseen.next_obs))
    return FittedDynamics(model, wrong, moved, np.array([wrong]), steps=0)


def _gather(
    data: Any,
    policy: Callable[[Any], Any] | None,
    samples: int,
    seed: int,
    progress: bool,
) -> Gathered:
    if isinstance(data, str | gymnasium.Env) or callable(data):
        with _opened(data) as environment:
            return _roll_out(environment, policy, samples, seed, progress)
    if policy is not None:
        raise SourceError(
            f"a policy acts in an environment, but the data are a {_kind(data)}. "
            "Leave the policy out, or give an environment"
        )
    if hasattr(data, "iterate_episodes"):
        return _read_episodes(data)
    if isinstance(data, Mapping):
        missing = [part for part in PARTS if part not in data]
        if missing:
            raise SourceError(
                f"the data have no {' and no '.join(missing)} among their keys "
                f"{list(data)}. Name the three columns {', '.join(PARTS)}"
            )
        return Gathered([data[part] for part in PARTS])
    if all(hasattr(data, part) for part in PARTS):
        return Gathered([getattr(data, part) for part in PARTS])
    if isinstance(data, tuple) and len(data) == len(PARTS):
        return Gathered(data)
    raise SourceError(f"dynamics cannot be learned from a {_kind(data)}. {ACCEPTED}")


def _kind(value: Any) -> str:
    size = f" of {len(value)}" if isinstance(value, tuple | list) else ""
    return type(value).__name__ + size


def _read_episodes(dataset: Any) -> Gathered:
    """The transitions of a Minari dataset; none leads from one episode to the next."""
    rows: list[tuple[np.ndarray, ...]] = []
    for number, episode in enumerate(dataset.iterate_episodes()):
        for part in (episode.observations, episode.actions):
            if isinstance(part, Mapping | tuple):
                raise SourceError(
                    f"episode {number} holds a {type(part).__name__}, not an array. "
                    f"Record the dataset through {FLATTEN}, or flatten it with "
                    "gymnasium.spaces.flatten and give (obs, action, next_obs)"
                )
        obs, action = np.asarray(episode.observations), np.asarray(episode.actions)
        if len(obs) != len(action) + 1:
            raise SourceError(
                f"episode {number} has {len(obs)} observations and {len(action)} "
                "actions. There must be one observation more than actions"
            )
        rows.append((obs[:-1], action, obs[1:]))
    if not rows:
        raise SourceError("the dataset has no episodes. Give one with some")
    columns = [np.concatenate(column) for column in zip(*rows, strict=True)]
    spaces = (
        getattr(dataset, f"{name}_space", None) for name in ("observation", "action")
    )
    return Gathered(columns, *map(_size, spaces))


def _size(space: Any) -> int | None:
    return int(space.n) if isinstance(space, Discrete) else None


@contextmanager
def _opened(data: Any) -> Iterator[gymnasium.Env]:
    """An environment; one that is made here is closed again."""
    if isinstance(data, gymnasium.Env):
        yield data
        return
    environment = _make(data) if isinstance(data, str) else data()
    if not isinstance(environment, gymnasium.Env):
        raise SourceError(
            f"the given function makes a {_kind(environment)}, not a Gymnasium "
            f"environment. {ACCEPTED}"
        )
    try:
        yield environment
    finally:
        environment.close()


def _make(name: str) -> gymnasium.Env:
    try:
        return gymnasium.make(name)
    except (gymnasium.error.Error, ImportError) as error:
        raise SourceError(
            f"Gymnasium cannot make {name!r} ({error}). Check the id, and that the "
            "package which registers it is installed and imported"
        ) from None


def _roll_out(
    environment: gymnasium.Env,
    policy: Callable[[Any], Any] | None,
    samples: int,
    seed: int,
    progress: bool,
) -> Gathered:
    """So many steps; the step into a new episode is none of them."""
    spaces = environment.observation_space, environment.action_space
    if spaces[0].shape is None or len(spaces[0].shape) > 1:
        raise SourceError(
            f"the environment's observations are of {spaces[0]}, but a model reads "
            f"vectors or indices. Wrap the environment in {FLATTEN}"
        )
    if not isinstance(spaces[1], Discrete | Box):
        raise SourceError(
            f"the environment's actions are of {spaces[1]}, but a model reads Discrete "
            "or Box actions. Wrap it in a gymnasium.ActionWrapper"
        )
    spaces[1].seed(seed)
    rng = np.random.default_rng(seed)
    rows = []
    with bars(quiet=not progress) as begin:
        advance = begin("rollouts", samples, "")
        obs = environment.reset(seed=seed)[0]
        for _ in range(samples):
            if policy is None or rng.random() < EXPLORE:
                action = spaces[1].sample()
            else:
                action = _action(spaces[1], policy(obs))
            before = np.array(obs)
            obs, _, terminated, truncated, _ = environment.step(action)
            rows.append((before, action, np.array(obs)))
            if terminated or truncated:
                obs = environment.reset()[0]
            advance(1, math.nan)
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    return Gathered(columns, *map(_size, spaces))


def _action(space: gymnasium.Space, advice: Any) -> Any:
    """What an environment is given for a policy's advice, cut to its bounds."""
    action = None
    try:
        action = np.asarray(advice)
        if isinstance(space, Discrete) and action.shape == (space.n,):
            action = action.argmax()
        if isinstance(space, Box) and action.shape == space.shape:
            action = np.clip(action, space.low, space.high).astype(space.dtype)
        legal = space.contains(action)
    except (TypeError, ValueError):
        legal = False
    if not legal:
        raise SourceError(
            f"the policy returns {advice!r}, which is no action of {space}. Return "
            "one, or the probabilities of discrete ones"
        )
    return action


def _checked(given: Sequence[Any]) -> Transitions:
    """Sound arrays of what was given: floats in rows, or indices."""
    columns = [
        _numbers(part, values) for part, values in zip(PARTS, given, strict=True)
    ]
    lengths = [len(column) for column in columns]
    if len(set(lengths)) > 1:
        counts = ", ".join(f"{n} of {p}" for p, n in zip(PARTS, lengths, strict=True))
        raise SourceError(f"rows are missing: {counts}. Give as many of each")
    if lengths[0] < FEWEST:
        raise SourceError(
            f"there are {lengths[0]} transitions, too few to learn from and to test "
            f"on. Give at least {FEWEST}, better thousands"
        )
    obs, action, next_obs = map(_sound, PARTS, columns)
    if obs.shape != next_obs.shape:
        raise SourceError(
            f"obs has the shape {obs.shape} but next_obs {next_obs.shape}. Give both "
            "in the same form"
        )
    return Transitions(*map(jnp.asarray, (obs, action, next_obs)))


def _numbers(part: str, values: Any) -> np.ndarray:
    try:
        column = np.asarray(values)
    except ValueError:
        raise SourceError(
            f"the rows of {part} differ in shape. Give as many numbers in each"
        ) from None
    if column.dtype.kind not in "biuf":
        raise SourceError(
            f"{part} holds {column.dtype} values, not numbers. Flatten dictionaries "
            f"with {FLATTEN}, and turn names into integers"
        )
    if column.ndim == 0:
        raise SourceError(f"{part} is a single number. Give a row for each transition")
    return column


def _sound(part: str, column: np.ndarray) -> np.ndarray:
    whole = column.dtype.kind in "biu"
    if column.ndim > 2:
        raise SourceError(
            f"{part} has the shape {column.shape}. Give [samples] for indices or "
            "[samples, numbers] for vectors: flatten what is larger, an image say"
        )
    if column.ndim == 1:
        if not whole:
            raise SourceError(
                f"{part} is one float a row. Give integers if they are indices, or "
                "reshape it to [samples, 1] if they are vectors of one number"
            )
        return column.astype(np.int32)
    if whole and part == "action":
        raise SourceError(
            f"action holds integers in rows of {column.shape[1]}. Give one integer for "
            "each transition, or floats if the actions are continuous"
        )
    with np.errstate(over="ignore"):
        rows = column.astype(np.float32)
    finite = np.isfinite(rows).all(axis=1)
    if not finite.all():
        raise SourceError(
            f"{part} holds NaN or infinity in row {int(np.argmin(finite))}. Drop that "
            "transition, or mend what recorded it"
        )
    return rows


def _count(kind: str, given: int | None, known: int | None, *columns: Any) -> int:
    """How many actions or states there are, which all indices must agree with."""
    least = min(int(column.min()) for column in columns)
    most = max(int(column.max()) for column in columns)
    counts = (count for count in (given, known, most + 1) if count is not None)
    count = next(counts)
    if least < 0 or most >= count:
        raise SourceError(
            f"there are {kind} from {least} to {most}, but they must be 0 … "
            f"{count - 1}. Number them from zero, or give num_{kind}"
        )
    return count
