"""What sources of the user's own answer, so that those are told apart that differ.

A function's code does not say what it reads from outside itself, nor an environment's
class how heavy things are. What they do in a few states says it.
"""

import hashlib
from functools import partial
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from policymix.sources.adapt import some_actions
from policymix.sources.checks import answers_of
from policymix.sources.dynamics import LogDensity
from policymix.sources.experts import Experts, SourceTask
from policymix.sources.foreign import is_foreign
from policymix.sources.library import SourceLibrary

TRIED_IN = 16
"""States."""
DIGITS = 3
"""Of each number: another type of processor may round the last of them otherwise."""


class Prints(NamedTuple):
    """Digests of what was seen while a task of the user's own was prepared.

    Where chance has a hand in it there is none.
    """

    target: str | None
    sources: dict[str, str]


def digest(*parts: np.ndarray) -> str:
    """SHA-256 of numbers, rounded."""
    found = hashlib.sha256()
    for part in parts:
        rows = [f"{x:.{DIGITS - 1}e}" for x in np.ravel(part).astype(float).tolist()]
        found.update(",".join(rows).encode())
    return found.hexdigest()


def behaviour(library: SourceLibrary, states: Array) -> dict[str, str]:
    """A digest of every source's answers in some states; none where chance answers."""
    asked, experts = states[:TRIED_IN], library.experts
    found = {}
    for source in library.sources:
        first, again = (digest(*replies(experts, source, asked)) for _ in range(2))
        if first == again:
            found[source.name] = first
    return found


def replies(experts: Experts, source: SourceTask, states: Array) -> list[np.ndarray]:
    """Advice, and what is predicted; or how likely it is that nothing changes."""
    actions = jnp.asarray(some_actions(experts.spec.action, len(states)))
    policy, dynamics = partial(experts.advice_of, source.policy), source.dynamics
    advice = answers_of(source, "policy", policy, states)
    if isinstance(dynamics, LogDensity) or is_foreign(dynamics):
        still = partial(experts.likelihood_of, (dynamics, source.kernel))
        told = answers_of(source, "dynamics", still, states, actions, states)
    else:
        told = answers_of(source, "dynamics", dynamics, states, actions)
    return [advice, told]
