"""Trials of Gymnasium environments: the host steps them, one compiled call learns.

While one shard's learner runs, which needs no interpreter, the host steps the
environments of another.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from policymix.core.errors import PolicymixError
from policymix.core.seeds import words_of
from policymix.environments.copies import HostTasks, Round
from policymix.environments.episodes import tally
from policymix.environments.recorded import RecordedTasks
from policymix.sources.asking import Heard, Questions, without_host
from policymix.training.host_programs import (
    Hashed,
    greedy_actions,
    learn_step,
    leaves_of,
    note_step,
    open_chunk,
    shapes_of,
    start_trials,
)
from policymix.training.lockstep import (
    LEARNER,
    STEPS,
    TESTS,
    Carry,
    Plan,
    keys_for_tests,
    keys_of,
    refresh,
    seeds_for_tests,
)
from policymix.training.loop import AbstractShard
from policymix.training.trial import LearningSetup


def _tell(outcome: Round, heard: Sequence[np.ndarray] = ()) -> np.ndarray:
    """A round as one array: one transfer instead of eight."""
    singles = (outcome.reward, outcome.terminated, outcome.truncated)
    count = len(outcome.reward)
    columns = [part.reshape(count, -1) for part in (outcome.next_obs, outcome.obs)]
    columns += [part[:, None] for part in singles]
    return np.concatenate([*columns, *heard], axis=1, dtype=np.float32)


class HostShard(AbstractShard):
    """Trials of a Gymnasium environment.

    Args:
        setup: who learns.
        make: makes an environment of the target.
        plan: numbers that shape the program.
        tests: test episodes that are played at a time.
        copies: makes the environments that are learned in; a run that is to be taken
            up again needs `RecordedTasks`.
        seeds: one for each trial.
        device: where they learn.
    """

    def __init__(
        self,
        setup: LearningSetup,
        make: Callable[[], Any],
        plan: Plan,
        tests: int,
        copies: Callable[[Callable[[], Any], int], HostTasks],
        seeds: np.ndarray,
        device: Any,
    ):
        self._questions = Questions(setup.experts, setup.method.contextual)
        self._method = setup.method
        if setup.experts is not None:
            setup = replace(setup, experts=without_host(setup.experts))
        arrays, rest = eqx.partition(setup, eqx.is_array)
        self._rest = Hashed(rest)
        self._arrays = jax.device_put(arrays, device)
        self._plan, self.count = plan, len(seeds)
        self._tasks = copies(make, len(seeds))
        self._tests = HostTasks(make, len(seeds) * tests)
        self._obs = self._tasks.reset(seeds.tolist())
        words = jnp.asarray(words_of(seeds))
        learners, self._keys, self._test_keys = (
            keys_of(words, use) for use in (LEARNER, STEPS, TESTS)
        )
        begun = learners, self._obs, self._questions.advice(self._obs)
        carry = start_trials(self._rest, plan, self._arrays, *begun)
        # Committed, or the first chunks would be compiled for arrays that are not.
        self.carry = jax.device_put(carry, device)
        self._shapes = shapes_of(rest, self._arrays, carry)

    def advance(self, length: int) -> None:
        plan = self._plan._replace(length=length)
        chances, choices = open_chunk(
            self._rest, plan, self._arrays, self.carry, self._keys
        )
        shapes, learned = self._shapes, self._shapes.learned
        numbers, state = leaves_of(self._arrays), leaves_of(self.carry)
        rounds = self._plan.of(length, self.steps)
        for step in range(length):
            actions = np.asarray(choices[0])
            outcome = self._tasks.step(actions)
            heard = self._hear(actions, outcome)
            self._obs = outcome.obs
            now = chances, np.int32(step), choices, _tell(outcome, heard)
            now = (*now, self._questions.widths)
            if rounds.lesson_after(step):
                state, choices = learn_step(shapes, plan, numbers, state, *now)
            else:
                known, others = state[:learned], state[learned:]
                others, choices = note_step(shapes, plan, numbers, others, known, *now)
                state = (*known, *others)
        self.carry = shapes.carry_of(state)
        self.steps += length

    def _hear(self, actions: np.ndarray, outcome: Round) -> Heard:
        """Ask the sources about one step of all trials; nothing is asked twice."""
        questions = self._questions
        if not self._method.recalls_advice:
            advice = after = questions.advice(outcome.obs)
        else:
            advice = after = questions.advice(outcome.next_obs)
            ended = outcome.terminated | outcome.truncated
            if ended.any():
                advice = after.copy()
                advice[ended] = questions.advice(outcome.obs[ended])
        step = self._obs, actions, outcome.next_obs
        return Heard(questions.predictions(*step), after, advice)

    def refresh(self) -> None:
        self.carry = refresh(self._rest.setup, self._arrays, self.carry)

    @property
    def histories(self) -> list[list[float]]:
        assert isinstance(self._tasks, RecordedTasks)
        return self._tasks.histories

    def restore(self, carry: Carry, histories: Sequence[Sequence[float]]) -> None:
        assert isinstance(self._tasks, RecordedTasks)
        obs = self._tasks.replay(histories, int(carry.written))
        astray = np.any((obs != carry.trials.obs).reshape(self.count, -1), axis=1)
        if astray.any():
            raise PolicymixError(
                f"the environment of trial {int(np.argmax(astray))} of a shard did not "
                "come back to where it was: it does not do the same when seed and "
                "actions are the same, so its training cannot go on. Begin anew in "
                "another folder"
            )
        self._obs = obs
        super().restore(carry, histories)

    def evaluate(
        self, first: int = 0, alone: bool = False
    ) -> tuple[np.ndarray, np.ndarray]:
        shape = (self.count, self._tests.copies // self.count)
        keys = keys_for_tests(self._test_keys, self.carry.written, first, shape[1])

        def policy(obs: np.ndarray) -> np.ndarray:
            return np.concatenate(self.act(obs.reshape(*shape, *obs.shape[1:]), alone))

        lengths, totals = tally(self._tests, seeds_for_tests(keys), policy)
        return lengths.reshape(shape), totals.reshape(shape)

    def act(self, rows: np.ndarray, alone: bool = False) -> np.ndarray:
        count, rows = rows.shape[:2], rows.astype(np.float32)
        if alone:
            answers = np.zeros((*count, self._questions.widths.advice), np.float32)
        else:
            flat = rows.reshape(-1, *rows.shape[2:])
            answers = self._questions.advice(flat).reshape(*count, -1)
        fixed = (self._rest, alone, self._arrays, self.carry.trials)
        return np.asarray(greedy_actions(*fixed, rows, answers))
