"""From a source's maps to a source that compiled code can call.

A source with maps is adapted and tried in its own language, on what it sees of the
target's observations; then the maps are put around it.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from policymix.core.encoders import AbstractEncoder, OneHot
from policymix.core.errors import SourceError
from policymix.core.types import Discrete, Space, TaskSpec
from policymix.sources.adapt import TRIES, adapt, some_actions
from policymix.sources.checks import check_source
from policymix.sources.experts import Experts, SourceTask, experts_of
from policymix.sources.foreign import (
    NO_ACTION,
    ActionTable,
    Components,
    Entries,
    ForeignDynamics,
    ForeignPolicy,
)
from policymix.sources.host_calls import Each, HostFunction, compiles, hashable, try_on
from policymix.sources.own_spaces import own_spec
from policymix.sources.units import measure_scale


def translate(source: SourceTask, spec: TaskSpec, observations: Array) -> SourceTask:
    """The same source for compiled code, in the target's language.

    Args:
        source: as the user has it, with maps or without.
        spec: spaces of the target.
        observations: some of the target's, to try maps, policy and dynamics on.
    """
    if source.observe is None and source.act is None:
        _expect_no_inverse(source)
        return adapt(source, spec, observations)
    rows = np.asarray(observations)[:TRIES]
    observe, seen = _observe(source, spec, rows)
    own = own_spec(source, spec, seen)
    plain = replace(source, observe=None, act=None, act_inverse=None)
    try:
        inner = adapt(plain, own, jnp.asarray(seen))
        experts = experts_of([inner], own, None)
        check_source(inner, experts, jnp.asarray(seen))
    except SourceError as error:
        raise SourceError(
            f"{error}. (To a source with maps the target is what it sees of it: here "
            f"observations of shape {own.observation.shape})"
        ) from error
    act = _act(source, own.action, spec.action, inner, seen)
    ask = _ask(source, own.action, spec.action, act)
    units = None if observe is None else _units(inner, experts, seen)
    return SourceTask(
        source.name,
        ForeignPolicy(observe, inner.policy, act),
        ForeignDynamics(inner.dynamics, observe, ask, units),
        source.kernel,
    )


def _expect_no_inverse(source: SourceTask) -> None:
    if source.act_inverse is not None:
        raise SourceError(
            f"source {source.name!r} has act_inverse but no act. Give act as well, the "
            "source's action as the target's"
        )


def _units(inner: SourceTask, experts: Experts, seen: np.ndarray) -> AbstractEncoder:
    """Like units in the source's language, measured as the target's would be."""
    space = experts.spec.observation
    if isinstance(space, Discrete):
        return OneHot(space.n)
    return measure_scale([inner], experts, jnp.asarray(seen))


def _observe(
    source: SourceTask, spec: TaskSpec, rows: np.ndarray
) -> tuple[Callable | None, np.ndarray]:
    """The map, and what it makes of some observations."""
    given, space = source.observe, spec.observation
    if given is None:
        return None, rows
    if not callable(given):
        listed = _listed_observations(source.name, given, space)
        return listed, np.asarray(jax.vmap(listed)(jnp.asarray(rows)))
    answers = try_on(source.name, "observe", given, rows)
    kind = _check_observed(source.name, answers)
    seen = np.array(answers).astype(kind)
    if compiles(given, answers, rows):
        return hashable(given), seen
    ask = Each(source.name, "observe", hashable(given))
    return HostFunction(ask, (space,), seen.shape[1:], kind), seen


def _listed_observations(name: str, given: Any, space: Space) -> Components | Entries:
    """A list of components of a vector, or of a state for each of the target's."""
    listed = np.asarray(given)
    if isinstance(space, Discrete):
        if listed.ndim and len(listed) == space.n:
            return Entries(jnp.asarray(listed))
        raise SourceError(
            f"source {name!r}: its observe is a table of shape {listed.shape}, but the "
            f"target has {space.n} states. Give what the source sees in each of them"
        )
    size = space.shape[0]
    whole = listed.ndim == 1 and np.issubdtype(listed.dtype, np.integer)
    if whole and listed.size and np.all((listed >= -size) & (listed < size)):
        return Components(jnp.asarray(listed % size))
    raise SourceError(
        f"source {name!r}: its observe is {given!r}, but the target's observations "
        f"have the components 0 … {size - 1}. Give a list of some of these, or a "
        "function of an observation"
    )


def _check_observed(name: str, answers: list[np.ndarray]) -> str:
    """One shape, one axis at most, finite numbers; returns their kind."""
    shapes = {answer.shape for answer in answers}
    whole = all(np.issubdtype(answer.dtype, np.integer) for answer in answers)
    shape = answers[0].shape
    if len(shapes) > 1 or len(shape) > 1 or 0 in shape or (not shape and not whole):
        found = " and ".join(str(shape) for shape in sorted(shapes))
        raise SourceError(
            f"source {name!r}: its observe returns shape {found} and "
            f"{answers[0].dtype}. Return a vector, always of the same length, or the "
            "number of a state (an int)"
        )
    if not all(np.all(np.isfinite(answer)) for answer in answers):
        raise SourceError(
            f"source {name!r}: its observe returns NaN or infinity for one of the "
            "target's observations. Mend it there"
        )
    return "int32" if not shape else "float32"


