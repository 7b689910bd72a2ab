"""What a method is, and what a recipe for one may use."""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import equinox as eqx
from jaxtyping import Array, Int

from policymix.beliefs.build import MixtureMaker
from policymix.beliefs.potentials import NONE, Form
from policymix.core.kernels import as_float
from policymix.core.settings import Settings
from policymix.core.types import Observation, Scalar
from policymix.methods.behaviours import Reuse
from policymix.methods.leaders import AbstractLeader, Alone
from policymix.methods.trust import AbstractTrust


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
        leader: who leads each episode.
        shapes: whether the form shapes the reward, which needs more of each step.
        options: whether the agent is CAPS, whose options are the sources.
        judged: whether the agent has judges, who say where to depart from the advice.
        aggregates: whether the agent weighs the sources' actions and adds a residual.
        tested: the c of a c·Φ that is added to the values in tests alone.
        replays: whether a table repeats remembered transitions, whatever is set.
        printed: whether rewards are shaped when an episode is stored, and all numbers
            are the paper's, where the domain has them.
        mixture: makes its own kind of mixture; None makes that of the settings.
    """

    trust: AbstractTrust | None = None
    form: Form = eqx.field(converter=_as_form, default=NONE)
    scale: Scalar = eqx.field(converter=as_float, default=0.0)
    own: Scalar = eqx.field(converter=as_float, default=1.0)
    reuse: Reuse = eqx.field(default_factory=Reuse)
    leader: AbstractLeader = eqx.field(default_factory=Alone)
    shapes: bool = eqx.field(static=True, default=False)
    options: bool = eqx.field(static=True, default=False)
    judged: bool = eqx.field(static=True, default=False)
    aggregates: bool = eqx.field(static=True, default=False)
    tested: Scalar = eqx.field(converter=as_float, default=0.0)
    replays: bool = eqx.field(static=True, default=False)
    printed: bool = eqx.field(static=True, default=False)
    mixture: MixtureMaker | None = eqx.field(static=True, default=None)

    @property
    def advised(self) -> bool:
        """Whether the sources are asked at all."""
        return self.trust is not None or self.options or self.aggregates

    @property
    def recalls_advice(self) -> bool:
        """Whether learning needs the advice of replayed transitions."""
        return self.shapes or self.options or self.judged or self.aggregates

    @property
    def contextual(self) -> bool:
        """Whether a mixture is trained."""
        return self.trust is not None and self.trust.learns


class Given(NamedTuple):
    """What a recipe may use."""

    settings: Settings
    num_sources: int
    horizon: int
    """Steps after which an episode of the target is cut off."""
    right_source: Callable[[Observation], Int[Array, ""]] | None = None
    """Which source is right in a state, if the domain knows it."""


Recipe: TypeAlias = Callable[[Given], Method]
