"""Contestants of `policymix`: other libraries at the same work, environments alone."""

import math
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from policymix.cli.timing import Chunk, Versus, contest, ratios_to
from policymix.core.settings import Settings

CHUNK = 100
"""Steps of other libraries, or of environments alone, between looks at the clock."""


class Share(NamedTuple):
    """How much of the threads' time goes into environments, see `host_share`."""

    trials: int
    threads: int
    host_microseconds: float
    loop_microseconds: float
    share: float


class Absent(NamedTuple):
    """A library that could have competed."""

    library: str
    why: str


def fastest(ways: Mapping[str, Chunk]) -> tuple[str, list[Versus]]:
    """Of several ways to do the same, by a short look at each."""
    speeds = contest(ways, 0.0, rounds=1)
    name = max(speeds, key=lambda name: speeds[name][0])
    return name, ratios_to(speeds, name)


def host_share(loop: float, host: float, threads: int) -> float:
    """The share of the host loop's time that environments and their arrays take.

    The loop has a thread for each device, and all of them step environments. So this
    is the time of one step of all trials' environments, taken one after the other in
    one thread with nothing else going on, over the time that the loop's threads
    together have for that step: its wall time × threads.

    Args:
        loop: samples a second of the whole loop.
        host: samples a second of its environments alone, in one thread.
        threads: of the loop.
    """
    return loop / (host * threads)


def share_of(
    loop: Sequence[float], host: Sequence[float], trials: int, threads: int
) -> Share:
    """The median of the rounds' shares, beside the times of a step of all trials."""
    shares = [host_share(*pair, threads) for pair in zip(loop, host, strict=True)]
    host_time, loop_time = (1e6 * trials / float(np.median(x)) for x in (host, loop))
    return Share(trials, threads, host_time, loop_time, float(np.median(shares)))


def host_chunks(make: Callable[[], Any], trials: int) -> Chunk:
    """Step environments as the host loop does, at random and in one thread."""
    from policymix.environments.copies import HostTasks
    from policymix.training.host import _tell

    tasks = HostTasks(make, trials)
    tasks.reset(0)
    rng = np.random.default_rng(0)
    actions = rng.integers(tasks.num_actions, size=(CHUNK, trials))

    def chunk() -> int:
        for action in actions:
            _tell(tasks.step(action))
        return CHUNK * trials

    return chunk


def baseline_chunks(
    library: str, environment: Any, settings: Settings, threads: int
) -> Chunk:
    """The same work by a DQN with the interface of Stable-Baselines3.

    Args:
        library: the module that has it.
        environment: a Gymnasium environment.
        settings: of ours; network, batch, buffer, rates and intervals are taken over.
        threads: of Torch.
    """
    import torch
    from stable_baselines3.common.logger import Logger

    assert settings.layers is not None
    model = import_module(library).DQN(
        "MlpPolicy",
        environment,
        learning_rate=settings.learning_rate,
        buffer_size=settings.capacity,
        learning_starts=settings.batch,
        batch_size=settings.batch,
        gamma=settings.discount,
        train_freq=1,
        gradient_steps=1,
        target_update_interval=settings.refresh_every,
        exploration_final_eps=settings.epsilon_floor,
        policy_kwargs={"net_arch": list(settings.layers)},
        device="cpu",
        seed=0,
    )
    model.set_logger(Logger(None, []))

    def chunk() -> int:
        torch.set_num_threads(threads)
        model.learn(CHUNK, reset_num_timesteps=False, log_interval=CHUNK)
        return CHUNK

    return chunk


def rejax_chunks(settings: Settings, trials: int) -> Chunk:
    """The same work by Rejax's DQN: trials side by side, a share on each device."""
    import jax
    import jax.numpy as jnp

    algorithm = import_module("rejax").DQN.create(
        env="CartPole-v1",
        agent_kwargs={"activation": "relu"},
        learning_rate=settings.learning_rate,
        buffer_size=settings.capacity,
        fill_buffer=settings.batch,
        batch_size=settings.batch,
        gamma=settings.discount,
        target_update_freq=settings.refresh_every,
        polyak=0.0,
        ddqn=False,
        total_timesteps=CHUNK,
        eval_freq=CHUNK,
        skip_initial_evaluation=True,
    )
    agent = algorithm.agent.clone(hidden_layer_sizes=settings.layers)
    algorithm = algorithm.replace(agent=agent, eval_callback=lambda *_: jnp.zeros(()))
    devices = math.gcd(trials, jax.device_count())
    keys = jax.random.split(jax.random.PRNGKey(0), (devices, trials // devices))
    states = jax.pmap(jax.vmap(algorithm.init_state))(keys)
    train = jax.pmap(
        jax.vmap(lambda state: algorithm.train(train_state=state)[0]),
        donate_argnums=0,
    )

    def chunk() -> int:
        nonlocal states
        states = jax.block_until_ready(train(states))
        return CHUNK * trials

    return chunk
