"""The commands and their arguments.

Commands import what they need when they run, so that help is quick.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

from tyro.conf import Positional, arg

from policymix.cli.rules import AtLeast, DomainOrSources, Folder, OneOf, Writable
from policymix.environments.registry import DOMAINS as KNOWN

DOMAINS = tuple(KNOWN)
NAMES = ", ".join(DOMAINS)
METHODS = (
    *("mars", "mars-explicit", "mars-lookahead", "mars-reward", "mapse", "caps", "ucb"),
    *("prql", "jumpstart", "phi1", "phi2", "phi3", "follow", "oracle", "scratch"),
)
PARTS = ("speed", "sb3", "lander", "sources", "capacities", "gpu-scale")

Place = Annotated[
    str,
    Positional,
    arg(metavar="DOMAIN", help=f"{NAMES}, or a folder of `sources train`."),
    DomainOrSources(DOMAINS),
]
NewFolder = Annotated[
    Path,
    arg(metavar="FOLDER", help="Where to write, a folder that is not there yet."),
    Writable(new=True),
]
Trials = Annotated[int, AtLeast(1)]
Seed = Annotated[int, AtLeast(0)]


@dataclass(frozen=True)
class Demo:
    """See what transfer brings on CartPole, in about a minute.

    Trains mars, the best single source, mapse and no transfer, prints a table and
    writes a report that shows which source the mixture trusts where.
    """

    examples: ClassVar = ("policymix demo", "policymix demo --trials 20 --out my-demo")

    out: Annotated[Path, arg(metavar="FOLDER"), Writable()] = Path("demo")
    """Where to write rows, figures and report; finished parts in it are kept."""
    trials: Trials = 10
    """Repetitions of each method, run side by side."""
    seed: Seed = 0
    """Trial t has seed + t."""

    def run(self) -> int:
        """Train, print, report."""
        from policymix.cli.demo import demo

        demo(self.out, self.trials, self.seed)
        return 0


@dataclass(frozen=True)
class Show:
    """Print a domain's sources: scores, errors, samples, hashes."""

    examples: ClassVar = ("policymix sources show cartpole",)

    place: Place

    def run(self) -> int:
        """Print a table."""
        from policymix.cli.commands import show_sources

        show_sources(self.place)
        return 0


@dataclass(frozen=True)
class Train:
    """Train a domain's sources anew and write them to a folder.

    A source is a policy and a model of a task that resembles the target.
    """

    examples: ClassVar = ("policymix sources train cartpole --out my-sources",)

    domain: Annotated[
        str,
        Positional,
        arg(metavar="DOMAIN", help=f"{NAMES}."),
        OneOf("domain", DOMAINS),
    ]
    out: NewFolder
    seed: Seed = 0
    """Source i is trained with seed + i."""

    def run(self) -> int:
        """Train and save."""
        from policymix.cli.commands import train_sources

        train_sources(self.domain, self.out, self.seed)
        return 0


@dataclass(frozen=True)
class Run:
    """Compare methods on a domain and write every evaluation down.

    Methods: mars, mars-explicit, mars-lookahead, mars-reward, mapse, caps, ucb, prql,
    jumpstart, follow, oracle, scratch (no transfer), and phi1, phi2 and so on (one
    source alone).
    """

    examples: ClassVar = (
        "policymix run cartpole --methods mars scratch --trials 20 --out my-run",
        "policymix run inventory --methods mars phi1 scratch --out my-inventory",
        "policymix run my-sources --steps 2000 --out quick-look",
    )

    place: Place
    out: NewFolder
    methods: Annotated[
        tuple[str, ...],
        arg(metavar="METHOD ..."),
        OneOf("method", METHODS, pattern=r"phi[1-9]\d*"),
    ] = ("mars", "scratch")
    """Which methods to compare."""
    trials: Trials = 10
    """Repetitions of each, run side by side."""
    seed: Seed = 0
    """Trial t has seed + t."""
    steps: Annotated[
        int | None, arg(help_behavior_hint="(default: the domain's)"), AtLeast(1)
    ] = None
    """Samples of the target in each trial."""

    def run(self) -> int:
        """Train and write."""
        from policymix.cli.commands import run_methods

        run_methods(
            *(self.place, self.methods, self.trials, self.seed, self.steps, self.out)
        )
        return 0


