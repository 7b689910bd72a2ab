"""Playing a task by a given policy: whole episodes, or so many transitions."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from policymix.core.boxes import draw_actions
from policymix.core.types import Space
from policymix.environments.copies import AbstractTasks, Policy, Variant, copies_of


class Episode(NamedTuple):
    """What happened from a start to an end."""

    obs: np.ndarray
    """Every observation, the last one included."""
    actions: np.ndarray
    rewards: np.ndarray
    terminated: bool
    info: Mapping[str, Any]
    """What the environment told at the end."""

    @property
    def length(self) -> int:
        """Steps taken."""
        return len(self.actions)

    @property
    def total(self) -> float:
        """The undiscounted return."""
        return float(self.rewards.sum())


def play(variant: Variant, policy: Policy, episodes: int, seed: int) -> list[Episode]:
    """One whole episode from each of as many seeds, from `seed` on."""
    tasks = copies_of(variant, episodes)
    obs = tasks.reset(seed)
    steps: list[list[tuple]] = [[] for _ in range(episodes)]
    played: list[Episode | None] = [None] * episodes
    active = np.ones(episodes, bool)
    while active.any():
        actions = np.asarray(policy(obs))
        outcome = tasks.step(actions, active)
        ended = (outcome.terminated | outcome.truncated) & active
        for i in np.flatnonzero(active).tolist():
            steps[i].append((obs[i], actions[i], outcome.reward[i]))
        for i in np.flatnonzero(ended).tolist():
            seen, acted, rewards = (np.array(p) for p in zip(*steps[i], strict=True))
            seen = np.concatenate([seen, outcome.next_obs[i][None]])
            terminated = bool(outcome.terminated[i])
            played[i] = Episode(seen, acted, rewards, terminated, outcome.infos[i])
        active &= ~ended
        obs = outcome.obs
    return [episode for episode in played if episode is not None]


def tally(
    tasks: AbstractTasks, seeds: Sequence[int], policy: Policy
) -> tuple[np.ndarray, np.ndarray]:
    """Lengths and returns of one episode of each copy; nothing else is kept."""
    obs = tasks.reset(seeds)
    lengths, totals = np.zeros((2, len(obs)))
    active = np.ones(len(obs), bool)
    while active.any():
        outcome = tasks.step(policy(obs), active)
        lengths += active
        totals += np.where(active, outcome.reward, 0.0)
        active &= ~(outcome.terminated | outcome.truncated)
        obs = outcome.obs
    return lengths, totals


def disturbed(policy: Policy, epsilon: float, space: Space, seed: int) -> Policy:
    """The same policy, except that an action is random with probability ε."""
    rng = np.random.default_rng(seed)

    def act(obs: np.ndarray) -> np.ndarray:
        explores = rng.random(len(obs)) < epsilon
        anything = draw_actions(space, rng, len(obs))
        explores = explores.reshape(-1, *(1 for _ in space.shape))
        return np.where(explores, anything, policy(obs))

    return act


def taking_turns(policies: Sequence[Policy], stretch: int, seed: int) -> Policy:
    """Policies that lead in turn, each for `stretch` steps on average.

    Unlike one policy after the other, this visits the states where one hands over to
    the next. Every copy of a task has a leader of its own.
    """
    rng = np.random.default_rng(seed)
    leaders = np.zeros(0, int)

    def act(obs: np.ndarray) -> np.ndarray:
        nonlocal leaders
        fresh = rng.integers(len(policies), size=len(obs))
        if len(leaders) != len(obs):
            leaders = fresh
        leaders = np.where(rng.random(len(obs)) < 1 / stretch, fresh, leaders)
        advice = np.stack([policy(obs) for policy in policies])
        return advice[leaders, np.arange(len(obs))]

    return act


class Sampled(NamedTuple):
    """Transitions in order of time, copy by copy within a step."""

    obs: np.ndarray
    action: np.ndarray
    next_obs: np.ndarray


def collect(
    tasks: AbstractTasks, policy: Policy, samples: int, seed: int, epsilon: float = 0.1
) -> Sampled:
    """At least so many transitions of a policy that acts at random now and then."""
    act = disturbed(policy, epsilon, tasks.action, seed)
    obs = tasks.reset(seed)
    rounds = []
    for _ in range(-(-samples // tasks.copies)):
        actions = act(obs)
        outcome = tasks.step(actions)
        rounds.append((obs, actions, outcome.next_obs))
        obs = outcome.obs
    return Sampled(*(np.concatenate(part) for part in zip(*rounds, strict=True)))
