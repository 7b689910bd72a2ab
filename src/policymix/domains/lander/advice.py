"""The lander with imperfect advice: its pilot of the last metres learned too little."""

from collections.abc import Callable
from dataclasses import replace
from importlib.resources import files

import gymnasium

from policymix.core.encoders import Identity
from policymix.core.progress import Begin
from policymix.domains.lander.experiment import LANDER
from policymix.domains.lander.sources import JUDGES, POLICIES, Forlorn
from policymix.environments.copies import HostTasks
from policymix.environments.study import ADVICE_METHODS
from policymix.sources.experts import SourceTask
from policymix.sources.policies import GreedyPolicy
from policymix.training.source_policy import train_policy
from policymix.training.task import load_task

UNFINISHED = "land"
WEAK_POLICY = replace(POLICIES[UNFINISHED], samples=160_000)
"""A fifth of the usual samples."""


def train_weak(
    name: str, make: Callable[[], gymnasium.Env], seed: int, begin: Begin
) -> tuple[SourceTask, int]:
    """One source as it is shipped, and the samples it took; `land` with a new policy.

    Its model and what that covers stay those of the finished source.
    """
    shipped = load_task(LANDER.name)
    known = {source.name: source for source in shipped.sources.sources}[name]
    if name != UNFINISHED:
        return known, shipped.facts["sources"][name]["samples"]
    tasks = HostTasks(lambda: Forlorn(make()), WEAK_POLICY.copies)
    advance = begin(f"{name}: policy", WEAK_POLICY.samples, "merit")
    trained = train_policy(tasks, WEAK_POLICY, JUDGES[name](make), seed, advance)
    policy = GreedyPolicy(trained.network, Identity())
    return replace(known, policy=policy), WEAK_POLICY.samples


WEAK = replace(
    LANDER,
    name="lander-weak",
    shipped=files("policymix.domains.lander") / "weak",
    trainer="policymix.domains.lander.advice:train_weak",
    study=replace(
        LANDER.study,
        title="Transfer-SparseLunarLander, land trained for a fifth",
        looks=(0, 5_000, 20_000, 50_000),
        shown=(0, 5_000, 20_000, 50_000),
        sweeps={},
        methods=ADVICE_METHODS,
        claims=("above-both", "ends-above-both"),
    ),
)
