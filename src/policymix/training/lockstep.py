"""Many trials that move in lock step: what the compiled and the host loop share.

All trials of a batch take the same number of steps, so their replays have one write
position: an in-place slice update, where a position per trial would be a scatter.
"""

from functools import partial
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Num, UInt32

from policymix.agents.base import AbstractLearner, Uniforms
from policymix.core.seeds import key_from
from policymix.core.types import Key, Keys, TestKeys
from policymix.training.step import Outcome, observe, taken_phi
from policymix.training.trial import LearningSetup, Trial

LEARNER, STEPS, STARTS, TESTS = range(4)
"""Uses of a trial's key: what is learned, chance in steps, starts of episodes, and
tests."""
SINGLE = 6
"""Numbers of `Uniforms` besides those for its arms."""


class Plan(NamedTuple):
    """Numbers that shape the program."""

    length: int
    """Steps of a chunk."""
    batch: int
    capacity: int
    updates: int | str
    """As in `Settings` …"""
    learn_every: int = 1
    """… as is this."""
    since: int = 0
    """Steps before the chunk that nothing was learned after yet."""

    @property
    def at_once(self) -> bool:
        """Whether something is learned after every single step."""
        return self.updates == "step" and self.learn_every == 1

    @property
    def period(self) -> int:
        """Steps from one time to learn to the next; after episodes it may be any."""
        return self.learn_every if self.updates == "step" else 1

    def of(self, length: int, written: int) -> "Plan":
        """The same for a chunk of so many steps, after those that were written."""
        return self._replace(length=length, since=written % self.period)

    def lesson_after(self, step: int) -> bool:
        """Whether it is time to learn after this step of the chunk."""
        return (self.since + step + 1) % self.period == 0


class Carry(NamedTuple):
    """Trials along a leading axis, and their replays."""

    trials: Trial
    rows: Float[Array, "trials capacity row"]
    written: Int[Array, ""]


Choices = tuple[Num[Array, " trials *act"], Int[Array, " trials"]]
"""Every trial's action, and its option."""


class Draws(NamedTuple):
    """What chance contributes to one step."""

    uniforms: Float[Array, " uniforms"]
    picks: Float[Array, " batch"]
    key: Key
    noise: Float[Array, "draws act"]
    """Normal numbers where actions are continuous: of the action, then of an update."""


def draw(setup: LearningSetup, plan: Plan, key: Key, first: Int[Array, ""]) -> Draws:
    """The draws of every step of a chunk at once, which is far cheaper than in it.

    Every step has its own key, so a trial does not depend on where chunks end. Updates
    that come less often draw for themselves, see `lessons`.
    """
    uniforms = SINGLE + setup.method.leader.advised.size
    picks = plan.batch if plan.at_once else 0
    shape = (1 + 2 * picks, setup.num_actions)

    def one(step: Int[Array, ""]) -> Draws:
        own = jax.random.fold_in(key, step)
        uniform_key, pick_key, step_key, *noise_key = jax.random.split(
            own, 3 + setup.continuous
        )
        noise = [jax.random.normal(key, shape) for key in noise_key]
        return Draws(
            jax.random.uniform(uniform_key, (uniforms,)),
            jax.random.uniform(pick_key, (picks,)),
            step_key,
            noise[0] if noise else jnp.zeros((0, 0)),
        )

    return jax.vmap(one)(first + jnp.arange(plan.length))


def uniforms_of(draws: Draws) -> Uniforms:
    """Give every uniform number its name."""
    explore, anything, reuse, follow, leave, guide = draws.uniforms[:SINGLE]
    arms = draws.uniforms[SINGLE:]
    noise = draws.noise[0] if draws.noise.size else None
    return Uniforms(explore, anything, reuse, follow, leave, guide, arms, noise)


def lay_out(setup: LearningSetup, plan: Plan, trials: Trial) -> Carry:
    """Trials with empty replays."""
    count = trials.behaviour.episode.shape[0]
    rows = jnp.zeros((count, plan.capacity, setup.layout.width))
    return Carry(trials, rows, jnp.zeros((), int))


def write(
    setup: LearningSetup,
    plan: Plan,
    carry: Carry,
    choices: Choices,
    outcomes: Outcome,
    draws: Draws,
) -> Carry:
    """One step of every trial, in its replay."""
    trials, rows = jax.vmap(
        lambda trial, choice, outcome, draws: observe(
            setup, trial, choice, outcome, uniforms_of(draws), carry.written
        )
    )(carry.trials, choices, outcomes, draws)
    place = carry.written % plan.capacity
    before = carry.rows
    if setup.method.printed:
        before = pay_back(setup, carry, choices[0], (place - 1) % plan.capacity)
    buffer = jax.lax.dynamic_update_slice(before, rows[:, None], (0, place, 0))
    return Carry(trials, buffer, carry.written + 1)


def pay_back(
    setup: LearningSetup,
    carry: Carry,
    actions: Num[Array, " trials *act"],
    place: Int[Array, ""],
) -> Float[Array, "trials capacity row"]:
    """Complete the rewards of the step before: γ c Φ(s', a'), a' being taken now.

    The last step of an episode has none: nothing is done after it.
    """
    assert isinstance(setup.agent, AbstractLearner)
    phi = jax.vmap(partial(taken_phi, setup))(carry.trials, actions)
    going = carry.trials.behaviour.elapsed > 0
    owed = jnp.where(going, setup.agent.discount * phi, 0.0)
    column = setup.layout.reward
    paid = carry.rows[:, place, column] + owed
    return jax.lax.dynamic_update_slice(
        carry.rows, paid[:, None, None], (0, place, column)
    )


@partial(jax.jit, static_argnums=(0,), donate_argnums=(2,))
def refresh(rest: LearningSetup, arrays: LearningSetup, carry: Carry) -> Carry:
    """Copy every trial's target network."""
    agent = eqx.combine(arrays, rest).agent
    trials = carry.trials
    return carry._replace(
        trials=trials._replace(agent=jax.vmap(agent.refresh)(trials.agent))
    )


@partial(jax.jit, static_argnums=(3,))
def keys_for_tests(
    keys: Keys, step: Int[Array, ""], first: Int[Array, ""] | int, count: int
) -> TestKeys:
    """Keys of test episodes [trials, episodes], those from `first` on.

    They are a trial's own, after each number of steps anew: between trials, and so
    between the seeds that settings were chosen on and those that are reported, tests
    share nothing.
    """

    def one(key: Key) -> Keys:
        fold = jax.vmap(jax.random.fold_in, (None, 0))
        return fold(jax.random.fold_in(key, step), first + jnp.arange(count))

    return jax.vmap(one)(keys)


@jax.jit
def _bits(keys: TestKeys) -> Array:
    return jax.vmap(jax.random.bits)(keys.ravel())


def seeds_for_tests(keys: TestKeys) -> list[int]:
    """The same as seeds of environments; 32 bits each."""
    return np.asarray(_bits(keys)).tolist()


@jax.jit
def keys_of(words: UInt32[Array, "trials 2"], use: Int[Array, ""] | int) -> Keys:
    """A key for every trial and use: which trials run beside it makes no difference.

    Args:
        words: of the trials' seeds, see `words_of`.
        use: one of those above.
    """
    return jax.vmap(lambda own: jax.random.fold_in(key_from(own), use))(words)
