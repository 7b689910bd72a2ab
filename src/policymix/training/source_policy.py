"""How a source's policy is learned: double DQN over many copies of the task.

The updates of a round run in XLA's thread while the host steps the copies, so behaviour
is by the values of one round before; that is fixed by the order of the program, not by
timing, and the same seed gives the same policy.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Array, Float

from policymix.agents.base import Experience
from policymix.agents.dqn import DQN, DQNState
from policymix.core import replay
from policymix.core.networks import MLP
from policymix.core.progress import Advance
from policymix.core.replay import Layout, Replay
from policymix.core.seeds import key_of
from policymix.core.types import Box, Key
from policymix.environments.copies import AbstractTasks, Policy, Round


class Judgement(NamedTuple):
    """How good a policy is: one number to choose by, and facts to write down."""

    merit: float
    facts: dict[str, Any]


Judge = Callable[[Policy, int, int], Judgement]
"""Policy, number of episodes, first seed → judgement of its greedy behaviour."""


@dataclass(frozen=True)
class PolicySettings:
    """A robust DQN; the defaults suit tasks as hard as landing a craft."""

    samples: int
    hidden: tuple[int, ...]
    discount: float = 0.99
    copies: int = 16
    updates: int = 8
    """Per round, that is per `copies` samples."""
    batch: int = 64
    capacity: int = 96_000
    learning_rate: float = 5e-4
    final_rate: float = 2e-5
    target_rate: float = 0.01
    """The target network is a running mean of the online one."""
    reward_scale: float = 0.1
    warm_up: int = 2_000
    exploration: float = 0.3
    """Share of the samples until ε is final."""
    epsilons: tuple[float, float] = (1.0, 0.02)
    evaluate_every: int = 20_000
    evaluation_episodes: int = 32
    finalists: int = 4
    """Best checkpoints that are judged once more, on other seeds."""


class History(NamedTuple):
    """Every transition of a training run, in order of time."""

    obs: np.ndarray
    action: np.ndarray
    reward: np.ndarray
    next_obs: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray
    episode: np.ndarray


class Trained(NamedTuple):
    """The best policy, how it was judged, and the data of its training."""

    network: MLP
    judgement: Judgement
    history: History

    @property
    def host(self) -> Policy:
        """The policy in numpy."""
        return host_policy(self.network)


def host_policy(network: MLP) -> Policy:
    """The greedy policy in numpy: for a few rows cheaper than a call of JAX."""
    weights = [np.asarray(weight) for weight in network.weights]
    biases = [np.asarray(bias) for bias in network.biases]

    def act(obs: np.ndarray) -> np.ndarray:
        for weight, bias in zip(weights[:-1], biases[:-1], strict=True):
            obs = np.maximum(obs @ weight.T + bias, 0.0)
        return np.argmax(obs @ weights[-1].T + biases[-1], axis=1)

    return act


def train_policy(
    tasks: AbstractTasks,
    settings: PolicySettings,
    judge: Judge,
    seed: int,
    advance: Advance,
) -> Trained:
    """Train, and keep the checkpoint whose greedy behaviour is best.

    Args:
        tasks: copies of the source task.
        settings: see there.
        judge: scores a policy on evaluation seeds of its own.
        seed: of networks, exploration and tasks.
        advance: told the samples of every round and the latest merit, for progress.
    """
    obs = tasks.reset(seed)
    agent = _agent(settings, obs.shape[1], tasks.num_actions)
    init_key, learn_key = jax.random.split(key_of(seed))
    state = agent.init(init_key)
    memory = replay.empty(settings.capacity, _layout(obs.shape[1]))
    record, checkpoints = _Recorder(settings.copies), []
    rng = np.random.default_rng(seed)
    rows = None
    for count in range(settings.samples // settings.copies):
        seen = count * settings.copies
        # Waits for the updates that ran while the round before was stepped.
        acting = host_policy(state.online.parameters)
        if rows is not None:
            key = jax.random.fold_in(learn_key, count)
            updates = settings.updates if seen >= settings.warm_up else 0
            state, memory = _learn(agent, settings, updates, key, state, memory, rows)
        actions = _explore(rng, settings, seen, acting(obs), tasks.num_actions)
        outcome = tasks.step(actions)
        rows = _pack(obs, actions, outcome, settings.reward_scale)
        record.add(obs, actions, outcome)
        obs = outcome.obs
        due = (seen + settings.copies) % settings.evaluate_every < settings.copies
        if due:
            judgement = judge(
                host_policy(state.target), settings.evaluation_episodes, 2_000_000
            )
            checkpoints.append((judgement.merit, seen, state.target))
        merit = checkpoints[-1][0] if checkpoints else float("nan")
        advance(settings.copies, merit)
    network, judgement = _best(checkpoints, settings, judge)
    return Trained(network, judgement, record.history())


class _Recorder:
    """Keeps every transition and numbers the episodes."""

    def __init__(self, copies: int):
        self._rounds: list[History] = []
        self._episode = np.arange(copies)

    def add(self, obs: np.ndarray, actions: np.ndarray, outcome: Round) -> None:
        next_obs, reward, terminated, truncated = outcome[:4]
        self._rounds.append(
            History(
                obs=obs,
                action=actions,
                reward=reward,
                next_obs=next_obs,
                terminated=terminated,
                truncated=truncated,
                episode=self._episode.copy(),
            )
        )
        ended = terminated | truncated
        first = self._episode.max() + 1
        self._episode[ended] = first + np.arange(ended.sum())

    def history(self) -> History:
        """All of them, one after the other."""
        return History(*(np.concatenate(p) for p in zip(*self._rounds, strict=True)))


def _pack(
    obs: np.ndarray, actions: np.ndarray, outcome: Round, reward_scale: float
) -> np.ndarray:
    """Rows as the replay's layout has them."""
    reward = outcome.reward * reward_scale
    singles = (actions, reward, outcome.terminated, outcome.truncated)
    action, reward, terminated, truncated = (s[:, None] for s in singles)
    columns = (obs, action, reward, outcome.next_obs, terminated, truncated)
    return np.concatenate(columns, axis=1, dtype=np.float32)


