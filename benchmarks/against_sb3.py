"""Samples a second against Stable-Baselines3, and against others that are installed.

    python benchmarks/against_sb3.py
    python benchmarks/against_sb3.py --contests lander --seconds 1 --out figures

Three rounds taken in turn: each ratio is that of one round of one run.
"""

from functools import partial
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Literal

import cyclopts
import gymnasium
import jax
from contests import (
    Absent,
    baseline_chunks,
    fastest,
    host_chunks,
    rejax_chunks,
    share_of,
)

from policymix.cli.bench import HOST_TRIALS, TRIALS, tell
from policymix.cli.timing import ROUNDS, Chunk, Rows, contest, our_chunks, ratios_to
from policymix.core.progress import Begin, silent
from policymix.core.settings import Settings
from policymix.environments.registry import find_domain

OUR_CARTPOLE = "policymix/TransferCartPole-v0"
TITLES = {
    "sb3-ways": "Ways to run Stable-Baselines3: a short look, the fastest competes",
    "sb3": "CartPole against other libraries (CartPole-v1 is Gymnasium's own, a "
    "cheaper environment)",
    "sb3-absent": "Could have competed",
    "lander-ways": "Ways to run Stable-Baselines3: a short look, the fastest competes",
    "lander": "Lander against Stable-Baselines3, on the same environment",
    "lander-host": "Environments and host work in the lander's loop, for each step",
}


def against_sb3(seconds: float, begin: Begin = silent) -> dict[str, Rows]:
    """CartPole with `TRIALS` trials against the fastest way to run Stable-Baselines3.

    Its DQN may run on our environment or on Gymnasium's CartPole-v1, which is cheaper
    (fewer actions, no JAX), and with one thread or two; others compete as well where
    they are installed.
    """
    settings = find_domain("cartpole").settings
    contestants: dict[str, Chunk] = {}
    for method, trials in (("scratch", TRIALS), ("mars", TRIALS), ("scratch", 1)):
        name = f"policymix {method}, {_plural(trials, 'trial')}"
        contestants[name] = our_chunks("cartpole", method, trials)
    ways: dict[str, Chunk] = {}
    for world, threads in product((OUR_CARTPOLE, "CartPole-v1"), (1, 2)):
        name = f"SB3, {world.split('/')[-1]}, {_plural(threads, 'thread')}"
        environment = gymnasium.make(world, disable_env_checker=True)
        ways[name] = baseline_chunks(
            "stable_baselines3", environment, settings, threads
        )
    best, looks = fastest(ways)
    others, absent = _others(settings)
    contestants |= {best: ways[best], **others}
    advance = begin("sb3", ROUNDS * len(contestants), "samples/s")
    speeds = contest(contestants, seconds, advance)
    found: dict[str, Rows] = {"sb3-ways": looks, "sb3": ratios_to(speeds, best)}
    return {**found, "sb3-absent": absent} if absent else found


def _others(settings: Settings) -> tuple[dict[str, Chunk], list[Absent]]:
    """Further libraries, and those that are not installed or do not run."""

    def sbx() -> Chunk:
        environment = gymnasium.make("CartPole-v1", disable_env_checker=True)
        return baseline_chunks("sbx", environment, settings, 1)

    makers = {
        "sbx": ("SBX, CartPole-v1", sbx),
        "rejax": (
            f"Rejax, CartPole-v1, {_plural(TRIALS, 'trial')}",
            lambda: rejax_chunks(settings, TRIALS),
        ),
    }
    contestants: dict[str, Chunk] = {}
    absent: list[Absent] = []
    for library, (name, make) in makers.items():
        if not find_spec(library):
            absent.append(Absent(library, "not installed"))
            continue
        try:
            chunk = make()
            chunk()
        except Exception as error:  # whatever it is, the others can still compete
            absent.append(Absent(library, f"{type(error).__name__}: {error}"))
        else:
            contestants[name] = chunk
    return contestants, absent


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def against_sb3_lander(seconds: float, begin: Begin = silent) -> dict[str, Rows]:
    """The lander against Stable-Baselines3, and how much of it is the host's work."""

    from policymix.domains.lander.picture import make_lander

    ours = f"policymix scratch, {_plural(HOST_TRIALS, 'trial')}"
    host = f"{_plural(HOST_TRIALS, 'environment')} alone, 1 thread"
    ways = {
        f"SB3, {_plural(threads, 'thread')}": baseline_chunks(
            "stable_baselines3", make_lander(), find_domain("lander").settings, threads
        )
        for threads in (1, 2)
    }
    best, looks = fastest(ways)
    contestants = {
        ours: our_chunks("lander", "scratch", HOST_TRIALS),
        best: ways[best],
        host: host_chunks(make_lander, HOST_TRIALS),
    }
    advance = begin("lander", ROUNDS * len(contestants), "samples/s")
    speeds = contest(contestants, seconds, advance)
    threads = min(jax.device_count(), HOST_TRIALS)
    share = share_of(speeds[ours], speeds[host], HOST_TRIALS, threads)
    return {
        "lander-ways": looks,
        "lander": ratios_to(speeds, best),
        "lander-host": [share],
    }


CONTESTS = {"cartpole": against_sb3, "lander": against_sb3_lander}


def main(
    *,
    contests: tuple[Literal["cartpole", "lander"], ...] = ("cartpole", "lander"),
    seconds: float = 3.0,
    out: Path | None = None,
) -> None:
    """Compete with other libraries at the same work.

    Args:
        contests: Which domains.
        seconds: Time of a single measurement, at least.
        out: Where to write bench.json.
    """
    measures = [partial(CONTESTS[name], seconds) for name in contests]
    tell(measures, TITLES, seconds, out)


if __name__ == "__main__":
    several = cyclopts.Parameter(consume_multiple=True, negative=())
    cyclopts.App(default_command=main, default_parameter=several)()
