"""One step of one trial, as pure functions: both loops are made of these.

choose   what to do
observe  what came of it: a row for the replay
learn    from replayed rows

What is done in a test is in `greedy`.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from policymix.agents.base import AbstractAgent, Experience, Uniforms
from policymix.agents.judged import Judged
from policymix.agents.sac import SAC
from policymix.beliefs.mixture import Evidence
from policymix.beliefs.potentials import decision_values
from policymix.core.types import Action, DiscreteAction, Observation, Scalar, Transition
from policymix.sources.asking import Heard
from policymix.training.guidance import drawn, guide
from policymix.training.recall import recall
from policymix.training.trial import Fault, LearningSetup, Trial
from policymix.training.vectors import choose_vector


class Outcome(NamedTuple):
    """What the target did."""

    next_obs: Observation
    reward: Scalar
    terminated: Bool[Array, ""]
    truncated: Bool[Array, ""]
    obs: Observation
    """Where to go on: `next_obs`, or the start of a new episode."""
    heard: Heard = Heard()


def preferences(
    setup: LearningSetup,
    trial: Trial,
    obs: Observation,
    advice: Float[Array, "n actions"],
    phi: Float[Array, " actions"],
    arm: Int[Array, ""],
) -> Float[Array, " actions"]:
    """What decides: the learner's values, and c·Φ if this arm takes advice.

    With judges the arm is one of three ways: advice, rule or own values.
    """
    method = setup.method
    if isinstance(setup.agent, Judged):
        return setup.agent.preferences(trial.agent, obs, phi, way=arm)
    assert isinstance(setup.agent, AbstractAgent)
    values = setup.agent.action_values(trial.agent, obs, advice)
    scale = method.leader.advised[arm] * method.scale
    return decision_values(method.form, method.own * values, phi, scale)


def choose(
    setup: LearningSetup, trial: Trial, uniforms: Uniforms
) -> tuple[Action, Int[Array, ""]]:
    """The next action, and the option it belongs to."""
    if isinstance(setup.agent, SAC):
        return choose_vector(setup, trial, uniforms)
    assert isinstance(setup.agent, AbstractAgent)
    method, behaviour = setup.method, trial.behaviour
    obs, advice = trial.obs, trial.advice
    phi = setup.phi(trial, obs, advice)
    epsilon = method.leader.explored(behaviour, setup.epsilon)
    arm = method.leader.way(behaviour)
    preferred = preferences(setup, trial, obs, advice, phi, arm)
    action, option = setup.agent.act(
        trial.agent, obs, advice, preferred, behaviour.option, epsilon, uniforms
    )
    if method.trust is None:
        return action, option
    advised = method.leader.advised[behaviour.arm]
    option = guide(option, method.trust.may_lead(setup.num_sources), uniforms)
    led = uniforms.explore < advised * setup.guidance * epsilon
    action = jnp.where(led, drawn(advice[option], uniforms), action)
    follows = uniforms.reuse < advised * method.reuse(behaviour)
    follows &= uniforms.follow < jnp.sum(phi)
    return jnp.where(follows, drawn(phi, uniforms), action), option


def observe(
    setup: LearningSetup,
    trial: Trial,
    choice: tuple[Action, Int[Array, ""]],
    outcome: Outcome,
    uniforms: Uniforms,
    step: Int[Array, ""],
) -> tuple[Trial, Float[Array, " row"]]:
    """Remember one step; returns the row to replay it from."""
    method, (action, option) = setup.method, choice
    next_obs, reward, terminated, truncated, obs, heard = outcome
    stored = reward - (taken_phi(setup, trial, action) if method.printed else 0.0)
    transition = Transition(trial.obs, action, stored, next_obs, terminated, truncated)
    advice, extras = setup.advise(obs, heard.advice), []
    predicted = jnp.ones(setup.num_sources, bool)
    if method.contextual and setup.experts is not None:
        step_taken = trial.obs, action, next_obs
        extras.append(setup.experts.log_likelihoods(*step_taken, heard.predictions))
        predicted = jnp.isfinite(extras[0])
    extras += [jnp.asarray(option, float)] * method.options
    if method.recalls_advice:
        extras += [trial.advice, setup.advise(next_obs, heard.next_advice)]
    behaviour = method.leader.remember(
        trial.behaviour._replace(option=option),
        reward,
        ended=terminated | truncated,
        epsilon=method.leader.explored(trial.behaviour, setup.epsilon),
        uniforms=uniforms.arms,
    )
    told = jnp.all(jnp.isfinite(next_obs)), jnp.isfinite(reward), jnp.array(True)
    advised = jnp.all(jnp.isfinite(advice), axis=1)
    sound = jnp.concatenate([jnp.stack(told), predicted, advised])
    fault = _note(trial.fault, jnp.argmin(sound) + 1, jnp.all(sound), step)
    trial = trial._replace(obs=obs, advice=advice, behaviour=behaviour, fault=fault)
    return trial, setup.layout.pack(transition, extras)


def learn(
    setup: LearningSetup,
    trial: Trial,
    rows: Float[Array, "batch row"],
    latest: Float[Array, "latest row"],
    step: Int[Array, ""],
    noise: Float[Array, "2 batch act"] | None = None,
    online: bool = True,
) -> Trial:
    """Train the agent and the mixture.

    Args:
        setup: who learns.
        trial: before the update.
        rows: replayed.
        latest: rows since the last update, or the next of an episode that has ended.
        step: number of the step, to name it should something go wrong.
        noise: for policies that draw actions while they learn.
        online: whether the latest rows are new, so that those that do not replay learn
            from them alone; otherwise they were noted before, see `note_episode`.
    """
    method, agent, unpack = setup.method, setup.agent, setup.layout.unpack
    if agent.newest_first:
        rows = jnp.concatenate([latest, rows[len(latest) :]])
    replayed, newest = jax.vmap(unpack)(rows), jax.vmap(unpack)(latest)
    options = newest[1][0][:, 0].astype(int) if method.options else None
    newest_steps = newest[0]
    if online:
        trial = trial._replace(agent=agent.note(trial.agent, newest_steps))
    newest = newest if online else replayed
    batch, extras = replayed if agent.replays else newest
    experience = Experience(batch, latest=newest_steps, options=options, noise=noise)
    if method.recalls_advice:
        experience = recall(setup, trial, experience, extras[-2:])
    state, loss = agent.update(trial.agent, experience)
    fault = _note(trial.fault, jnp.array(3), jnp.isfinite(loss), step)
    trial = trial._replace(agent=state, fault=fault)
    if not method.contextual:
        return trial
    assert setup.mixture is not None
    seen, extras = replayed if setup.mixture.replays else newest
    evidence = Evidence(seen.obs, seen.action, seen.next_obs, extras[0])
    return trial._replace(mixture=setup.mixture.update(trial.mixture, evidence)[0])


def taken_phi(setup: LearningSetup, trial: Trial, action: DiscreteAction) -> Scalar:
    """Return c·Φ(s, a) of what is done now, by the beliefs of this episode."""
    return setup.method.scale * setup.phi(trial, trial.obs, trial.advice)[action]


def _note(
    fault: Fault, code: Int[Array, ""], sound: Bool[Array, ""], step: Int[Array, ""]
) -> Fault:
    """Keep the first fault."""
    first = ~sound & (fault.code == 0)
    return Fault(jnp.where(first, step, fault.step), jnp.where(first, code, fault.code))
