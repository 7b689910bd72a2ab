"""Many copies of one task, stepped together on the host."""

import abc
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from gymnasium import spaces

from policymix.core.seeds import check_seed, key_from, words_of
from policymix.core.spaces import REMEDIES, our_space
from policymix.core.types import Discrete, Key, Keys, Space
from policymix.environments.answers import (
    BrokenEnvironmentError,
    in_numbers,
    same_shape,
    start_of,
    step_of,
)
from policymix.environments.base import AbstractDomain, Step

Policy: TypeAlias = Callable[[np.ndarray], np.ndarray]
"""Observations in, one row each; actions out."""
Variant: TypeAlias = AbstractDomain | Callable[[], Any]
"""A task of a domain: written in JAX, or what makes a Gymnasium environment."""


class Round(NamedTuple):
    """One step of every copy; `obs` is where each goes on, after a reset if need be."""

    next_obs: np.ndarray
    reward: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray
    obs: np.ndarray
    infos: Sequence[Mapping[str, Any]]


class AbstractTasks(abc.ABC):
    """Copies of a task that begin anew by themselves."""

    copies: int
    action: Space

    @property
    def num_actions(self) -> int:
        """Of a finite set."""
        assert isinstance(self.action, Discrete)
        return self.action.n

    @abc.abstractmethod
    def reset(self, seed: int | Sequence[int]) -> np.ndarray:
        """Begin an episode in every copy, with seeds from `seed` on, or these."""

    @abc.abstractmethod
    def step(self, actions: np.ndarray, active: np.ndarray | None = None) -> Round:
        """Take one action in every copy; what happens in inactive ones is not told."""


def copies_of(variant: Variant, copies: int) -> AbstractTasks:
    """As many copies of a task."""
    if isinstance(variant, AbstractDomain):
        return DomainTasks(variant, copies)
    return HostTasks(variant, copies)


def _seeds(seed: int | Sequence[int], copies: int) -> Sequence[int]:
    if isinstance(seed, Sequence):
        return seed
    first = check_seed(seed, copies)
    return range(first, first + copies)


class DomainTasks(AbstractTasks):
    """Copies of a JAX domain, stepped by one compiled call."""

    def __init__(self, domain: AbstractDomain, copies: int):
        self._domain, self.copies, self.action = domain, copies, domain.spec.action

    def reset(self, seed: int | Sequence[int]) -> np.ndarray:
        """Begin an episode in every copy, with seeds from `seed` on, or these."""
        words = words_of(_seeds(seed, self.copies))
        self._keys = jax.vmap(key_from)(jnp.asarray(words))
        self._elapsed = np.zeros(self.copies, int)
        self._obs = np.array(_begin(self._domain, self._keys))
        return self._obs

    def step(self, actions: np.ndarray, active: np.ndarray | None = None) -> Round:
        """Take one action in every copy; all are active."""
        del active
        self._keys, outcome, fresh = _advance(
            self._domain, self._keys, self._obs, actions
        )
        next_obs, reward, terminated = (np.array(part) for part in outcome)
        self._elapsed += 1
        truncated = ~terminated & (self._elapsed >= self._domain.horizon)
        ended = terminated | truncated
        self._elapsed[ended] = 0
        over = ended.reshape(ended.shape + (1,) * (next_obs.ndim - 1))
        self._obs = np.where(over, np.asarray(fresh), next_obs)
        infos = ({},) * self.copies
        return Round(next_obs, reward, terminated, truncated, self._obs, infos)


@jax.jit
def _begin(domain: AbstractDomain, keys: Keys) -> jax.Array:
    return jax.vmap(lambda key: domain.initial(jax.random.fold_in(key, 0)))(keys)


@jax.jit
def _advance(
    domain: AbstractDomain, keys: Keys, obs: jax.Array, actions: jax.Array
) -> tuple[Keys, Step, jax.Array]:
    """One step of every copy, and an observation to go on from after an end."""

    def one(key: Key, obs: jax.Array, action: jax.Array) -> tuple[Key, Step, jax.Array]:
        key, step_key, start_key = jax.random.split(jax.random.fold_in(key, 1), 3)
        return key, domain.step(step_key, obs, action), domain.initial(start_key)

    return jax.vmap(one)(keys, obs, actions)


class HostTasks(AbstractTasks):
    """Copies of a Gymnasium environment, stepped one after the other."""

    def __init__(self, make: Callable[[], Any], copies: int):
        self._environments = [make() for _ in range(copies)]
        self.copies = copies
        space = self._environments[0].action_space
        self.action = our_space(space, "the action_space", REMEDIES["action_space"])
        seen = self._environments[0].observation_space
        self._kind = np.int32 if isinstance(seen, spaces.Discrete) else np.float32

    def reset(self, seed: int | Sequence[int]) -> np.ndarray:
        """Begin an episode in every copy, with seeds from `seed` on, or these."""
        self._seeds, self._taken = _seeds(seed, self.copies), 0
        pairs = zip(self._environments, self._seeds, strict=True)
        starts = [start_of(environment, seed=own) for environment, own in pairs]
        self._obs = in_numbers(starts, self._kind)
        return self._obs

    @np.errstate(over="ignore")  # a reward of 1e308 is infinite here, and told as such
    def step(self, actions: np.ndarray, active: np.ndarray | None = None) -> Round:
        """Take one action in every active copy."""
        self._taken += 1
        flags = np.zeros((2, self.copies), bool)
        reward = np.zeros(self.copies, np.float32)
        next_obs, obs = self._obs.copy(), self._obs.copy()
        infos: list[Mapping[str, Any]] = [{}] * self.copies
        everyone, finite = np.arange(self.copies), isinstance(self.action, Discrete)
        for i in everyone if active is None else everyone[active]:
            environment = self._environments[i]
            action = int(actions[i]) if finite else actions[i]
            try:
                found, reward[i], *flags[:, i], infos[i] = step_of(environment, action)
                next_obs[i] = same_shape(found, next_obs[i])
                obs[i] = next_obs[i]
                if flags[:, i].any():
                    obs[i] = same_shape(self.restart(int(i)), next_obs[i], "reset")
            except Exception as error:
                place = (self._seeds[int(i)], self._taken)
                raise BrokenEnvironmentError(*place, error) from error
        self._obs = obs
        return Round(next_obs, reward, flags[0], flags[1], obs, infos)

    def restart(self, copy: int) -> Any:
        """Begin another episode in one of them; what is observed there."""
        return start_of(self._environments[copy])
