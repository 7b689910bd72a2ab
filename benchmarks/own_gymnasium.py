"""A stranger's CartPole from Gymnasium against Stable-Baselines3, as ratios of one run.

    python benchmarks/own_gymnasium.py
    python benchmarks/own_gymnasium.py --contests loop --seconds 1 --out figures

`loop`: `mars` with five trials; two sources that are Gymnasium's simulators with NumPy
policies, or the same written in JAX; against SB3's plain DQN. `learners`: SB3's DQN and
SAC with and without MARS. Rounds are taken in turn; each ratio is that of one round.
"""

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

import cyclopts
import gymnasium
import jax.numpy as jnp
import numpy as np
from contests import baseline_chunks, fastest

import policymix as pm
from policymix.cli.bench import tell
from policymix.cli.timing import ROUNDS, Chunk, Rows, contest, our_chunks, ratios_to
from policymix.core.progress import Begin, silent
from policymix.core.settings import DEFAULTS

TRIALS = 5
LENGTHS = {"short": 0.4, "long": 0.8}
"""Of the sources' poles; the target's is 0.5."""
STEPS = 200
"""Of a learner between looks at the clock."""
TITLES = {
    "loop-ways": "Ways to run Stable-Baselines3: a short look, the fastest competes",
    "loop": f"An own CartPole of Gymnasium, `mars` with {TRIALS} trials, two sources",
    "compile": "Seconds of pm.train for one step, again with the same functions",
    "learners": "MARS in Stable-Baselines3's learners: time of a step",
}


class Again(NamedTuple):
    """What it costs to begin."""

    call: str
    seconds: float


class Spent(NamedTuple):
    """On one step, in seconds."""

    clock: float
    processor: float
    """Of all threads: one of JAX's looks for work while there is none."""


class Cost(NamedTuple):
    """Microseconds of a learner's step; ratios to the plain one's are by the clock."""

    learner: str
    clock: float
    processor: float
    ratio_min: float
    ratio_median: float
    ratio_max: float


def cart(length: float = 0.5) -> gymnasium.Env:
    """Gymnasium's CartPole with a pole of another length."""
    env = gymnasium.make("CartPole-v1")
    body: Any = env.unwrapped
    body.length, body.polemass_length = length, body.masspole * length
    return env


def balance(gain: float, obs: np.ndarray) -> int:
    """A rule of thumb, as plain Python has it."""
    return int(obs[2] + gain * obs[3] > 0)


def balance_jax(gain: float, obs: Any) -> Any:
    return jnp.where(obs[2] + gain * obs[3] > 0, 1, 0)


def swing_jax(length: float, obs: Any, action: Any) -> Any:
    """What CartPole does in 0.02 s: pole of 0.1, cart of 1, force of 10."""
    _, speed, angle, turn = obs
    force = jnp.where(action == 1, 10.0, -10.0)
    sine, cosine = jnp.sin(angle), jnp.cos(angle)
    pushed = (force + 0.1 * length * turn**2 * sine) / 1.1
    swung = 9.8 * sine - cosine * pushed
    swung = swung / (length * (4.0 / 3.0 - 0.1 * cosine**2 / 1.1))
    moved = pushed - 0.1 * length * swung * cosine / 1.1
    return obs + 0.02 * jnp.stack([speed, moved, turn, swung])


def plain_task() -> pm.TransferTask:
    """Sources as a newcomer has them."""
    sources = [
        pm.SourceTask(name, partial(balance, length), cart(length))
        for name, length in LENGTHS.items()
    ]
    return pm.TransferTask(cart, pm.SourceLibrary(sources))


def jax_task() -> pm.TransferTask:
    """The same sources in JAX."""
    sources = [
        pm.SourceTask(name, partial(balance_jax, length), partial(swing_jax, length))
        for name, length in LENGTHS.items()
    ]
    return pm.TransferTask(cart, pm.SourceLibrary(sources))


def loop(seconds: float, begin: Begin = silent) -> dict[str, Rows]:
    """Samples a second in training; tests and compilation are left out."""
    ways = {
        f"SB3's DQN, {threads} threads": baseline_chunks(
            "stable_baselines3", cart(), DEFAULTS, threads
        )
        for threads in (1, 2)
    }
    best, looks = fastest(ways)
    contestants: dict[str, Chunk] = {
        "mars, simulators and NumPy": our_chunks(plain_task(), "mars", TRIALS),
        "mars, sources in JAX": our_chunks(jax_task(), "mars", TRIALS),
        "scratch": our_chunks(jax_task(), "scratch", TRIALS),
        best: ways[best],
    }
    advance = begin("own CartPole", ROUNDS * len(contestants), "samples/s")
    speeds = contest(contestants, seconds, advance)
    return {"loop-ways": looks, "loop": ratios_to(speeds, best)}


