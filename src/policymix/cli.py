"""The command line. Commands import what they need when they run, so help is quick."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro
from tyro.conf import Positional, subcommand

from policymix.errors import PolicymixError


@dataclass(frozen=True)
class Demo:
    """See what transfer brings on Transfer-CartPole, in about a minute.

    Trains mars, the best single source, mapse and no transfer, prints a table and
    writes a report that shows which source the mixture trusts where.

    Example: policymix demo --out demo
    """

    out: Path = Path("demo")
    """Folder for rows, figures and report."""
    trials: int = 10
    """Repetitions of each method, run side by side."""
    seed: int = 0
    """Trial t has seed + t."""

    def run(self) -> int:
        """Train, print, report."""
        from policymix.demo import demo

        demo(self.out, self.trials, self.seed)
        return 0


@dataclass(frozen=True)
class Train:
    """Train a domain's source policies and models and write a library folder.

    Example: policymix sources train cartpole --out my-sources
    """

    domain: Positional[str]
    """maze, cartpole or lander."""
    out: Path
    """A folder that does not exist yet."""
    seed: int = 0
    """Source i is trained with seed + i."""

    def run(self) -> int:
        """Train and save."""
        from policymix.commands import train_sources

        train_sources(self.domain, self.out, self.seed)
        return 0


@dataclass(frozen=True)
class Show:
    """Print what a library holds: scores, model errors, samples spent, hashes.

    Example: policymix sources show cartpole
    """

    place: Positional[str]
    """A library folder, or a domain's name for the shipped one."""

    def run(self) -> int:
        """Print a table."""
        from policymix.commands import show_sources

        show_sources(self.place)
        return 0


@dataclass(frozen=True)
class Sources:
    """Train or look at source libraries."""

    command: (
        Annotated[Train, subcommand("train", prefix_name=False)]
        | Annotated[Show, subcommand("show", prefix_name=False)]
    )

    def run(self) -> int:
        """Run the command that was chosen."""
        return self.command.run()


@dataclass(frozen=True)
class Run:
    """Train methods on a domain's target and write every evaluation to a folder.

    Methods: mars, mars-explicit, mars-lookahead, mars-reward, mapse, caps, ucb, prql,
    jumpstart, phi1, phi2, …, follow, oracle, scratch.

    Example: policymix run cartpole --methods mars scratch --trials 20 --out my-run
    """

    place: Positional[str]
    """maze, cartpole or lander, or a library folder."""
    out: Path
    """A folder that does not exist yet."""
    methods: tuple[str, ...] = ("mars", "scratch")
    """Which methods to compare."""
    trials: int = 10
    """Repetitions of each, run side by side."""
    seed: int = 0
    """Trial t has seed + t."""
    steps: int | None = None
    """Samples of the target in each trial; by default the domain's."""

    def run(self) -> int:
        """Train and write."""
        from policymix.commands import run_methods

        run_methods(
            *(self.place, self.methods, self.trials, self.seed, self.steps, self.out)
        )
        return 0


@dataclass(frozen=True)
class Reproduce:
    """Run the paper's experiments and write a report with every figure and claim.

    Stop it at any moment; the same command goes on after the last finished part.

    Example: policymix reproduce cartpole --quick --out preview

    Example: policymix reproduce all --out results
    """

    domain: Positional[str]
    """maze, cartpole, lander or all."""
    out: Path
    """A new folder, or one to go on with."""
    quick: bool = False
    """Few trials, about two minutes for each domain."""
    seed: int = 0
    """Trial t has seed + t."""

    def run(self) -> int:
        """Run what is missing, then report."""
        from policymix.reproduction import reproduce

        reproduce(self.domain, self.out, self.seed, self.quick)
        return 0


@dataclass(frozen=True)
class Report:
    """Write figures, a table and an interactive page for a folder of runs.

    Example: policymix report my-run
    """

    place: Positional[Path]
    """A folder of policymix run or reproduce, or one that holds several of them."""

    def run(self) -> int:
        """Read and write."""
        from rich.console import Console

        from policymix.reproduction import make_report

        make_report(self.place, Console())
        return 0


@dataclass(frozen=True)
class Check:
    """Check that a transfer task is sound; exit status 1 when it is not.

    Example: policymix check cartpole
    """

    place: Positional[str]
    """A domain's name, or a library folder."""

    def run(self) -> int:
        """Print the findings."""
        from policymix.commands import check

        return check(self.place)


@dataclass(frozen=True)
class Bench:
    """Measure how fast training is, side by side with Stable-Baselines3.

    Example: policymix bench --parts sb3 lander
    """

    parts: tuple[str, ...] = ("speed", "sb3", "lander", "sources", "capacities")
    """Some of speed, sb3, lander, sources, capacities, gpu-scale."""
    seconds: float = 3.0
    """Time of a single measurement, at least."""
    trials: tuple[int, ...] = (1, 20, 160)
    """Trials side by side, for the part "speed"."""
    out: Path | None = None
    """Folder for bench.json."""

    def run(self) -> int:
        """Measure and print."""
        from policymix.bench import bench

        bench(self.parts, self.seconds, self.trials, self.out)
        return 0


Command = (
    Annotated[Demo, subcommand("demo")]
    | Annotated[Sources, subcommand("sources")]
    | Annotated[Run, subcommand("run")]
    | Annotated[Reproduce, subcommand("reproduce")]
    | Annotated[Report, subcommand("report")]
    | Annotated[Check, subcommand("check")]
    | Annotated[Bench, subcommand("bench")]
)


def main() -> None:
    """Run `policymix`."""
    arguments = sys.argv[1:] or ["--help"]
    command = tyro.cli(
        Command,  # pyright: ignore[reportArgumentType]
        prog="policymix",
        description="Learn a new task from several simulators or trained policies.",
        args=arguments,
        config=(tyro.conf.OmitArgPrefixes,),
    )
    try:
        from policymix.devices import use_every_core

        use_every_core()
        status = command.run()
    except PolicymixError as error:
        sys.exit(f"policymix: {error}")
    except KeyboardInterrupt:
        sys.exit("policymix: stopped; nothing unfinished was written")
    sys.exit(status)
