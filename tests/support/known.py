"""What the domains of the package say of themselves, by name."""

from policymix.environments.registry import GROUPS, find_domain

INVENTORIES = GROUPS["inventory"]
PAPER = {name: find_domain(name).settings for name in GROUPS["paper"]}
STUDIES = {name: find_domain(name).study for name in (*PAPER, *INVENTORIES)}
LOOKS = {name: study.looks for name, study in STUDIES.items()}
SHOWN = {name: study.shown for name, study in STUDIES.items()}
TRIALS = {name: STUDIES[name].trials for name in PAPER}
