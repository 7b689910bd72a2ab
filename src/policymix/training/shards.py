"""Which loop a task's trials run in."""

from functools import partial
from typing import Any

import numpy as np

from policymix.core.settings import Settings
from policymix.environments.base import AbstractDomain
from policymix.environments.copies import HostTasks
from policymix.environments.recorded import RecordedTasks
from policymix.training.compiled import CompiledShard, World
from policymix.training.host import HostShard
from policymix.training.lockstep import Plan
from policymix.training.loop import LANES, Loop, share_out
from policymix.training.task import TransferTask
from policymix.training.trial import LearningSetup


def make_loop(
    task: TransferTask,
    setup: LearningSetup,
    plan: Plan,
    settings: Settings,
    seeds: np.ndarray,
    cores: int | None,
    lanes: int | None,
    recorded: bool = False,
) -> Loop:
    """Compiled shards for JAX domains, the host's for Gymnasium environments.

    Threads of the host get into each other's way: on two cores, five trials of a small
    task in one shard are up to twice as fast as in two. So these are not split.

    Args:
        task: prepared.
        setup: who learns what.
        plan: numbers that shape the program.
        settings: numbers of the experiment.
        seeds: one for each trial.
        cores: of the processor to use; None uses all.
        lanes: trials of a shard on a processor; None fills all cores.
        recorded: whether a stopped run shall be taken up again.
    """
    target: Any = task.domain.target
    tests = settings.evaluation_episodes
    on_host = not isinstance(target, AbstractDomain)
    shards = share_out(len(seeds), cores, lanes, least=LANES if on_host else 1)
    if on_host:
        copies = RecordedTasks if recorded else HostTasks
        make = partial(HostShard, setup, target, plan, tests, copies)
        return Loop(make, seeds, shards)
    make = partial(CompiledShard, World(setup, target), plan, shards.width, tests)
    return Loop(make, seeds, shards)
