"""Why a run stopped in the middle, and where."""

from collections.abc import Iterator
from contextlib import contextmanager

import jax
import numpy as np

from policymix.core.errors import PolicymixError, SourceError
from policymix.environments.answers import BrokenEnvironmentError
from policymix.sources.host_calls import told_by_host
from policymix.storage.runs import Row


class TrialError(PolicymixError):
    """A number was not finite, or the user's own code raised; `rows` is kept."""

    def __init__(self, message: str, rows: list[Row]):
        self.rows = rows
        super().__init__(message)


@contextmanager
def telling(name: str, seeds: np.ndarray, step: int, length: int = 0) -> Iterator[None]:
    """What a user's environment or source raises, with its place and without the rest.

    Args:
        name: of the method.
        seeds: of its trials.
        step: samples before.
        length: of the chunk that is learned from; none in a test or at the start.
    """
    when = f"steps {step + 1} … {step + length}" if length else f"after step {step}"
    try:
        yield
    except BrokenEnvironmentError as failure:
        places = np.flatnonzero(seeds == failure.seed).tolist() if length else []
        when = f"step {failure.taken}" if length else when
        which = trial_of(seeds, *places)
        raise TrialError(f"{name}, {which}, {when}: {failure}", []) from failure
    except (jax.errors.JaxRuntimeError, ValueError) as error:
        asked_here = isinstance(error, SourceError)
        told = str(error) if asked_here else told_by_host(error)
        if told is None:
            raise
        raise TrialError(f"{name}, {trial_of(seeds)}, {when}: {told}", []) from error


def trial_of(seeds: np.ndarray, *known: int) -> str:
    """Which trial; those that are asked together cannot be told apart."""
    if not known and len(seeds) > 1:
        return f"one of {len(seeds)} trials"
    place = known[0] if known else 0
    return f"trial {place} (seed {seeds[place]})"


def faults(sources: tuple[str, ...]) -> list[str]:
    """What each code of a `Fault` stands for."""
    predictions = [f"the prediction of source {name!r}" for name in sources]
    everyone = ["nothing", "the observation", "the reward", "the learner's loss"]
    told = [f"{what} is not a finite number" for what in everyone + predictions]
    return told + [
        f"the advice of source {name!r} is no action of the target, or its "
        "probabilities are not finite numbers"
        for name in sources
    ]