@dataclass(frozen=True)
class Reproduce:
    """Run the paper's experiments and report on every claim.

    Stop it at any moment; the same command goes on after the last finished part.
    """

    examples: ClassVar = (
        "policymix reproduce cartpole --quick --out preview",
        "policymix reproduce inventory --out results-inventory",
        "policymix reproduce all --out results",
    )

    domain: Annotated[
        str,
        Positional,
        arg(
            metavar="DOMAIN",
            help=f"{NAMES}, or all: the paper's maze, cartpole and lander. "
            "With inventory both inventories are run.",
        ),
        OneOf("domain", (*DOMAINS, "all")),
    ]
    out: Annotated[
        Path,
        arg(
            metavar="FOLDER", help="Where to write, a new folder or one to go on with."
        ),
        Writable(),
    ]
    quick: bool = False
    """Few trials, about two minutes for each domain."""
    seed: Seed = 0
    """Trial t has seed + t."""

    def run(self) -> int:
        """Run what is missing, then report."""
        from rich.console import Console

        from policymix.experiments.reproduce import reproduce
        from policymix.reports.report import make_report

        console = Console()
        reproduce(self.domain, self.out, self.seed, self.quick, console)
        make_report(self.out, console)
        return 0


@dataclass(frozen=True)
class Report:
    """Draw figures, a table and a page for a folder of runs."""

    examples: ClassVar = ("policymix report my-run",)

    place: Annotated[
        Path,
        Positional,
        arg(
            metavar="FOLDER",
            help="What run, reproduce or demo wrote, or a folder of several of these.",
        ),
        Folder("policymix run or policymix reproduce"),
    ]

    def run(self) -> int:
        """Read and write."""
        from rich.console import Console

        from policymix.reports.report import make_report

        make_report(self.place, Console())
        return 0


@dataclass(frozen=True)
class Check:
    """Check that a task is sound; exit status 1 when it is not.

    Among others: do the sources fit the target, and are their models better than
    predicting that nothing changes?
    """

    examples: ClassVar = ("policymix check cartpole", "policymix check my-sources")

    place: Place

    def run(self) -> int:
        """Print the findings."""
        from policymix.cli.commands import check

        return check(self.place)


@dataclass(frozen=True)
class Bench:
    """Measure how fast training is, next to Stable-Baselines3."""

    examples: ClassVar = (
        "policymix bench --parts sb3 lander",
        "policymix bench --parts speed --trials 1 20 --out my-bench",
    )

    parts: Annotated[tuple[str, ...], arg(metavar="PART ..."), OneOf("part", PARTS)] = (
        PARTS[:-1]
    )
    """Some of speed, sb3, lander, sources, capacities, gpu-scale."""
    seconds: float = 3.0
    """Time of a single measurement, at least."""
    trials: Annotated[tuple[int, ...], arg(metavar="INT ..."), AtLeast(1)] = (
        1,
        20,
        160,
    )
    """Trials side by side, for the part "speed"."""
    out: Annotated[
        Path | None,
        arg(metavar="FOLDER", help_behavior_hint="(default: print only)"),
        Writable(),
    ] = None
    """Where to write bench.json."""

    def run(self) -> int:
        """Measure and print."""
        from policymix.cli.bench import bench

        bench(self.parts, self.seconds, self.trials, self.out)
        return 0


COMMANDS: dict[str, Any] = {
    "demo": Demo,
    "sources show": Show,
    "sources train": Train,
    "run": Run,
    "reproduce": Reproduce,
    "report": Report,
    "check": Check,
    "bench": Bench,
}
