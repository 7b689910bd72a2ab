"""An exact mixture for small discrete state spaces: Bayes' rule on the simplex.

Every state has its own posterior over the combinations w of sources. It is kept on a
lattice of the simplex with a Dirichlet prior, where Bayes' rule is exact:
P(w | D) ∝ Dir(w; α) · Π (Σᵢ wᵢ P̂ᵢ(s'|s,a)), and a(s) = E[w | D], equation (1).
"""

import math
from functools import cache
from itertools import combinations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from policymix.beliefs.mixture import AbstractMixture, Evidence, Metrics, entropy
from policymix.core.errors import PolicymixError
from policymix.core.types import Key

MAX_POINTS = 2_000
MAX_CELLS = 50_000_000


class DirichletMixture(AbstractMixture[Float[Array, "states points"]]):
    """Exact beliefs per state; learns from every transition once, not from replay.

    The lattice is as fine as 2,000 points allow: steps of 1/1999 for two sources, 1/61
    for three, 1/20 for four; with many sources only "one of them is right" remains.

    Args:
        num_states: observations are indices below it.
        num_sources: n.
        concentration: α of the prior, the same for all sources and states; 1 is
            uniform over combinations, less prefers a single source.
    """

    num_states: int = eqx.field(static=True)
    num_sources: int = eqx.field(static=True)
    concentration: float = eqx.field(static=True, default=1.0)

    def __check_init__(self):
        cells = self.num_states * len(self._lattice)
        if cells > MAX_CELLS:
            raise PolicymixError(
                f"an exact mixture of {self.num_states} states needs {cells:,} numbers "
                f"(at most {MAX_CELLS:,}). Use NetworkMixture for large state spaces"
            )

    @property
    def _lattice(self) -> np.ndarray:
        return simplex_lattice(self.num_sources, resolution(self.num_sources))

    @property
    def replays(self) -> bool:
        """A transition that is counted twice would be believed twice."""
        return False

    def init(self, key: Key) -> Float[Array, "states points"]:
        """The log-density of the prior at every point, in every state."""
        del key
        log_prior = (self.concentration - 1) * np.log(self._lattice).sum(axis=1)
        return jnp.tile(jnp.asarray(log_prior, dtype=float), (self.num_states, 1))

    def log_weights(
        self, state: Float[Array, "states points"], obs: Int[Array, ""]
    ) -> Float[Array, " n"]:
        """Log of the posterior mean E[w]."""
        lattice = jnp.asarray(self._lattice, dtype=float)
        return jnp.log(jax.nn.softmax(state[obs]) @ lattice)

    def update(
        self, state: Float[Array, "states points"], evidence: Evidence
    ) -> tuple[Float[Array, "states points"], Metrics]:
        """Multiply every state's density by the likelihoods of its transitions."""
        log_lattice = jnp.log(jnp.asarray(self._lattice, dtype=float))

        def log_factor(log_likelihoods: Float[Array, " n"]) -> Float[Array, " points"]:
            shifted = log_likelihoods - jnp.max(log_likelihoods)
            return jax.nn.logsumexp(log_lattice + shifted[None, :], axis=1)

        log_weights = jax.vmap(self.log_weights, in_axes=(None, 0))(state, evidence.obs)
        joint = log_weights + evidence.log_likelihoods
        factors = jax.vmap(log_factor)(evidence.log_likelihoods)
        return state.at[evidence.obs].add(factors), Metrics(
            jnp.mean(jax.nn.logsumexp(joint, axis=1)),
            jnp.mean(jax.vmap(entropy)(jnp.exp(log_weights))),
        )


def resolution(num_sources: int) -> int:
    """The finest lattice of at most MAX_POINTS points."""
    steps = 1
    while 1 < math.comb(steps + num_sources, num_sources - 1) <= MAX_POINTS:
        steps += 1
    return steps


@cache
def simplex_lattice(num_sources: int, steps: int) -> np.ndarray:
    """All combinations in multiples of 1/steps, moved a hair off the boundary.

    On the boundary log w would be infinite.
    """
    hair = 1e-2
    bars = combinations(range(steps + num_sources - 1), num_sources - 1)
    edges = np.array(
        [(-1, *bar, steps + num_sources - 1) for bar in bars], dtype=np.float64
    )
    counts = np.diff(edges, axis=1) - 1
    return (counts + hair) / (steps + num_sources * hair)
