"""What replayed transitions tell by the beliefs of today: Φ, and what is advised."""

from collections.abc import Sequence
from functools import partial

import jax
from jaxtyping import Array, Float

from policymix.agents.base import Experience
from policymix.agents.judged import STUDIED
from policymix.beliefs.potentials import Shaping
from policymix.core.types import Transition
from policymix.training.trial import LearningSetup, Trial
from policymix.training.vectors import preferred, rival_of


def recall(
    setup: LearningSetup,
    trial: Trial,
    experience: Experience,
    extras: Sequence[Float[Array, "batch advice"]],
) -> Experience:
    """The same experience with all that its agent wants to know of advice.

    Args:
        setup: who learns.
        trial: what it believes today.
        experience: of a batch.
        extras: the advice before and after each transition, as it was stored.
    """
    method, batch = setup.method, experience.batch
    shape = (-1, setup.num_sources, setup.num_actions)
    advice, next_advice = (part.reshape(shape) for part in extras)
    if setup.continuous:
        find = jax.vmap(partial(rival_of, setup, trial))
        rival, heard = find(batch.next_obs, next_advice)
        few = -(-len(advice) // STUDIED)
        best = method.leader.best(trial.behaviour)
        show = jax.vmap(partial(preferred, setup, trial, arm=best))
        shown = show(batch.obs[:few], advice[:few])
        return experience._replace(rival=rival, heard=heard, shown=shown)
    experience = experience._replace(advice=advice, next_advice=next_advice)
    if method.shapes:
        shaping = jax.vmap(partial(shaping_of, setup, trial))(
            batch, advice, next_advice
        )
        experience = experience._replace(shaping=shaping)
    if method.judged:
        phi = jax.vmap(partial(setup.phi, trial))
        experience = experience._replace(
            phi=phi(batch.obs, advice),
            next_phi=phi(batch.next_obs, next_advice),
            best=method.leader.best(trial.behaviour),
        )
    return experience


def shaping_of(
    setup: LearningSetup,
    trial: Trial,
    step: Transition,
    advice: Float[Array, "n actions"],
    next_advice: Float[Array, "n actions"],
) -> Shaping:
    """Φ of one replayed transition, by the beliefs of today."""
    form, scale = setup.method.form, setup.method.scale
    phi = setup.phi(trial, step.obs, advice)[step.action]
    return Shaping(form, scale, phi, setup.phi(trial, step.next_obs, next_advice))
