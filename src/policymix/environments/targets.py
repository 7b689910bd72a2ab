"""A target of the user's own: from what was given to something that makes copies."""

import copy
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import gymnasium
import numpy as np

from policymix.core.boxes import draw_actions
from policymix.core.errors import DomainError
from policymix.core.spaces import spec_of_spaces
from policymix.core.types import Discrete
from policymix.environments.answers import in_numbers, same_shape, start_of, step_of
from policymix.environments.base import AbstractDomain
from policymix.environments.copies import DomainTasks, Variant

EPISODES, STEPS = 8, 8
"""Of the target, at random, to try sources on before anything is trained."""
PROBE_RESET_SEED = 8_000_000
UNNAMED = "target"
"""What a target is called whose function and environment have no name."""


def own_variant(target: Any, horizon: int) -> tuple[Variant, str]:
    """What makes copies of a target, and its name.

    Args:
        target: a Gymnasium environment, its id, a function that makes one, or a domain
            written in JAX.
        horizon: of episodes, where the environment sets no limit itself.
    """
    if isinstance(target, AbstractDomain):
        return target, type(target).__name__
    make, name = _maker(target)
    try:
        environment, other = make(), make()
    except Exception as error:
        raise DomainError(
            f"the target {name!r} cannot be made ({type(error).__name__}: {error}). "
            "Give an environment, the id of a registered one, or a function without "
            "arguments that makes one"
        ) from error
    spec_of_spaces(environment, name)
    if not isinstance(environment, gymnasium.Env):
        raise DomainError(
            f"{name} is a {type(environment).__name__}, no gymnasium.Env. Derive it "
            "from that class, or wrap it in one that is"
        )
    if environment.unwrapped is other.unwrapped:
        raise DomainError(
            f"{name} makes the same environment every time, and trials and tests need "
            "copies. Give a function that makes a new one"
        )
    if name == UNNAMED and environment.spec is not None:
        name = environment.spec.id
    limited = limit_of(environment) is not None
    environment.close()
    other.close()
    return (make if limited else partial(_limit, make, horizon)), name


def _maker(target: Any) -> tuple[Callable[[], Any], str]:
    if isinstance(target, str):
        return partial(gymnasium.make, target), target
    if isinstance(target, gymnasium.Env):
        return _copier(target), _name_of(target)
    if callable(target):
        name = getattr(target, "__name__", type(target).__name__)
        return target, UNNAMED if name in ("<lambda>", "partial") else name
    raise DomainError(
        f"the target is a {type(target).__name__}. Give a Gymnasium environment, its "
        "id, or a function that makes one"
    )


def _copier(environment: gymnasium.Env) -> Callable[[], Any]:
    """Copies of an environment: by its specification, or else by copying it."""
    spec = environment.spec
    if spec is None:
        return _deep_copier(environment)
    try:
        made = gymnasium.make(spec)
    except Exception:  # the specification does not know a wrapper of the user's
        return _deep_copier(environment)
    changed = _changed(environment, made)
    made.close()
    if changed:
        raise DomainError(
            f"{environment} was changed after it was made ({', '.join(changed)}), and "
            "trials and tests would get new ones without the change. Give a function "
            "that makes it and changes it"
        )
    return partial(gymnasium.make, spec)


def _changed(environment: gymnasium.Env, made: gymnasium.Env) -> list[str]:
    """Real numbers, such as a gravity, that differ from those of a new environment."""

    def differ(mine: Any, new: Any) -> bool:
        return isinstance(mine, float) and isinstance(new, float) and mine != new

    values, new = vars(environment.unwrapped), made.unwrapped
    return [name for name in values if differ(values[name], getattr(new, name, None))]


def _deep_copier(environment: gymnasium.Env) -> Callable[[], Any]:
    try:
        copy.deepcopy(environment)
    except Exception as error:
        raise DomainError(
            f"{environment} cannot be copied ({type(error).__name__}: {error}), and "
            "trials and tests need copies. Give a function that makes it instead"
        ) from error
    return lambda: copy.deepcopy(environment)


def _name_of(environment: gymnasium.Env) -> str:
    spec = environment.spec
    return type(environment.unwrapped).__name__ if spec is None else spec.id


def limit_of(environment: Any) -> int | None:
    """The steps that a time limit around an environment allows; None without one."""
    while isinstance(environment, gymnasium.Wrapper):
        if isinstance(environment, gymnasium.wrappers.TimeLimit):
            return environment._max_episode_steps
        environment = environment.env
    return None


def horizon_of(variant: Variant, default: int) -> int:
    """Steps of the longest episode.

    Args:
        variant: a domain knows its own; of an environment it is the time limit …
        default: … or this, where the environment has none.
    """
    if isinstance(variant, AbstractDomain):
        return variant.horizon
    environment = variant()
    limit = limit_of(environment)
    environment.close()
    return default if limit is None else limit


def _limit(make: Callable[[], Any], horizon: int) -> gymnasium.Env:
    return gymnasium.wrappers.TimeLimit(make(), horizon)


class FirstSteps(NamedTuple):
    """Of a few episodes, by random actions."""

    obs: np.ndarray
    """Where each begins."""
    reward: np.ndarray


def first_observations(variant: Variant) -> np.ndarray:
    """Observations near the start of a few episodes, by random actions."""
    return first_steps(variant).obs


def first_steps(variant: Variant, episodes: int = EPISODES) -> FirstSteps:
    """The same steps every time, if the target does the same every time."""
    if isinstance(variant, AbstractDomain):
        return _steps_in_jax(variant, episodes)
    environment = variant()
    environment.action_space.seed(PROBE_RESET_SEED)
    seen, paid = [], []
    for episode in range(episodes):
        obs = start_of(environment, seed=PROBE_RESET_SEED + episode)
        start = np.asarray(obs)
        for _ in range(STEPS):
            seen.append(np.array(obs))
            obs, reward, terminated, truncated, _ = step_of(
                environment, environment.action_space.sample()
            )
            same_shape(obs, start)
            paid.append(float(reward))
            if terminated or truncated:
                break
    environment.close()
    space = spec_of_spaces(environment, "the target").observation
    kind = int if isinstance(space, Discrete) else np.float32
    return FirstSteps(_finite(in_numbers(seen, kind)), np.array(paid))


def _steps_in_jax(variant: AbstractDomain, episodes: int) -> FirstSteps:
    tasks, rng = DomainTasks(variant, episodes), np.random.default_rng(PROBE_RESET_SEED)
    seen, paid = [tasks.reset(PROBE_RESET_SEED)], []
    for _ in range(STEPS):
        outcome = tasks.step(draw_actions(tasks.action, rng, episodes))
        seen.append(outcome.obs)
        paid.append(outcome.reward)
    return FirstSteps(_finite(np.concatenate(seen[:-1])), np.concatenate(paid))


def repeats(variant: Variant, steps: FirstSteps) -> bool:
    """Whether a target does the same when seed and actions are the same."""
    if isinstance(variant, AbstractDomain):
        return True
    pairs = zip(first_steps(variant, episodes=1), steps, strict=True)
    return all(
        np.array_equal(again, known[: len(again)], equal_nan=True)
        for again, known in pairs
    )


def _finite(rows: np.ndarray) -> np.ndarray:
    if not np.all(np.isfinite(rows)):
        raise DomainError(
            "the target's observations hold NaN or infinity soon after a reset. Mend "
            "the environment; gymnasium.utils.env_checker.check_env may help"
        )
    return rows