def compiling(seconds: float, begin: Begin = silent) -> dict[str, Rows]:
    """How long the same functions in a new task take."""
    del seconds, begin
    rows, functions = [], [(partial(balance, x), cart(x)) for x in LENGTHS.values()]
    for call in ("first", "second", "third"):
        pairs = zip(LENGTHS, functions, strict=True)
        sources = [pm.SourceTask(name, *parts) for name, parts in pairs]
        task = pm.TransferTask(cart, pm.SourceLibrary(sources))
        started = time.perf_counter()
        pm.train(task, "mars", steps=1, trials=TRIALS, progress=False)
        rows.append(Again(call, time.perf_counter() - started))
    return {"compile": rows}


def learners(seconds: float, begin: Begin = silent) -> dict[str, Rows]:
    """One thread of PyTorch's, the same options for both of a pair."""
    import torch
    from stable_baselines3 import DQN, SAC

    from policymix.bridges.stable_baselines3 import MarsDQN, MarsSAC

    torch.set_num_threads(1)
    quiet: dict[str, Any] = {"device": "cpu", "seed": 0, "learning_starts": 100}
    value = {**quiet, "train_freq": 1, "batch_size": 32, "buffer_size": 20_000}
    pairs: dict[str, tuple[Any, Any]] = {
        "DQN": (
            DQN("MlpPolicy", cart(), **value),
            MarsDQN("MlpPolicy", cart(), plain_task().sources, **value),
        ),
        "SAC": (
            SAC("MlpPolicy", pendulum(), **quiet),
            MarsSAC("MlpPolicy", pendulum(), pendulum_sources(), **quiet),
        ),
    }
    advance = begin("learners", ROUNDS * len(pairs), "ratio")
    rows = []
    for name, pair in pairs.items():
        plain, mars = (_stepper(model) for model in pair)
        theirs, ours, ratios = [], [], []
        for _ in range(ROUNDS):
            theirs.append(_fastest(plain, seconds))
            ours.append(_fastest(mars, seconds))
            ratios.append(ours[-1].clock / theirs[-1].clock)
            advance(1, ratios[-1])
        low, middle, high = np.quantile(ratios, (0.0, 0.5, 1.0)).tolist()
        rows.append(_cost(name, theirs, 1.0, 1.0, 1.0))
        rows.append(_cost(f"Mars{name}", ours, low, middle, high))
    return {"learners": rows}


def _cost(learner: str, times: list[Spent], *ratios: float) -> Cost:
    """The least of each."""
    clock, processor = (1e6 * min(part) for part in zip(*times, strict=True))
    return Cost(learner, clock, processor, *ratios)


def pendulum(gravity: float = 10.0) -> gymnasium.Env:
    return gymnasium.make("Pendulum-v1", g=gravity)


def steady(gain: float, obs: np.ndarray) -> list[float]:
    """Pump energy until it can be caught, as plain Python has it."""
    if obs[0] > 0.8:
        return [float(np.clip(-10 * obs[1] - gain * obs[2], -2, 2))]
    return [2.0 if obs[2] > 0 else -2.0]


def pendulum_sources() -> pm.SourceLibrary:
    """Two pendulums, by Gymnasium's simulator."""
    return pm.SourceLibrary(
        [
            pm.SourceTask(f"g {gravity}", partial(steady, gain), pendulum(gravity))
            for gravity, gain in ((8.0, 2.0), (12.0, 3.0))
        ]
    )


def _stepper(model: Any) -> Callable[[], Spent]:
    """Takes steps and tells what one of them takes."""
    from stable_baselines3.common.logger import Logger

    model.set_logger(Logger(None, []))

    def take() -> Spent:
        clock, processor = time.perf_counter(), time.process_time()
        model.learn(STEPS, reset_num_timesteps=False, log_interval=10**9)
        clock, processor = time.perf_counter() - clock, time.process_time() - processor
        return Spent(clock / STEPS, processor / STEPS)

    for _ in range(3):
        take()
    return take


def _fastest(take: Callable[[], Spent], seconds: float) -> Spent:
    """The least by the clock: what else the machine does only adds to it."""
    started, found = time.perf_counter(), [take()]
    while len(found) < 3 or time.perf_counter() - started < seconds:
        found.append(take())
    return min(found)


Contest = Literal["loop", "compile", "learners"]
CONTESTS = {"loop": loop, "compile": compiling, "learners": learners}


def main(
    *,
    contests: tuple[Contest, ...] = ("loop", "compile", "learners"),
    seconds: float = 2.0,
    out: Path | None = None,
) -> None:
    """Measure what own tasks cost.

    Args:
        contests: Which of them.
        seconds: Time of a single measurement, at least.
        out: Where to write bench.json.
    """
    measures = [partial(CONTESTS[name], seconds) for name in contests]
    tell(measures, TITLES, seconds, out)


if __name__ == "__main__":
    several = cyclopts.Parameter(consume_multiple=True, negative=())
    cyclopts.App(default_command=main, default_parameter=several)()
