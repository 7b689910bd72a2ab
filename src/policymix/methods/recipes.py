"""The methods: recipes that combine a trust in sources, a form and a behaviour.

A new method is one function that returns a `Method`; see docs/extending.md.
"""

import abc
from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from policymix.beliefs.mixture import AbstractMixture
from policymix.beliefs.potentials import EXPLICIT, LOOKAHEAD, NONE, REWARD, Form
from policymix.core.errors import PolicymixError, did_you_mean
from policymix.core.kernels import as_float
from policymix.core.settings import Settings
from policymix.core.types import Observation, Scalar
from policymix.methods.behaviours import Arms, Reuse


class AbstractTrust(eqx.Module):
    """How far each source is trusted in a state: the weights of Φ."""

    @property
    def learns(self) -> bool:
        """Whether a mixture is trained."""
        return False

    @abc.abstractmethod
    def weights(
        self,
        mixture: AbstractMixture | None,
        state: Any,
        obs: Observation,
        arm: Int[Array, ""],
    ) -> Float[Array, " n"]:
        """Weights of the sources."""


class ByMixture(AbstractTrust):
    """a(s), learned by the mixture: the paper's idea."""

    @property
    def learns(self) -> bool:
        """The mixture is trained."""
        return True

    def weights(
        self,
        mixture: AbstractMixture | None,
        state: Any,
        obs: Observation,
        arm: Int[Array, ""],
    ) -> Float[Array, " n"]:
        """The mixture's."""
        assert mixture is not None
        del arm
        return mixture.weights(state, obs)


class Fixed(AbstractTrust):
    """The same weights everywhere, for instance one source alone."""

    trusted: Float[Array, " n"] = eqx.field(converter=as_float)

    def weights(
        self, mixture: Any, state: Any, obs: Observation, arm: Int[Array, ""]
    ) -> Float[Array, " n"]:
        """Just these."""
        del mixture, state, obs, arm
        return self.trusted


class ByArm(AbstractTrust):
    """The source that leads this episode."""

    num_sources: int = eqx.field(static=True)

    def weights(
        self, mixture: Any, state: Any, obs: Observation, arm: Int[Array, ""]
    ) -> Float[Array, " n"]:
        """One-hot; an arm beyond the sources trusts none."""
        del mixture, state, obs
        return jax.nn.one_hot(arm, self.num_sources)


class ByTruth(AbstractTrust):
    """The right source, where the domain knows it."""

    find: Callable[[Observation], Int[Array, ""]]
    num_sources: int = eqx.field(static=True)

    def weights(
        self, mixture: Any, state: Any, obs: Observation, arm: Int[Array, ""]
    ) -> Float[Array, " n"]:
        """One-hot."""
        del mixture, state, arm
        return jax.nn.one_hot(self.find(obs), self.num_sources)


def _as_form(form: Form) -> Form:
    """As arrays, so that methods which differ only in their form share a program."""
    reward, bootstrap, decision = (as_float(part) for part in form)
    return Form(reward, bootstrap, decision)


class Method(eqx.Module):
    """What a method does with sources, beliefs and values.

    Args:
        trust: weights of Φ; None uses no potential at all.
        form: where c·Φ enters, see `potentials`.
        scale: the c of c·Φ.
        own: weight of the learner's own values in decisions; 0 follows Φ alone.
        reuse: how often an action drawn from Φ replaces the learner's.
        guidance: share of exploration that is led by the sources in turn instead of
            by random actions.
        arms: who leads each episode.
        shapes: whether the form shapes the reward, which needs more of each step.
        options: whether the agent is CAPS, whose options are the sources.
    """

    trust: AbstractTrust | None = None
    form: Form = eqx.field(converter=_as_form, default=NONE)
    scale: Scalar = eqx.field(converter=as_float, default=0.0)
    own: Scalar = eqx.field(converter=as_float, default=1.0)
    reuse: Reuse = Reuse()
    guidance: Scalar = eqx.field(converter=as_float, default=0.0)
    arms: Arms = Arms((1.0,))
    shapes: bool = eqx.field(static=True, default=False)
    options: bool = eqx.field(static=True, default=False)

    @property
    def advised(self) -> bool:
        """Whether the sources are asked at all."""
        return self.trust is not None or self.options

    @property
    def contextual(self) -> bool:
        """Whether a mixture is trained."""
        return self.trust is not None and self.trust.learns


HEAD_START = 10
"""Episodes before the gate may leave the advice: a mixture has to learn first."""
ALWAYS = Arms((1.0, 1.0))
"""Advice counts in every episode."""


def gate(settings: Settings) -> Arms:
    """Advice counts in an episode as long as episodes with it return more.

    The default of MARS: a fixed scale follows bad advice for ever.
    """
    return Arms(
        (1.0, 0.0),
        bonus=settings.gate_bonus,
        keep=settings.gate_keep,
        weigh=1.0,
        burden=settings.gate_burden,
        margin=settings.gate_margin,
        patience=settings.gate_patience,
        start=HEAD_START,
    )


