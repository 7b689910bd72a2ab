"""A vote without context: every source counts as much as any other, everywhere."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, UInt32

from policymix.beliefs.mixture import AbstractMixture, Evidence, Metrics, entropy
from policymix.core.types import Key, Observation

Ballot = UInt32[Array, " words"]
"""The number by which a trial breaks ties."""


class Vote(AbstractMixture[Ballot]):
    """Equal weights that nothing changes, but for ties.

    Weights differ by so little that only ties notice it: each source has a random
    number in each state, drawn from the trial's key and the bits of the observation.
    So a tie is broken by chance and yet always in the same way by the same trial in the
    same state, in training as in tests, and a policy stays a function of the state.

    Args:
        num_sources: n.
    """

    num_sources: int = eqx.field(static=True)

    @property
    def replays(self) -> bool:
        return True

    def init(self, key: Key) -> Ballot:
        return jax.random.key_data(key)

    def log_weights(self, state: Ballot, obs: Observation) -> Float[Array, " n"]:
        """Log(1/n), give or take less than any majority."""
        key = jax.random.wrap_key_data(state)
        for word in jnp.ravel(_bits(obs)):
            key = jax.random.fold_in(key, word)
        n = self.num_sources
        drawn = 1.0 + jax.random.uniform(key, (n,)) / (2 * n)
        return jnp.log(drawn / jnp.sum(drawn))

    def update(self, state: Ballot, evidence: Evidence) -> tuple[Ballot, Metrics]:
        """Nothing is learned."""
        del evidence
        even = jnp.full(self.num_sources, 1 / self.num_sources)
        return state, Metrics(jnp.zeros(()), entropy(even))


def _bits(obs: Observation) -> UInt32[Array, "..."]:
    """Every number of an observation as 32 bits."""
    numbers = jnp.asarray(obs)
    kind = np.float32 if jnp.issubdtype(numbers.dtype, jnp.floating) else np.int32
    return jax.lax.bitcast_convert_type(numbers.astype(kind), np.uint32)
