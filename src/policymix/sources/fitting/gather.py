"""Transitions from columns, a recorded dataset or an environment."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete

from policymix.core.errors import SourceError
from policymix.core.progress import bars
from policymix.core.spaces import spec_of_spaces
from policymix.sources.fitting.data import FLATTEN, PARTS

EXPLORE = 0.3
"""How often a rollout's action is random, so that a model sees more than one habit."""
ACCEPTED = (
    "Give transitions (obs, action, next_obs), a Minari dataset, or a Gymnasium "
    "environment, its id or a function that makes it"
)


class Gathered(NamedTuple):
    """The three columns, and the sizes of their spaces as far as those are known."""

    columns: Sequence[Any]
    num_states: int | None = None
    num_actions: int | None = None


def gather(
    data: Any,
    policy: Callable[[Any], Any] | None,
    samples: int,
    seed: int,
    progress: bool,
) -> Gathered:
    """Read or record whatever was given; see `fit_dynamics`."""
    if is_environment(data):
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


def is_environment(data: Any) -> bool:
    """Whether data would have to be recorded first."""
    return isinstance(data, str | gymnasium.Env) or callable(data)


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
    spec_of_spaces(environment, "the environment")
    spaces = environment.observation_space, environment.action_space
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
