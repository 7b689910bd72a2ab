"""SAC without transfer beside Stable-Baselines3's and SBX's, at equal settings.

    python benchmarks/sac.py curves --seeds 5 --samples 6000 --out curves.csv
    python benchmarks/sac.py curves --libraries sbx --out curves.csv  # as well
    python benchmarks/sac.py curves --world HalfCheetah-v5 --samples 4000 --tests 4 \\
        --episodes 2 --out curves.csv
    python benchmarks/sac.py speed --trials 5 --seconds 5 --out figures
    python benchmarks/sac.py speed --world HalfCheetah-v5
    python benchmarks/sac.py work --trials 5 --size large

Curves are greedy returns after so many samples; all learners have the same networks,
rates, batches and replay, and one update for each sample. Speeds are taken in turns,
and each ratio is that of one round. Work is told in samples a processor-second, which a
busy machine does not spoil.
"""

import csv
import time
from dataclasses import replace
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import cyclopts
import gymnasium
import jax.numpy as jnp
import numpy as np

from policymix.cli.bench import tell
from policymix.cli.timing import (
    ROUNDS,
    Chunk,
    Rows,
    contest,
    our_chunks,
    ratios_to,
    warm_up,
)
from policymix.core.encoders import Identity
from policymix.core.progress import Begin
from policymix.core.settings import Settings
from policymix.domains.pendulum.experiment import SETTINGS
from policymix.domains.pendulum.task import Pendulum
from policymix.sources.experts import SourceTask
from policymix.sources.library import SourceLibrary
from policymix.training.task import TransferTask
from policymix.training.train import train

PENDULUM = "Pendulum-v1"
"""Also written in JAX."""
CHUNK = 100
"""Steps of Stable-Baselines3 between looks at the clock."""
LARGE = {"layers": (256, 256), "batch": 256, "learning_rate": 3e-4, "discount": 0.99}
"""The defaults of Stable-Baselines3."""
TITLES = {
    "small": "two layers of 64, batches of 64",
    "large": "two layers of 256, batches of 256",
}
OURS = "policymix"
THEIRS = {"sb3": "stable_baselines3", "sbx": "sbx"}
"""Modules of other libraries."""


class Tested(NamedTuple):
    """A test of one run."""

    library: str
    seed: int
    step: int
    score: float


several = cyclopts.Parameter(consume_multiple=True, negative=())
app = cyclopts.App(help=__doc__, default_parameter=several)


def task_on(target: Any) -> TransferTask:
    """A task that has a source, since every task has; `scratch` does not ask it."""
    size = 1
    if isinstance(target, str):
        (size,) = gymnasium.make(target).action_space.shape or ()
    idle = SourceTask("idle", lambda obs: jnp.zeros(size), lambda obs, action: obs)
    return TransferTask(target, SourceLibrary([idle], encoder=Identity()))


def targets_in(world: str) -> dict[str, Any]:
    """The world of that name, and the same in JAX if it is written there."""
    in_jax = {"pendulum in JAX": Pendulum()} if world == PENDULUM else {}
    return {**in_jax, world: world}


def settings_of(size: str) -> Settings:
    return SETTINGS if size == "small" else replace(SETTINGS, **LARGE)


def their_sac(world: str, settings: Settings, seed: int, library: str = "sb3") -> Any:
    import torch
    from stable_baselines3.common.logger import Logger

    torch.set_num_threads(1)
    assert settings.layers is not None
    model = import_module(THEIRS[library]).SAC(
        "MlpPolicy",
        world,
        learning_rate=settings.learning_rate,
        buffer_size=settings.capacity,
        learning_starts=1,
        batch_size=settings.batch,
        tau=settings.target_rate,
        gamma=settings.discount,
        policy_kwargs={"net_arch": list(settings.layers)},
        device="cpu",
        seed=seed,
    )
    model.set_logger(Logger(None, []))
    return model


def tested(model: Any, world: str, episodes: int, seed: int) -> float:
    """The mean return of greedy episodes."""
    env, totals = gymnasium.make(world), []
    for episode in range(episodes):
        obs, _ = env.reset(seed=seed + episode)
        total, over = 0.0, False
        while not over:
            action, _ = model.predict(obs, deterministic=True)
            obs, reward, terminated, truncated, _ = env.step(action)
            total, over = total + float(reward), terminated or truncated
        totals.append(total)
    return float(np.mean(totals))


