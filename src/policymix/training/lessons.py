"""When trials that move in lock step learn, and from what."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from policymix.training.lockstep import Carry, Choices, Draws, Plan, write
from policymix.training.step import Outcome, learn
from policymix.training.trial import LearningSetup, Trial

Take = Callable[[Carry, Any, bool], Carry]
"""One step of all trials by what chance contributes; whether they learn after it."""


class Chance(NamedTuple):
    """What chance contributes to an update."""

    places: Int[Array, " batch"]
    """Of the replayed rows."""
    noise: Float[Array, "2 batch act"] | None


def drawn_lesson(draws: Draws, filled: Int[Array, ""]) -> Chance:
    """By the draws of its step."""
    noise = draws.noise[1:]
    noise = noise.reshape(2, -1, noise.shape[1]) if draws.noise.size else None
    return Chance((draws.picks * filled).astype(int), noise)


def lesson(
    setup: LearningSetup,
    plan: Plan,
    draws: Draws,
    filled: Int[Array, ""],
    number: Int[Array, ""] | int,
) -> Chance:
    """One of several after the same step, or the only one after several."""
    key = jax.random.fold_in(draws.key, number)
    places = jax.random.randint(key, (plan.batch,), 0, filled)
    if not setup.continuous:
        return Chance(places, None)
    shape = (2, plan.batch, setup.num_actions)
    return Chance(
        places, jax.random.normal(jax.random.fold_in(draws.key, ~number), shape)
    )


def absorb(
    setup: LearningSetup,
    plan: Plan,
    carry: Carry,
    choices: Choices,
    outcomes: Outcome,
    draws: Draws,
    learns: bool = True,
) -> Carry:
    """Write one step of every trial, then let every trial learn if it is time to."""
    ended = outcomes.terminated | outcomes.truncated
    lengths = carry.trials.behaviour.elapsed + 1
    carry = write(setup, plan, carry, choices, outcomes, draws)
    if not learns:
        return carry
    if plan.updates == "step":
        return study(setup, plan, carry, draws)
    return study_episodes(setup, plan, carry, draws, lengths, ended)


def in_rounds(plan: Plan, take: Take, carry: Carry, chances: Any) -> Carry:
    """A chunk of steps; the last one of each round is followed by a lesson.

    When to learn is known before, so no step holds a condition: under `vmap` both of
    its branches would run.

    Args:
        plan: where rounds end.
        take: one step, which learns or does not.
        carry: before the chunk.
        chances: of every step.
    """

    def only_take(carry: Carry, chances: Any) -> tuple[Carry, None]:
        return take(carry, chances, False), None

    def take_and_learn(carry: Carry, chances: Any) -> tuple[Carry, None]:
        """A round, or what is left of one."""
        before, last = (
            jax.tree.map(lambda x, part=part: x[part], chances)
            for part in (slice(-1), -1)
        )
        if jax.tree.leaves(before)[0].size:
            carry, _ = jax.lax.scan(only_take, carry, before)
        return take(carry, last, True), None

    def part(first: int, last: int) -> Any:
        return jax.tree.map(lambda x: x[first:last], chances)

    period, length = plan.period, plan.length
    first = (period - plan.since) % period
    if first > length:
        return jax.lax.scan(only_take, carry, chances)[0]
    if first:
        carry, _ = take_and_learn(carry, part(0, first))
    count = (length - first) // period
    last = first + count * period
    rounds = jax.tree.map(
        lambda x: x.reshape(count, period, *x.shape[1:]), part(first, last)
    )
    carry, _ = jax.lax.scan(take_and_learn, carry, rounds)
    if last < length:
        carry, _ = jax.lax.scan(only_take, carry, part(last, length))
    return carry


def study(setup: LearningSetup, plan: Plan, carry: Carry, draws: Draws) -> Carry:
    """Every trial learns: from replayed rows, and from all since it did so before."""
    filled = jnp.minimum(carry.written, plan.capacity)
    since = carry.written - plan.learn_every + jnp.arange(plan.learn_every)

    def one(trial: Trial, replay: Float[Array, "capacity row"], draws: Draws) -> Trial:
        found = (
            drawn_lesson(draws, filled)
            if plan.at_once
            else lesson(setup, plan, draws, filled, 0)
        )
        newest = replay[since % plan.capacity]
        step = carry.written - 1
        return learn(setup, trial, replay[found.places], newest, step, found.noise)

    return carry._replace(trials=jax.vmap(one)(carry.trials, carry.rows, draws))


def study_episodes(
    setup: LearningSetup,
    plan: Plan,
    carry: Carry,
    draws: Draws,
    lengths: Int[Array, " trials"],
    ended: Bool[Array, " trials"],
) -> Carry:
    """Trials whose episode has ended learn.

    Each update is about one of its steps in turn, the first step first.
    """
    filled = jnp.minimum(carry.written, plan.capacity)
    last = carry.written - 1

    def one(
        trial: Trial,
        replay: Float[Array, "capacity row"],
        length: Int[Array, ""],
        draws: Draws,
        due: Int[Array, ""],
    ) -> Trial:
        steps = jnp.where(due > 0, length, 0)
        trial = note_episode(setup, trial, replay, last - steps + 1, steps)

        def again(i: Int[Array, ""], trial: Trial) -> Trial:
            found = lesson(setup, plan, draws, filled, i)
            back = length - 1 - i * length // jnp.maximum(due, 1)
            past = replay[(last - back) % plan.capacity][None]
            replayed = replay[found.places]
            return learn(setup, trial, replayed, past, last, found.noise, online=False)

        return jax.lax.fori_loop(0, due, again, trial)

    due = updates_due(plan, lengths, ended)
    kept = jnp.minimum(lengths, plan.capacity)
    trials = jax.vmap(one)(carry.trials, carry.rows, kept, draws, due)
    return carry._replace(trials=trials)


def note_episode(
    setup: LearningSetup,
    trial: Trial,
    replay: Float[Array, "capacity row"],
    first: Int[Array, ""],
    steps: Int[Array, ""],
) -> Trial:
    """Let the agent know of every step once, however many updates follow."""

    def one(i: Int[Array, ""], state: Any) -> Any:
        row = replay[(first + i) % len(replay)][None]
        return setup.agent.note(state, jax.vmap(setup.layout.unpack)(row)[0])

    return trial._replace(agent=jax.lax.fori_loop(0, steps, one, trial.agent))


def updates_due(
    plan: Plan, lengths: Int[Array, " trials"], ended: Bool[Array, " trials"]
) -> Int[Array, " trials"]:
    """How many updates follow this step when they come after episodes."""
    count = lengths if isinstance(plan.updates, str) else plan.updates
    return jnp.where(ended, count, 0)