def _layout(obs_size: int) -> Layout:
    return Layout(Box((-np.inf,) * obs_size, (np.inf,) * obs_size))


def _agent(settings: PolicySettings, num_inputs: int, num_actions: int) -> DQN:
    return DQN(
        sizes=(num_inputs, *settings.hidden, num_actions),
        discount=settings.discount,
        learning_rate=settings.learning_rate,
        final_rate=settings.final_rate,
        decay_updates=settings.samples // settings.copies * settings.updates,
        double=True,
        huber=True,
        clip=10.0,
    )


@partial(jax.jit, static_argnums=(1, 2), donate_argnums=(5,))
def _learn(
    agent: DQN,
    settings: PolicySettings,
    updates: int,
    key: Key,
    state: DQNState,
    memory: Replay,
    rows: Float[Array, "batch row"],
) -> tuple[DQNState, Replay]:
    """Write a round, then learn from replay."""
    memory = replay.add(memory, rows)
    unpack = jax.vmap(_layout(agent.sizes[0]).unpack)

    def update(state: DQNState, key: Key) -> tuple[DQNState, None]:
        batch = replay.sample(memory, key, settings.batch)
        return agent.update(state, Experience(unpack(batch)[0]))[0], None

    keys = jax.random.split(key, updates)
    state, _ = jax.lax.scan(update, state, keys)
    return agent.refresh(state, settings.target_rate if updates else 0.0), memory


def _explore(
    rng: np.random.Generator,
    settings: PolicySettings,
    seen: int,
    greedy: np.ndarray,
    num_actions: int,
) -> np.ndarray:
    first, last = settings.epsilons
    share = min(1.0, seen / (settings.exploration * settings.samples))
    explores = rng.random(len(greedy)) < first + share * (last - first)
    return np.where(explores, rng.integers(num_actions, size=len(greedy)), greedy)


def _best(
    checkpoints: list[tuple[float, int, MLP]], settings: PolicySettings, judge: Judge
) -> tuple[MLP, Judgement]:
    """Judge the best checkpoints again on fresh seeds, so that luck does not decide."""
    ranked = sorted(checkpoints, key=lambda c: -c[0])[: settings.finalists]
    judged = [(judge(host_policy(net), 100, 3_000_000), net) for _, _, net in ranked]
    judgement, network = max(judged, key=lambda pair: pair[0].merit)
    return network, judgement