def our_rows(world: str, settings: Settings, seeds: int) -> list[Tested]:
    """All seeds side by side."""
    ours = train(task_on(world), "scratch", settings=settings, trials=seeds)
    return [Tested(OURS, row.seed, row.step, row.score) for row in ours.rows]


def their_rows(
    world: str, settings: Settings, seeds: int, library: str
) -> list[Tested]:
    """Seed after seed."""
    rows, every = [], settings.evaluate_every
    episodes = settings.evaluation_episodes
    for seed in range(seeds):
        model = their_sac(world, settings, seed, library)
        for step in range(0, settings.steps + 1, every):
            if step:
                model.learn(every, reset_num_timesteps=False, log_interval=10**9)
            score = tested(model, world, episodes, 10_000 + step)
            rows.append(Tested(library, seed, step, score))
    return rows


@app.command
def curves(
    *,
    world: str = PENDULUM,
    seeds: int = 5,
    samples: int = 6_000,
    tests: int = 6,
    episodes: int = 10,
    size: str = "small",
    libraries: tuple[str, ...] = (OURS, "sb3"),
    out: Path,
) -> None:
    """Learning curves, one row for each test; a file that is there gets them too."""
    settings = replace(
        settings_of(size),
        steps=samples,
        evaluate_every=samples // tests,
        evaluation_episodes=episodes,
        final_episodes=episodes,
    )
    rows: list[Tested] = []
    for name in libraries:
        if name == OURS:
            rows += our_rows(world, settings, seeds)
        else:
            rows += their_rows(world, settings, seeds, name)
    new = not out.exists()
    with out.open("a", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerows([*([Tested._fields] if new else []), *rows])
    for name, step in product(libraries, sorted({row.step for row in rows})):
        found = [row.score for row in rows if (row.library, row.step) == (name, step)]
        each = " ".join(f"{score:.0f}" for score in sorted(found))
        print(f"{name:9} {step:6} mean {np.mean(found):7.1f}  each {each}")


def their_chunks(world: str, settings: Settings) -> Chunk:
    model = their_sac(world, settings, 0)

    def chunk() -> int:
        model.learn(CHUNK, reset_num_timesteps=False, log_interval=10**9)
        return CHUNK

    return chunk


@app.command
def speed(
    *,
    world: str = PENDULUM,
    trials: int = 5,
    seconds: float = 5.0,
    size: str = "small",
    out: Path | None = None,
) -> None:
    """Samples a second in training, against one run of Stable-Baselines3."""
    settings = replace(settings_of(size), evaluate_every=CHUNK, refresh_every=CHUNK)
    theirs = f"SB3, {world}, 1 thread"
    contestants: dict[str, Chunk] = {}
    for (place, target), count in product(targets_in(world).items(), (trials, 1)):
        name = f"policymix, {place}, {count} trial" + "s" * (count > 1)
        contestants[name] = our_chunks(task_on(target), "scratch", count, settings)
    contestants[theirs] = their_chunks(world, settings)

    def measured(begin: Begin) -> dict[str, Rows]:
        advance = begin(size, ROUNDS * len(contestants), "samples/s")
        return {size: ratios_to(contest(contestants, seconds, advance), theirs)}

    tell([measured], TITLES, seconds, out)


@app.command
def work(
    *, world: str = PENDULUM, trials: int = 5, size: str = "small", chunks: int = 4
) -> None:
    """Samples a processor-second in training, those of all threads counted."""
    settings = replace(settings_of(size), evaluate_every=CHUNK, refresh_every=CHUNK)
    contestants = {
        f"policymix, {place}, {trials} trials": our_chunks(
            task_on(target), "scratch", trials, settings
        )
        for place, target in targets_in(world).items()
    }
    contestants[f"SB3, {world}"] = their_chunks(world, settings)
    for name, chunk in contestants.items():
        warm_up(chunk)
        started = time.process_time()
        samples = sum(chunk() for _ in range(chunks))
        print(f"{name:36} {samples / (time.process_time() - started):8.1f}")


if __name__ == "__main__":
    app()
