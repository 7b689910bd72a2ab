"""Sources that speak another language, as compiled code calls them.

A source may observe and act otherwise than the target: see less of it, in other units,
with other actions. Maps lead from the target's observations to the source's, and from
the source's actions to the target's. Its policy is asked and its dynamics are judged in
the source's own language.
"""

import math
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from policymix.core.encoders import AbstractEncoder
from policymix.core.kernels import AbstractKernel
from policymix.core.types import Action, Observation, Scalar
from policymix.sources.dynamics import AbstractCovered, LogDensity
from policymix.sources.policies import probabilities_of

NO_ACTION = -1
"""What stands for an action of the target that a source does not know."""


class Components(eqx.Module):
    """Some components of a vector, in an order of their own."""

    places: Int[Array, " d"]

    def __call__(self, obs: Float[Array, " target"]) -> Float[Array, " d"]:
        return obs[self.places]


class Entries(eqx.Module):
    """What a table has for a state or for an action."""

    table: Array

    def __call__(self, index: Int[Array, ""]) -> Array:
        return self.table[index]


class ActionTable(eqx.Module):
    """The target's action for each of a source's: its advice in the target's words.

    Args:
        table: indices of the target's actions, or continuous actions.
        num_actions: of the target; 0 if they are continuous.
    """

    table: Array
    num_actions: int = eqx.field(static=True)

    def __call__(self, advice: Array) -> Float[Array, " advice"]:
        """Probabilities go where the table says; of a continuous action the likeliest.

        Where the source's action does not exist the advice is NaN, which is noticed.
        """
        shares = probabilities_of(advice, self.table.shape[0])
        if self.num_actions:
            return jnp.zeros(self.num_actions).at[self.table].add(shares)
        likeliest = self.table[jnp.argmax(shares)]
        return jnp.where(jnp.any(jnp.isnan(shares)), jnp.nan, likeliest)


class ForeignPolicy(eqx.Module):
    """What a source would do, asked in its language and answered in the target's."""

    observe: Callable | None
    policy: Callable
    act: Callable | None

    def __call__(self, obs: Observation) -> Array:
        """Advice for the target."""
        seen = obs if self.observe is None else self.observe(obs)
        advice = jnp.asarray(self.policy(seen))
        return advice if self.act is None else self.act(advice)


class ForeignDynamics(eqx.Module):
    """What a source expects, in its own language.

    Args:
        dynamics: of the source.
        observe: the target's observation as the source's; None where they are one.
        ask: the target's action as the source's, or `NO_ACTION`.
        encoder: brings the source's observations to like units; None where they are
            the target's, which the library's encoder serves.
    """

    dynamics: Callable
    observe: Callable | None
    ask: Callable | None
    encoder: AbstractEncoder | None

    def __call__(self, obs: Observation, action: Action) -> Array:
        """The next observation of the source.

        Of an action that it does not know a source expects that nothing changes.
        """
        seen, own, known = self.seen(obs), *self._asked(action)
        return jnp.where(known, jnp.asarray(self.dynamics(seen, own)), seen)

    def seen(self, obs: Observation) -> Array:
        """What the source would observe where the target is."""
        return obs if self.observe is None else self.observe(obs)

    def log_likelihood(
        self,
        kernel: AbstractKernel,
        encoder: AbstractEncoder,
        obs: Observation,
        action: Action,
        next_obs: Observation,
    ) -> Scalar:
        """How likely is what the source sees of s'? As if it saw all of it.

        A density over two components is none over four, and the larger one would win
        wherever it is sharp. So errors count by the component: a source that sees d of
        the target's D has the likelihood of an error that is as large in all D.

        Args:
            kernel: of the source.
            encoder: of the target's observations.
            obs: where the target was.
            action: what it did.
            next_obs: where that led.
        """
        size = encoder(next_obs).size
        units = encoder if self.encoder is None else self.encoder
        before, after = self.seen(obs), self.seen(next_obs)
        share = size / units(after).size if after.ndim else 1.0
        if isinstance(self.dynamics, LogDensity):
            own, known = self._asked(action)
            still = kernel.at(jnp.linalg.norm(units(after) - units(before)), size)
            return jnp.where(known, share * self.dynamics(before, own, after), still)
        error = units(after) - units(self(obs, action))
        radius = jnp.linalg.norm(error)
        if isinstance(self.dynamics, AbstractCovered):
            radius = self.dynamics.miss(error, before)
        return kernel.at(math.sqrt(share) * radius, size)

    def _asked(self, action: Action) -> tuple[Array, Array]:
        """The source's action, and whether it has one."""
        own = action if self.ask is None else self.ask(action)
        if own.ndim:
            return own, jnp.array(True)
        return jnp.maximum(own, 0), own != NO_ACTION


def is_foreign(dynamics: Any) -> bool:
    """Whether what a model predicts is something else than the target observes."""
    return isinstance(dynamics, ForeignDynamics) and dynamics.observe is not None
