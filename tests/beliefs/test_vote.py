"""A vote: majorities win, and ties go to chance, in every state anew."""

import jax
import jax.numpy as jnp
import numpy as np

from policymix.beliefs.potentials import potential
from policymix.beliefs.vote import Vote

VOTE = Vote(3)
STATES = jax.random.normal(jax.random.key(1), (600, 2))


@jax.jit
def chosen(seed, advice):
    """What the vote does in every state."""
    state = VOTE.init(jax.random.key(seed))

    def act(obs):
        return jnp.argmax(potential(VOTE.weights(state, obs), advice))

    return jax.vmap(act)(STATES)


def test_the_majority_wins_in_every_state():
    advice = jnp.eye(3)[jnp.array([2, 0, 2])]
    np.testing.assert_array_equal(chosen(0, advice), 2)


def test_a_tie_goes_to_each_equally_often_but_always_alike_in_one_state():
    first, again, other = (chosen(seed, jnp.eye(3)) for seed in (0, 0, 7))
    shares = np.bincount(np.asarray(first), minlength=3) / len(STATES)
    np.testing.assert_allclose(shares, 1 / 3, atol=0.06)
    np.testing.assert_array_equal(first, again)
    assert 0.5 < np.mean(np.asarray(first) != np.asarray(other)) < 0.8
