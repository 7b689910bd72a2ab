"""Exploration by episode, and reuse by episode and step."""

import jax.numpy as jnp
import numpy as np
import pytest

from policymix.methods.behaviours import Epsilon, Reuse
from policymix.methods.leaders import Alone


def state_of(episode, elapsed=0):
    return (
        Alone().init()._replace(episode=jnp.array(episode), elapsed=jnp.array(elapsed))
    )


def test_epsilon_falls_by_episode_to_its_floor():
    epsilon = Epsilon(0.8, 0.5, 0.15)
    shares = [float(epsilon(jnp.array(episode))) for episode in range(4)]
    np.testing.assert_allclose(shares, [0.8, 0.4, 0.2, 0.15], rtol=1e-6)


def test_reuse_falls_by_episode_and_by_step():
    reuse = Reuse(0.5, by_episode=0.9, by_step=0.8)
    likely = reuse(state_of(episode=2, elapsed=3))
    np.testing.assert_allclose(likely, 0.5 * 0.9**2 * 0.8**3, rtol=1e-6)


def test_a_guide_leads_for_fewer_steps_each_episode():
    reuse = Reuse(1.0, guide=8.0, shrink=0.5)
    led = [
        sum(float(reuse(state_of(episode, elapsed))) for elapsed in range(10))
        for episode in range(5)
    ]
    assert led == [8, 4, 2, 1, 1]


@pytest.mark.parametrize("start", [0.0, 1.0])
def test_reuse_that_starts_at_zero_or_one_stays_there(start):
    reuse = Reuse(start)
    likely = {float(reuse(state_of(e, t))) for e in (0, 1, 50) for t in (0, 999)}
    assert likely == {start}
