"""One step of one trial, as pure functions: both loops are made of these.

choose   what to do
observe  what came of it: a row for the replay
learn    from replayed rows

What is done in a test is in `greedy`.
"""

from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from policymix.agents.base import AbstractAgent, Experience, Uniforms
from policymix.agents.judged import Judged
from policymix.beliefs.mixture import AbstractMixture, Evidence
from policymix.beliefs.potentials import Shaping, decision_values, potential
from policymix.core.replay import Layout
from policymix.core.types import (
    DiscreteAction,
    Key,
    Observation,
    Scalar,
    TaskSpec,
    Transition,
)
from policymix.methods.behaviours import BehaviourState, Epsilon
from policymix.methods.method import Method
from policymix.sources.asking import Answers, Heard
from policymix.sources.experts import Experts
from policymix.training.guidance import drawn, guide


class Outcome(NamedTuple):
    """What the target did."""

    next_obs: Observation
    reward: Scalar
    terminated: Bool[Array, ""]
    truncated: Bool[Array, ""]
    obs: Observation
    """Where to go on: `next_obs`, or the start of a new episode."""
    heard: Heard = Heard()


class Fault(NamedTuple):
    """The first number that was not finite: at which step, and which of `faults`."""

    step: Int[Array, ""]
    code: Int[Array, ""]


class Trial(NamedTuple):
    """All that changes during a trial, but for its replay."""

    agent: Any
    mixture: Any
    obs: Observation
    advice: Float[Array, "n actions"]
    behaviour: BehaviourState
    fault: Fault


class LearningSetup(eqx.Module):
    """All that does not change: who learns what, from whom and how."""

    spec: TaskSpec = eqx.field(static=True)
    experts: Experts | None
    agent: AbstractAgent
    mixture: AbstractMixture | None
    method: Method
    epsilon: Epsilon
    guidance: float = eqx.field(static=True, default=0.0)
    """Share of exploration that sources lead, of whatever method listens to them."""

    @property
    def num_actions(self) -> int:
        """Of the target."""
        return self.spec.action.n  # pyright: ignore[reportAttributeAccessIssue]

    @property
    def num_sources(self) -> int:
        """That give advice."""
        return 0 if self.experts is None else self.experts.num_sources

    @property
    def layout(self) -> Layout:
        """A row: transition, log-likelihoods, option, advice before and after."""
        n = self.num_sources
        likelihoods = (n,) if self.method.contextual else ()
        option = (1,) if self.method.options else ()
        advice = (n * self.num_actions,) * 2 if self.method.recalls_advice else ()
        return Layout(self.spec.observation, likelihoods + option + advice)

    def advise(
        self, obs: Observation, answers: Answers | None = None
    ) -> Float[Array, "n actions"]:
        """The sources' advice; none without sources."""
        if self.experts is None:
            return jnp.zeros((0, self.num_actions))
        return self.experts.advise(obs, answers)

    def phi(
        self, trial: Trial, obs: Observation, advice: Float[Array, "n actions"]
    ) -> Float[Array, " actions"]:
        """Φ(s, ·) by the present beliefs; nothing without a trust."""
        if self.method.trust is None:
            return jnp.zeros(self.num_actions)
        weights = self.method.trust.weights(
            self.mixture, trial.mixture, obs, trial.behaviour.arm
        )
        return potential(weights, advice)


def begin(
    setup: LearningSetup, key: Key, obs: Observation, answers: Answers | None = None
) -> Trial:
    """A trial before its first step."""
    agent_key, mixture_key = jax.random.split(key)
    mixture = setup.mixture
    zero = jnp.zeros((), int)
    return Trial(
        setup.agent.init(agent_key),
        None if mixture is None else mixture.init(mixture_key),
        obs,
        setup.advise(obs, answers),
        setup.method.leader.init(),
        Fault(zero, zero),
    )


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
    values = setup.agent.action_values(trial.agent, obs, advice)
    scale = method.leader.advised[arm] * method.scale
    return decision_values(method.form, method.own * values, phi, scale)


def choose(
    setup: LearningSetup, trial: Trial, uniforms: Uniforms
) -> tuple[DiscreteAction, Int[Array, ""]]:
    """The next action, and the option it belongs to."""
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
    choice: tuple[DiscreteAction, Int[Array, ""]],
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
    row: Float[Array, " row"],
    step: Int[Array, ""],
    online: bool = True,
) -> Trial:
    """Train the agent and the mixture.

    Args:
        setup: who learns.
        trial: before the update.
        rows: replayed.
        row: the latest, or the next of the episode that has just ended.
        step: number of the step, to name it should something go wrong.
        online: whether those that do not replay learn from the latest row alone.
    """
    method, agent, unpack = setup.method, setup.agent, setup.layout.unpack
    rows = jnp.concatenate([row[None], rows[1:]]) if agent.newest_first else rows
    replayed = jax.vmap(unpack)(rows)
    newest = jax.vmap(unpack)(row[None]) if online else replayed
    batch, extras = replayed if agent.replays else newest
    latest, kept = unpack(row)
    option = kept[0][0].astype(int) if method.options else None
    experience = Experience(batch, latest=latest, option=option)
    if method.recalls_advice:
        shape = (-1, setup.num_sources, setup.num_actions)
        advice, next_advice = (part.reshape(shape) for part in extras[-2:])
        experience = experience._replace(advice=advice, next_advice=next_advice)
        if method.shapes:
            shape_one = partial(shaping_of, setup, trial)
            shaping = jax.vmap(shape_one)(batch, advice, next_advice)
            experience = experience._replace(shaping=shaping)
        if method.judged:
            phi = jax.vmap(partial(setup.phi, trial))
            experience = experience._replace(
                phi=phi(batch.obs, advice),
                next_phi=phi(batch.next_obs, next_advice),
                best=method.leader.best(trial.behaviour),
            )
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


def _note(
    fault: Fault, code: Int[Array, ""], sound: Bool[Array, ""], step: Int[Array, ""]
) -> Fault:
    """Keep the first fault."""
    first = ~sound & (fault.code == 0)
    return Fault(jnp.where(first, step, fault.step), jnp.where(first, code, fault.code))
