"""Kinds of values that commands take, each with its rule."""

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter
from cyclopts.validators import Number

from policymix.cli import rules
from policymix.environments.registry import ABOUT, EVERYTHING, GROUPS
from policymix.methods.names import BUILT_IN

Domain = Annotated[str, Parameter(validator=rules.a_domain)]
AnotherDomain = Annotated[
    str | None,
    Parameter(metavar="DOMAIN", show_default=False, validator=rules.a_domain),
]
Place = Annotated[str, Parameter(validator=rules.domain_or_sources)]
AnyTask = Annotated[str, Parameter(validator=rules.a_task)]
Folder = Annotated[Path, Parameter(metavar="FOLDER", validator=rules.writable)]
NewFolder = Annotated[Path, Parameter(metavar="FOLDER", validator=rules.new_folder)]
Seed = Annotated[int, Parameter(validator=Number(gte=0, lt=2**64))]
Positive = Annotated[int, Parameter(validator=Number(gte=1))]
GROUPED = "; ".join(f"{group}: {', '.join(names)}" for group, names in GROUPS.items())
SEVERAL_DOMAINS = (
    f"Its name, or one that stands for several. {GROUPED}. {EVERYTHING}: each of "
    "these, in a folder of its own."
)
DOMAIN_LIST = "\n".join(f"* {names}: {about}" for names, about in ABOUT.items())
METHOD_HELP = f"{', '.join(BUILT_IN)} (no transfer), phi1, phi2, … (one source alone)."
Several = Parameter(
    show_default=lambda values: " ".join(map(str, values)), consume_multiple=(1, None)
)
Part = Literal["speed", "sources", "capacities", "gpu-scale"]
Parts = Annotated[tuple[Part, ...], Parameter(metavar="PART..."), Several]
Methods = Annotated[
    tuple[Annotated[str, Parameter(validator=rules.a_method)], ...],
    Parameter(metavar="METHOD...", help=METHOD_HELP, validator=rules.each_once),
    Several,
]
Counts = Annotated[tuple[Positive, ...], Parameter(metavar="INT..."), Several]
ExecutorName = Literal["processes", "ray"]
Unsaid = Parameter(show_default=False)
"""Of an option whose default needs no words."""
