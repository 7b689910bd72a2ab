"""Seven tasks of strangers: Gymnasium's environments with other physics, as they come.

    python benchmarks/strangers                          # all of it
    python benchmarks/strangers taxi hopper --trials 2   # some of it
    policymix run benchmarks/strangers/taxi.py --steps 4000 --trials 5 --out taxi

Each goes through `pm.compare` with the default settings. A file of this folder is a
task: a target whose two halves have two physics, and two sources that know one of them
each, with a rule of thumb, a plan or a policy for it.
"""

import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import cyclopts
import numpy as np

import policymix as pm
from policymix.environments.episodes import play
from policymix.reports.analysis import areas
from policymix.sources.policies import policy_of

STRANGERS = {
    "acrobot": 4_000,
    "mountain_car": 4_000,
    "pendulum": 3_000,
    "frozen_lake": 4_000,
    "taxi": 4_000,
    "lunar_lander": 3_000,
    "hopper": 3_000,
}
"""Files of this folder, and samples of a trial."""
EPISODES, EXAM_SEED = 20, 6_000_000
"""Of the sources alone."""


@cyclopts.Parameter(name="*")
@dataclass
class Arguments:
    """Compare methods on strangers' tasks."""

    tasks: tuple[str, ...] = tuple(STRANGERS)
    methods: tuple[str, ...] = ("mars", "follow", "scratch")
    trials: int = 5
    seed: int = 0
    """Trial t has seed + t."""
    out: Path | None = None
    """Where the runs and reports are kept; by default nowhere."""


DEFAULTS = Arguments()


def sources_alone(task: pm.TransferTask) -> None:
    """The return of each policy on the target, without learning."""
    space = task.domain.spec().action
    for source in task.sources.sources:
        policy = policy_of(source.policy, space)
        played = play(task.domain.target, policy, EPISODES, EXAM_SEED)
        totals = [episode.total for episode in played]
        print(f"  {source.name + ' alone':<16}{np.mean(totals):9.2f}", flush=True)


def told(name: str, arguments: Arguments, out: Path) -> None:
    """One task: its figures, and the answers of its report."""
    started, steps = time.process_time(), STRANGERS[name]
    task = pm.prepare(pm.load_task(Path(__file__).parent / f"{name}.py"))
    print(f"\n{name}: {task.domain.name}, {steps:,} samples", flush=True)
    sources_alone(task)
    ready = time.process_time()
    compared = pm.compare(
        task,
        arguments.methods,
        arguments.trials,
        out / name,
        steps=steps,
        seed=arguments.seed,
        progress=False,
    )
    print("                     area    ± s.e.   at the end   without sources")
    for method, area in areas(compared.results).items():
        error = area.std(ddof=1) / len(area) ** 0.5 if len(area) > 1 else 0.0
        curve = compared.results.curves[method]
        end, alone = curve.scores[-1].mean(), curve.alone[-1].mean()
        print(f"  {method:<14}{area.mean():9.2f}{error:10.2f}{end:13.2f}{alone:18.2f}")
    for verdict in compared.answers:
        print(f"  {verdict.claim} {verdict.answer}. {verdict.sentence}")
    done = time.process_time()
    print(
        f"  processor: {ready - started:.0f} s before, {done - ready:.0f} s to compare"
    )


def main(arguments: Arguments = DEFAULTS) -> None:
    with TemporaryDirectory() as passing:
        for name in arguments.tasks:
            told(name, arguments, arguments.out or Path(passing))


if __name__ == "__main__":
    several = cyclopts.Parameter(consume_multiple=True, negative=())
    cyclopts.App(default_command=main, default_parameter=several)()