def _act(
    source: SourceTask, own: Space, space: Space, inner: SourceTask, seen: np.ndarray
) -> Callable | None:
    """The source's advice as advice for the target."""
    given: Any = source.act
    if given is None:
        return None
    if isinstance(own, Discrete):
        table = _tabulate(source.name, "act", given, own.n)
        table = _legal(source.name, "act", table, space)
        count = space.n if isinstance(space, Discrete) else 0
        return ActionTable(jnp.asarray(table), count)
    actions = np.asarray(jax.vmap(inner.policy)(jnp.asarray(seen)), np.float32)
    return _function(source.name, "act", given, own, space, actions)


def _ask(
    source: SourceTask, own: Space, space: Space, act: Callable | None
) -> Callable | None:
    """The target's action as the source's, which its dynamics are asked about."""
    given: Any = source.act_inverse
    if act is None:
        return None
    if given is None:
        return _inverted(source.name, act, space)
    if isinstance(space, Discrete):
        table = _tabulate(source.name, "act_inverse", given, space.n)
        return Entries(jnp.asarray(_legal(source.name, "act_inverse", table, own, -1)))
    actions = some_actions(space, TRIES)
    return _function(source.name, "act_inverse", given, space, own, actions)


def _inverted(name: str, act: Callable, space: Space) -> Entries:
    """Which of the source's actions each of the target's is, if that is clear."""
    needed = (
        "so its dynamics cannot be asked about an action of the target. Give "
        "act_inverse as well: a function of the target's action, or a list with the "
        f"source's action for each of the target's ({NO_ACTION} where it has none)"
    )
    if not isinstance(act, ActionTable) or not isinstance(space, Discrete):
        raise SourceError(f"source {name!r}: its act has no inverse, {needed}")
    table = np.full(space.n, NO_ACTION)
    for own, action in enumerate(np.asarray(act.table)):
        if table[action] != NO_ACTION:
            raise SourceError(
                f"source {name!r}: its act makes both {table[action]} and {own} the "
                f"target's action {action}, {needed}"
            )
        table[action] = own
    return Entries(jnp.asarray(table))


def _tabulate(name: str, part: str, given: Any, count: int) -> np.ndarray:
    """A map of numbered actions as a table, whether it is a function or a list."""
    if callable(given):
        answers = try_on(name, part, given, np.arange(count))
        given = [answer.tolist() for answer in answers]
    try:
        table = np.array(given)
    except ValueError:
        table = np.zeros(0)
    if table.ndim == 0 or len(table) != count:
        found = "no list" if table.ndim == 0 else f"{len(table)} entries"
        raise SourceError(
            f"source {name!r}: its {part} has {found}, but there are {count} actions "
            "to map. Give one entry for each"
        )
    return table


def _legal(
    name: str, part: str, table: np.ndarray, space: Space, least: int = 0
) -> np.ndarray:
    """Answers of a map, if all of them are actions of the space it leads to."""
    if isinstance(space, Discrete):
        whole = table.ndim == 1 and np.all(table == np.round(table))
        if not whole or np.any((table < least) | (table >= space.n)):
            raise SourceError(
                f"source {name!r}: its {part} returns {_found(table)}, which is no "
                f"action {least} … {space.n - 1}. Return the number of one"
            )
        return table.astype(int)
    if table.ndim == 1 and space.shape == (1,):
        table = table[:, None]
    low, high = np.array(space.low) - 1e-4, np.array(space.high) + 1e-4
    if table.shape[1:] != space.shape or not np.all((table >= low) & (table <= high)):
        raise SourceError(
            f"source {name!r}: its {part} returns {_found(table)}, but what is wanted "
            f"has shape {space.shape} in {space.low} … {space.high}. Select or clip"
        )
    return table.astype(np.float32)


def _found(table: np.ndarray) -> str:
    return f"shape {table.shape[1:]}, such as {table[0].tolist()}"


def _function(
    name: str, part: str, given: Any, own: Space, space: Space, rows: np.ndarray
) -> Callable:
    """A map between actions of which one side is continuous."""
    if not callable(given):
        raise SourceError(
            f"source {name!r}: its {part} is a {type(given).__name__}, but the actions "
            "to map are vectors. Give a function of an action"
        )
    answers = try_on(name, part, given, rows)
    if len({answer.shape for answer in answers}) > 1:
        raise SourceError(
            f"source {name!r}: its {part} returns shapes that differ. Always return "
            f"shape {space.shape}"
        )
    _legal(name, part, np.array(answers), space, NO_ACTION * (part != "act"))
    if np.shape(answers[0]) == space.shape and compiles(given, answers, rows):
        return hashable(given)
    kind = "int32" if isinstance(space, Discrete) else "float32"
    ask = Each(name, part, hashable(given))
    return HostFunction(ask, (own,), space.shape, kind)
