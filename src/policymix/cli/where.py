"""Who does the work: options of every command that can have it done elsewhere."""

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from policymix.cli.values import ExecutorName, Positive, Unsaid

if TYPE_CHECKING:
    from policymix.core.executor import Executor


@Parameter(name="*")
@dataclass(frozen=True)
class Where:
    """Who does the work.

    Args:
        executor: Who does the work: processes of this machine, or a cluster of ray. By
            default it is done here, trials side by side.
        workers: How many processes; by default as many as there are cores.
        address: Of the cluster; auto finds one that runs on this machine.
    """

    executor: Annotated[ExecutorName | None, Parameter(metavar="NAME"), Unsaid] = None
    workers: Annotated[Positive | None, Parameter(metavar="INT"), Unsaid] = None
    address: Annotated[str | None, Parameter(metavar="ADDRESS"), Unsaid] = None

    def open(self) -> "AbstractContextManager[Executor | None]":
        """Have workers ready; None where the work is done here."""
        from policymix.experiments.executors import open_executor

        return open_executor(self.executor, self.workers, self.address)


HERE = Where()
