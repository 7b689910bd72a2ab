"""How far each source is trusted in a state: the weights of Φ."""

import abc
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from policymix.beliefs.mixture import AbstractMixture
from policymix.core.kernels import as_float
from policymix.core.types import Observation


class AbstractTrust(eqx.Module):
    """Weights of the sources, by whatever rule."""

    @property
    def learns(self) -> bool:
        """Whether a mixture is trained."""
        return False

    def may_lead(self, num_sources: int) -> Float[Array, " n"]:
        """Which sources may lead exploration: 1 for those that are used at all."""
        return jnp.ones(num_sources)

    @abc.abstractmethod
    def weights(
        self,
        mixture: AbstractMixture | None,
        state: Any,
        obs: Observation,
        arm: Int[Array, ""],
    ) -> Float[Array, " n"]:
        """Weights of the sources.

        Args:
            mixture: what is believed, where the trust learns …
            state: … and its state.
            obs: where the weights are asked for.
            arm: that leads this episode.
        """

    def advised(
        self, weights: Float[Array, " m"], advice: Float[Array, "n act"]
    ) -> Float[Array, " act"]:
        """Of continuous actions the one that is advised: the most trusted source's.

        A mean would be nobody's: between left and right of a wall is the wall.
        """
        return advice[jnp.argmax(weights[: advice.shape[0]])]


class ByMixture(AbstractTrust):
    """a(s), learned by the mixture: the paper's idea."""

    @property
    def learns(self) -> bool:
        return True

    def weights(
        self,
        mixture: AbstractMixture | None,
        state: Any,
        obs: Observation,
        arm: Int[Array, ""],
    ) -> Float[Array, " n"]:
        assert mixture is not None
        del arm
        return mixture.weights(state, obs)


class ByVote(ByMixture):
    """Beliefs that never change: all sources count alike, and chance decides ties."""

    @property
    def learns(self) -> bool:
        return False

    def advised(
        self, weights: Float[Array, " m"], advice: Float[Array, "n act"]
    ) -> Float[Array, " act"]:
        """The median of every component: no outlier moves it as it would a mean."""
        del weights
        return jnp.median(advice, axis=0)


class Fixed(AbstractTrust):
    """The same weights everywhere, for instance one source alone."""

    trusted: Float[Array, " n"] = eqx.field(converter=as_float)

    def may_lead(self, num_sources: int) -> Float[Array, " n"]:
        del num_sources
        return (self.trusted > 0.0).astype(float)

    def weights(
        self, mixture: Any, state: Any, obs: Observation, arm: Int[Array, ""]
    ) -> Float[Array, " n"]:
        del mixture, state, obs, arm
        return self.trusted


class ByArm(AbstractTrust):
    """The source that leads this episode; an arm beyond the sources trusts none."""

    num_sources: int = eqx.field(static=True)

    def weights(
        self, mixture: Any, state: Any, obs: Observation, arm: Int[Array, ""]
    ) -> Float[Array, " n"]:
        del mixture, state, obs
        return jax.nn.one_hot(arm, self.num_sources)


class ByTruth(AbstractTrust):
    """The right source, where the domain knows it."""

    find: Callable[[Observation], Int[Array, ""]]
    num_sources: int = eqx.field(static=True)

    def weights(
        self, mixture: Any, state: Any, obs: Observation, arm: Int[Array, ""]
    ) -> Float[Array, " n"]:
        del mixture, state, arm
        return jax.nn.one_hot(self.find(obs), self.num_sources)
