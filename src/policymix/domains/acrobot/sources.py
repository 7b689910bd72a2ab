"""Acrobot sources: a policy for each machine, and the machine itself as the dynamics.

As in MULTIPOLAR's protocol a source is whatever training ended with: one run, one last
policy, good or bad.
"""

from policymix.core.encoders import Identity
from policymix.core.kernels import Gaussian
from policymix.core.progress import Begin
from policymix.domains.acrobot.task import Acrobot, Moves
from policymix.environments.copies import DomainTasks, Policy
from policymix.environments.episodes import play
from policymix.sources.experts import SourceTask
from policymix.sources.policies import GreedyPolicy
from policymix.training.source_policy import (
    Judge,
    Judgement,
    PolicySettings,
    train_policy,
)

SAMPLES = 200_000
"""Of each source: those of the protocol's agents."""
POLICY = PolicySettings(
    samples=SAMPLES,
    hidden=(32, 32),
    evaluate_every=SAMPLES,
    finalists=1,
)
"""Looked at once, at the end: nothing is selected."""


def train_source(
    name: str, machine: Acrobot, seed: int, begin: Begin
) -> tuple[SourceTask, int]:
    """One source, and the samples it took."""
    tasks = DomainTasks(machine, POLICY.copies)
    advance = begin(f"{name}: policy", POLICY.samples, "merit")
    trained = train_policy(tasks, POLICY, judge_machine(machine), seed, advance)
    policy = GreedyPolicy(trained.network, Identity())
    return SourceTask(name, policy, Moves(machine), Gaussian()), POLICY.samples


def judge_machine(machine: Acrobot) -> Judge:
    """The mean return; with a single checkpoint nothing hangs on it."""

    def score(policy: Policy, episodes: int, seed: int) -> Judgement:
        played = play(machine, policy, episodes, seed)
        mean = sum(episode.total for episode in played) / len(played)
        return Judgement(mean, {"return": mean})

    return score