class Given(NamedTuple):
    """What a recipe may use."""

    settings: Settings
    num_sources: int
    right_source: Callable[[Observation], Int[Array, ""]] | None = None


Recipe = Callable[[Given], Method]


def scratch(given: Given) -> Method:
    """No transfer."""
    del given
    return Method()


def mars(given: Given) -> Method:
    """Mixture-based advice added to the learner's own values: the default form."""
    settings = given.settings
    return Method(
        *(ByMixture(), EXPLICIT, settings.scale),
        guidance=settings.guidance,
        arms=gate(settings),
    )


def mars_explicit(given: Given) -> Method:
    """The same with a fixed scale: it never gives way to the learner."""
    scale, guidance = given.settings.scale, given.settings.guidance
    return Method(ByMixture(), EXPLICIT, scale, guidance=guidance, arms=ALWAYS)


def mars_lookahead(given: Given) -> Method:
    """The shaped reward, but act and bootstrap on Q' + cΦ."""
    scale = given.settings.scale
    return Method(ByMixture(), LOOKAHEAD, scale, arms=ALWAYS, shapes=True)


def mars_reward(given: Given) -> Method:
    """The shaped reward as the paper prints it."""
    scale = given.settings.scale
    return Method(ByMixture(), REWARD, scale, arms=ALWAYS, shapes=True)


def mapse(given: Given) -> Method:
    """With probability p_t do what a source drawn from the mixture would do."""
    reuse = Reuse(1.0, by_episode=given.settings.mapse_reuse)
    return Method(ByMixture(), reuse=reuse, arms=ALWAYS)


def follow(given: Given) -> Method:
    """Do what the mixture's choice says; no values of one's own."""
    guidance = given.settings.guidance
    return Method(ByMixture(), EXPLICIT, 1.0, own=0.0, guidance=guidance, arms=ALWAYS)


def jumpstart(given: Given) -> Method:
    """The mixture's choice leads the first steps of an episode, fewer each time."""
    settings = given.settings
    reuse = Reuse(1.0, guide=settings.horizon, shrink=settings.jumpstart_shrink)
    return Method(ByMixture(), reuse=reuse, arms=ALWAYS)


def oracle(given: Given) -> Method:
    """MARS with the right source instead of a mixture: the ceiling."""
    if given.right_source is None:
        raise PolicymixError(
            "oracle needs a domain that knows its right source; this task has none. "
            "Choose another method, or give the domain a right_source"
        )
    trust = ByTruth(given.right_source, given.num_sources)
    settings = given.settings
    return Method(trust, EXPLICIT, settings.scale, arms=gate(settings))


def phi(source: int) -> Recipe:
    """One source alone, used as MARS uses the mixture; sources count from 1."""

    def recipe(given: Given) -> Method:
        alone = jax.nn.one_hot(source - 1, given.num_sources)
        settings = given.settings
        return Method(Fixed(alone), EXPLICIT, settings.scale, arms=gate(settings))

    return recipe


def ucb(given: Given) -> Method:
    """One source leads each episode, picked by UCB1, and is reused as MAPSE does."""
    n = given.num_sources
    reuse = Reuse(1.0, by_episode=given.settings.ucb_reuse)
    return Method(ByArm(n), reuse=reuse, arms=Arms(jnp.ones(n), bonus=2.0))


def prql(given: Given) -> Method:
    """Policy reuse (Fernández and Veloso 2006): sources or oneself, by softmax."""
    n, settings = given.num_sources, given.settings
    arms = Arms(
        jnp.append(jnp.ones(n), 0.0), greed=0.0, growth=settings.prql_growth, noise=1.0
    )
    reuse = Reuse(1.0, by_step=settings.prql_reuse)
    return Method(ByArm(n), reuse=reuse, arms=arms)


def caps(given: Given) -> Method:
    """Options that are sources and primitive actions, see `agents.caps`."""
    del given
    return Method(options=True)


METHODS: dict[str, Recipe] = {
    "scratch": scratch,
    "mars": mars,
    "mars-explicit": mars_explicit,
    "mars-lookahead": mars_lookahead,
    "mars-reward": mars_reward,
    "mapse": mapse,
    "caps": caps,
    "ucb": ucb,
    "follow": follow,
    "oracle": oracle,
    "prql": prql,
    "jumpstart": jumpstart,
}
"""By the names of the command line; phi1, phi2, … are one source alone."""


def recipes(num_sources: int) -> dict[str, Recipe]:
    """All recipes by name, those of single sources included."""
    return METHODS | {f"phi{i + 1}": phi(i + 1) for i in range(num_sources)}


def find_recipe(name: str, num_sources: int) -> Recipe:
    """The recipe of that name."""
    known = recipes(num_sources)
    if name in known:
        return known[name]
    raise PolicymixError(
        f"there is no method {name!r}: choose {', '.join(known)}."
        f"{did_you_mean(name, known)}"
    )
