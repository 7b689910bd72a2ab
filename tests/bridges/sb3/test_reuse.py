"""MAPSE in SB3's learners: a source acts, ever less often."""

import numpy as np
import pytest

pytest.importorskip("stable_baselines3")

import torch

from policymix.bridges.stable_baselines3 import (
    MapseDQN,
    MapseSAC,
)
from policymix.sources.library import SourceLibrary

from support.sb3 import (
    PLACES,
    agent,
)
from support.slope import (
    DISCRETE,
    OWN,
    Slope,
    source,
)

EAGER = SourceLibrary(
    [source("one", 1.0), source("two", 1.0, precision=3.0)], encoder=DISCRETE.encoder
)
"""Both say: action 1."""


def test_with_full_reuse_every_action_is_a_sources():
    model = agent(MapseDQN, EAGER, reuse=1.0)
    model.learn(40)
    assert np.all(model.replay_buffer.actions[:40] == 1)


def test_reused_actions_are_stored_as_the_learner_scales_them():
    taken = []

    class Heard(Slope):
        def step(self, action):
            taken.append(float(action[0]))
            return super().step(action)

    model = agent(MapseSAC, env=Heard(continuous=True), reuse=1.0)
    model.learn(40)
    assert set(taken) == {-2.0, 4.0}
    stored = model.replay_buffer.actions[:40].ravel()
    np.testing.assert_allclose(stored, (np.array(taken) - 1.0) / 3.0, atol=1e-6)
    ring = model.advisor._rows.at(np.arange(40))
    np.testing.assert_allclose(np.ravel(ring.action), taken, atol=1e-5)


@pytest.mark.parametrize("reuse", [0.8, 1.0])
def test_reuse_falls_with_every_episode(reuse):
    model = agent(MapseDQN, EAGER, reuse=reuse)
    with torch.no_grad():
        model.q_net.q_net[-1].bias[:] = torch.tensor([100.0, 0.0])
    model.exploration_rate = 0.0
    model._last_obs = np.repeat(PLACES, 1000, axis=0)
    for episode in (0, 1, 5):
        model._episode_num = episode
        action, stored = model._sample_action(0, None, 4000)
        assert np.mean(action) == pytest.approx(reuse**episode, abs=0.03)
        np.testing.assert_array_equal(action, stored)


def test_where_the_own_model_is_drawn_the_learner_decides():
    model = agent(MapseDQN, EAGER, reuse=1.0, transfer=OWN)
    with torch.no_grad():
        model.q_net.q_net[-1].bias[:] = torch.tensor([100.0, 0.0])
    model.exploration_rate = 0.0
    model._last_obs = np.repeat(PLACES[:1], 4000, axis=0)
    own = model.advisor.weights(PLACES[:1])[0, 2]
    assert np.mean(model._sample_action(0, None, 4000)[0]) == pytest.approx(
        1.0 - own, abs=0.03
    )
