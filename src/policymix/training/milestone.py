"""What callbacks are told at every evaluation, and what they may answer."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, TypeAlias

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from policymix.beliefs.belief import Belief
from policymix.beliefs.own_model import OWN_MODEL
from policymix.core.errors import PolicymixError
from policymix.storage.runs import Row
from policymix.training.agent import TrainedAgent
from policymix.training.run import Pause, TrainingRun
from policymix.training.trial import LearningSetup

RECENT_STATES = 256
"""Of every trial, by which its trust is told."""


@dataclass(frozen=True)
class Milestone:
    """One evaluation of all trials. Agents and beliefs are those of this moment."""

    step: int
    """Samples of the target that every trial has taken."""
    rows: tuple[Row, ...]
    """The evaluation, one row for each trial."""
    run: TrainingRun = field(repr=False)

    @property
    def score(self) -> float:
        """The mean of the trials."""
        return float(np.mean([row.score for row in self.rows]))

    @cached_property
    def agents(self) -> tuple[TrainedAgent, ...]:
        """What every trial has learned so far; ask, test or save them."""
        self._check_now()
        return self.run.agents()

    @property
    def belief(self) -> Belief | None:
        """The first trial's; None where a method learns no mixture."""
        return None if self.run.setup.mixture is None else self.agents[0].belief

    @cached_property
    def trust(self) -> dict[str, np.ndarray]:
        """How far each source is trusted where trials have been of late, by its name.

        The mean weight over the latest 256 states, a number for each trial; at step 0
        over the first state. Empty where a method learns no mixture.
        """
        self._check_now()
        mixture, loop = self.run.setup.mixture, self.run.loop
        if mixture is None:
            return {}
        arrays, rest = eqx.partition(self.run.setup, eqx.is_array)
        trials, rows = loop.trials, loop.latest(RECENT_STATES)
        first = jnp.asarray(trials.obs) if self.step == 0 else None
        weights = np.asarray(_weights(rest, arrays, trials.mixture, rows, first))
        names = (*self.run.task.sources.names, OWN_MODEL)[: weights.shape[1]]
        return dict(zip(names, weights.T, strict=True))

    def _check_now(self) -> None:
        if self.run.loop.steps != self.step:
            raise PolicymixError(
                f"this is step {self.run.loop.steps}, and what there was at step "
                f"{self.step} is gone. Ask for agents and trust while the callback runs"
            )


@partial(jax.jit, static_argnums=(0,))
def _weights(
    rest: LearningSetup,
    arrays: LearningSetup,
    states: Any,
    rows: Float[Array, "trials latest row"],
    first: Array | None,
) -> Float[Array, "trials components"]:
    """Every trial's mean weights in the states of its rows, or in its first state."""
    setup = eqx.combine(arrays, rest)
    mixture = setup.mixture
    assert mixture is not None
    obs = jax.vmap(jax.vmap(setup.layout.unpack))(rows)[0].obs
    obs = obs if first is None else first[:, None]
    inner = jax.vmap(mixture.weights, (None, 0))
    return jnp.mean(jax.vmap(inner)(states, obs), axis=1)


Callback: TypeAlias = Callable[[Milestone], Any]
"""Is called at every evaluation; training stops if it returns False."""


def inform(callbacks: Sequence[Callback], run: TrainingRun, pause: Pause) -> bool:
    """Tell all of them of an evaluation; whether to go on."""
    if not pause.rows:
        return True
    now = Milestone(pause.step, tuple(pause.rows), run)
    answers = [callback(now) for callback in callbacks]
    return not any(isinstance(a, bool | np.bool_) and not a for a in answers)
