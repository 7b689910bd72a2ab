"""What to do where actions are vectors: the own action or the advised one.

Of infinitely many actions the best cannot be looked up, so two candidates compete: what
the learner itself would do, and what the sources advise. Who wins is said by the same
recipes as among finitely many actions: the way that leads, or the value and c·Φ.
"""

from functools import partial

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from policymix.agents.base import Uniforms
from policymix.agents.sac import SAC
from policymix.beliefs.potentials import action_potential
from policymix.core.boxes import clipped, in_unit
from policymix.core.kernels import Gaussian
from policymix.core.types import Observation, Real
from policymix.training.guidance import drawn, guide
from policymix.training.trial import LearningSetup, Trial


def rival_of(
    setup: LearningSetup,
    trial: Trial,
    obs: Observation,
    advice: Float[Array, "n act"],
) -> tuple[Float[Array, " act"], Bool[Array, ""]]:
    """The advised action, and whether half of the belief is with sources."""
    assert setup.method.trust is not None
    weights = setup.weights(trial, obs)
    heard = jnp.sum(weights[: setup.num_sources]) >= 0.5
    return setup.method.trust.advised(weights, advice), heard


def phi_of(
    setup: LearningSetup,
    trial: Trial,
    obs: Observation,
    advice: Float[Array, "n act"],
    action: Float[Array, " act"],
) -> Float[Array, ""]:
    """Φ(s, a), with a kernel on the action, as wide as that of the bridges."""
    units = partial(in_unit, setup.spec.action)
    weights = setup.weights(trial, obs)
    near = Gaussian(1.0 / action.size, normalised=False)
    return action_potential(weights, jax.vmap(units)(advice), units(action), near)


def keeps_own(
    setup: LearningSetup,
    trial: Trial,
    obs: Observation,
    advice: Float[Array, "n act"],
    candidates: tuple[Float[Array, " act"], Float[Array, " act"]],
    heard: Bool[Array, ""],
    arm: Int[Array, ""],
    tested: Real = 0.0,
) -> Bool[Array, ""]:
    """Whether the own action is taken, not the advised one.

    Args:
        setup: who acts.
        trial: what it has learned.
        obs: where.
        advice: of every source.
        candidates: the own action and the advised one.
        heard: whether half of the belief is with sources: `judged` methods weigh no
            other advice, and follow any while advice leads.
        arm: that leads; with `judged` one of three ways.
        tested: c of a potential that counts in tests alone.
    """
    method, agent = setup.method, setup.agent
    assert isinstance(agent, SAC)
    own, advised = (agent.value(trial.agent, obs, action) for action in candidates)
    if method.judged:
        ways = jnp.array(False), ~heard | (own > advised), jnp.array(True)
        return jnp.stack(ways)[arm]
    scale = method.leader.advised[arm] * method.form.decision * method.scale + tested
    phi, most = (phi_of(setup, trial, obs, advice, action) for action in candidates)
    lead = method.own * (own - advised) + scale * (phi - most)
    return (scale == 0.0) | ((method.own > 0.0) & (lead > 0.0))


def preferred(
    setup: LearningSetup,
    trial: Trial,
    obs: Observation,
    advice: Float[Array, "n act"],
    arm: Int[Array, ""],
    noise: Float[Array, " act"] | None = None,
    tested: Real = 0.0,
) -> Float[Array, " act"]:
    """The candidate that wins; the own one has the noise, if there is any."""
    assert isinstance(setup.agent, SAC)
    own = setup.agent.act(trial.agent, obs, noise)
    if setup.method.trust is None:
        return own
    advised, heard = rival_of(setup, trial, obs, advice)
    keeps = keeps_own(setup, trial, obs, advice, (own, advised), heard, arm, tested)
    return clipped(setup.spec.action, jnp.where(keeps, own, advised))


def choose_vector(
    setup: LearningSetup, trial: Trial, uniforms: Uniforms
) -> tuple[Float[Array, " act"], Int[Array, ""]]:
    """The next action, and the source that leads exploration."""
    method, behaviour = setup.method, trial.behaviour
    assert uniforms.noise is not None
    epsilon = method.leader.explored(behaviour, setup.epsilon)
    noise = jnp.where(epsilon > 0.0, uniforms.noise, 0.0)
    arm, obs, advice = method.leader.way(behaviour), trial.obs, trial.advice
    action = preferred(setup, trial, obs, advice, arm, noise)
    if method.trust is None:
        return action, behaviour.option
    advised = method.leader.advised[behaviour.arm]
    option = guide(behaviour.option, method.trust.may_lead(len(advice)), uniforms)
    led = uniforms.explore < advised * setup.guidance * epsilon
    action = jnp.where(led, advice[option], action)
    trusted = setup.weights(trial, obs)[: len(advice)]
    follows = uniforms.reuse < advised * method.reuse(behaviour)
    follows &= uniforms.follow < jnp.sum(trusted)
    action = jnp.where(follows, advice[drawn(trusted, uniforms)], action)
    return clipped(setup.spec.action, action), option
