"""Where blocks of trials run: processes of this machine, or a cluster by Ray."""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from importlib import import_module
from multiprocessing import get_context
from threading import Lock
from typing import Any

from policymix.core.errors import MissingExtraError, PolicymixError
from policymix.core.executor import GPU_SHARED, Answer, Executor, unless_set

NAMES = ("processes", "ray")


class Processes:
    """So many processes of this machine; a new pool takes the place of a broken one.

    A process that dies takes its pool with it. Whoever waits for a block is told, and
    submits it again.
    """

    def __init__(self, workers: int):
        self.workers = workers
        self._lock = Lock()
        self._pool = self._new()

    def _new(self) -> ProcessPoolExecutor:
        return ProcessPoolExecutor(self.workers, get_context("spawn"))

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> Future[Any]:
        """Begin, in whichever process is free."""
        with self._lock:
            try:
                return self._pool.submit(function, *arguments)
            except BrokenExecutor:
                self._pool = self._new()
                return self._pool.submit(function, *arguments)

    def shutdown(self) -> None:
        """End all processes; what is at work is lost."""
        for process in list((self._pool._processes or {}).values()):
            process.terminate()
        self._pool.shutdown(wait=True, cancel_futures=True)


class Fetched:
    """What Ray will have."""

    def __init__(self, ray: Any, reference: Any):
        self._ray, self._reference = ray, reference

    def result(self) -> Any:
        """Wait for it."""
        return self._ray.get(self._reference)


class Ray:
    """A cluster, or this machine as one.

    Each block has a core, or a GPU where the cluster has any: without asking for it a
    task of Ray sees none.

    Args:
        address: of a cluster; "auto" finds the one of this machine, None starts one.
    """

    def __init__(self, address: str | None = None):
        try:
            ray: Any = import_module("ray")
        except ImportError as error:
            raise MissingExtraError("The executor ray", "ray") from error
        self._ray = ray
        if not ray.is_initialized():
            ray.init(address=address, log_to_driver=False, include_dashboard=False)
        owned = ray.cluster_resources()
        gpus = int(owned.get("GPU", 0))
        self.workers = gpus or int(owned.get("CPU", 1))
        self._share = {"num_gpus": 1} if gpus else {"num_cpus": 1}

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> Answer:
        """Begin, on whichever node has room; whoever waits may submit it again."""
        task = self._ray.remote(function).options(max_retries=0, **self._share)
        return Fetched(self._ray, task.remote(*arguments))

    def shutdown(self) -> None:
        """Leave the cluster."""
        self._ray.shutdown()


@contextmanager
def open_executor(
    asked: Executor | str | None,
    workers: int | None = None,
    address: str | None = None,
) -> Iterator[Executor | None]:
    """The executor of that name, ended with the block.

    Args:
        asked: one of NAMES; None runs everything here; or whatever has `submit`, which
            is not ended.
        workers: processes; by default as many as this one may use cores.
        address: of Ray's cluster.
    """
    if asked is None or isinstance(asked, Executor):
        yield asked
        return
    if asked not in NAMES:
        known = ", ".join(NAMES)
        raise PolicymixError(f"there is no executor {asked!r}: choose {known}")
    with unless_set(GPU_SHARED):
        if asked == "ray":
            executor = Ray(address)
        else:
            executor = Processes(workers or len(os.sched_getaffinity(0)))
        try:
            yield executor
        finally:
            executor.shutdown()
