"""Who competes: our loops, other libraries doing the same work, environments alone."""

import math
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from policymix.cli.bench_contests import Chunk
from policymix.core.settings import Settings

CHUNK = 100
"""Steps of other libraries, or of environments alone, between looks at the clock."""


def our_chunks(
    task: Any, method: str, trials: int, settings: Settings | None = None
) -> Chunk:
    """Train a method's trials, a chunk of the loop and the copies due at a time.

    Args:
        task: a `TransferTask`, or a domain's name.
        method: its name.
        trials: run side by side.
        settings: by default the paper's.
    """
    from policymix.training.run import TrainingRun
    from policymix.training.setup import build_setup
    from policymix.training.task import load_task, prepare

    task = prepare(load_task(task) if isinstance(task, str) else task)
    settings = settings or task.domain.settings
    setup = build_setup(task, method, settings)
    work = TrainingRun(task, method, setup, settings, np.arange(trials))
    length, taken = work.plan.length, 0

    def chunk() -> int:
        nonlocal taken
        work.loop.advance(length)
        taken += length
        if taken % work.settings.refresh_every == 0:
            work.loop.refresh()
        work.loop.wait()
        return length * trials

    return chunk


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
