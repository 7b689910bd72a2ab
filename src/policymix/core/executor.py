"""Work that runs elsewhere, and again if whoever does it is lost.

Anything with `submit(function, *arguments)` whose answer has `result()` is an executor:
processes of `concurrent.futures`, SLURM by `submitit`, Dask, Ray.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, Protocol, runtime_checkable

from policymix.core.errors import PolicymixError

BEGUN_AT_MOST = 3
"""How often work is begun whose worker is lost."""
GPU_SHARED = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
"""What JAX reads when it begins where others use the same GPU, or it would take three
quarters of its memory at once …"""
WORKER = {**GPU_SHARED, "PJRT_NPROC": "1"}
"""… and in a worker: how many threads it may start."""
WAITING = 256
"""Pieces that an executor has at a time, if it does not say how many it works on."""


@runtime_checkable
class Answer(Protocol):
    """What comes of work, sooner or later."""

    def result(self) -> Any:
        """Wait for it."""
        ...


@runtime_checkable
class Executor(Protocol):
    """Runs functions elsewhere."""

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> Answer:
        """Begin."""
        ...


@contextmanager
def waiting(executor: Executor) -> Iterator[ThreadPoolExecutor]:
    """Threads that wait for an executor; nothing more is begun once one is left."""
    threads = ThreadPoolExecutor(getattr(executor, "workers", WAITING))
    try:
        yield threads
    finally:
        threads.shutdown(wait=False, cancel_futures=True)


def until_done(
    executor: Executor, what: str, function: Callable[..., Any], *arguments: Any
) -> Any:
    """Have something done elsewhere; again if its worker is lost.

    Args:
        executor: has workers.
        what: is done, in words.
        function: of a module, so that its name can travel.
        arguments: likewise.

    Raises:
        PolicymixError: the function's own, which is not tried again, or one that says
            how often it was begun.
    """
    for attempt in range(1, BEGUN_AT_MOST + 1):
        try:
            return executor.submit(function, *arguments).result()
        except PolicymixError:
            raise
        except Exception as error:
            if attempt == BEGUN_AT_MOST:
                raise PolicymixError(
                    f"{what}: begun {BEGUN_AT_MOST} times, which ended at last with "
                    f"{type(error).__name__}: {error}"
                ) from error
    raise AssertionError("unreachable")


@contextmanager
def unless_set(variables: Mapping[str, str]) -> Iterator[None]:
    """Variables of the environment, for a while; those that are there stay."""
    missing = {
        name: value for name, value in variables.items() if name not in os.environ
    }
    os.environ.update(missing)
    try:
        yield
    finally:
        for name in missing:
            del os.environ[name]


@contextmanager
def at_work() -> Iterator[None]:
    """Around what a worker does: a modest JAX, and of an error the sentence alone.

    There are as many workers as cores, and JAX would start a thread for each core in
    every one of them, and leave no memory of a GPU to others. Not every error can
    travel.
    """
    with unless_set(WORKER):
        try:
            yield
        except PolicymixError as error:
            raise PolicymixError(str(error)) from None
