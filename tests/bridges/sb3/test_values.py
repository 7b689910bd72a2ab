"""Values with advice: what is added to SB3's DQN, and what stays as it was."""

from copy import deepcopy

import numpy as np
import pytest
from gymnasium.wrappers import TimeLimit

pytest.importorskip("stable_baselines3")

import torch
from stable_baselines3 import DQN
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.dqn.policies import QNetwork
from torch.nn.functional import smooth_l1_loss

from policymix.bridges.stable_baselines3 import (
    MapseDQN,
    MapseSAC,
    MarsDQN,
    MarsSAC,
)

from support.probes import LONG, MIXED, Numbered
from support.sb3 import (
    PLACES,
    PLAIN,
    agent,
    parameters_of,
    phi_at,
    same,
    tensor,
    values_of,
)
from support.slope import (
    FIXED,
)


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        (MarsDQN, {"scale": 0.0, "form": "explicit"}),
        (MarsDQN, {"scale": 0.0, "form": "lookahead"}),
        (MapseDQN, {"reuse": 0.0}),
        (MarsSAC, {"scale": 0.0, "form": "explicit"}),
        (MarsSAC, {"scale": 0.0, "form": "lookahead"}),
        (MapseSAC, {"reuse": 0.0}),
    ],
)
def test_without_advice_it_is_the_plain_learner_to_the_last_bit(kind, options):
    advised = agent(kind, **options).learn(60)
    plain = agent(PLAIN[kind]).learn(60)
    assert same(parameters_of(plain), parameters_of(advised))
    buffers = [model.replay_buffer for model in (advised, plain)]
    np.testing.assert_array_equal(*(buffer.actions[:60] for buffer in buffers))
    assert advised.advisor.metrics is not None


def test_advised_networks_are_sb3s_own():
    model = agent(MarsDQN, form="explicit")
    assert isinstance(model.q_net, QNetwork)
    assert parameters_of(model).keys() == parameters_of(agent(DQN)).keys()


def test_explicit_values_know_nothing_of_advice_but_decisions_do():
    model = agent(MarsDQN, form="explicit", scale=3.0)
    model.learn(30)
    values = values_of(parameters_of(model), PLACES)
    with torch.no_grad():
        np.testing.assert_array_equal(model.q_net(tensor(PLACES)), values)
        np.testing.assert_array_equal(
            model.q_net_target(tensor(PLACES)),
            values_of(parameters_of(model), PLACES, target=True),
        )
    best = np.argmax(values + 3.0 * phi_at(model.advisor, PLACES), axis=1)
    assert not np.array_equal(best, np.argmax(values, axis=1))
    np.testing.assert_array_equal(model.predict(PLACES, deterministic=True)[0], best)
    alone, _ = model.predict(PLACES, deterministic=True, advised=False)
    np.testing.assert_array_equal(alone, np.argmax(values, axis=1))
    model.exploration_rate, model._last_obs = 0.0, PLACES
    np.testing.assert_array_equal(model._sample_action(0, None, 4)[0], best)
    assert model.predict(PLACES[0], deterministic=True)[0] == best[0]


def test_explicit_values_are_learned_as_plain_ones():
    """The same replay, the same batches: the same parameters."""
    advised, plain = agent(MarsDQN, form="explicit", scale=3.0), agent(DQN)
    advised.learn(20)
    plain.learn(1)
    plain.replay_buffer = advised.replay_buffer
    plain.policy.load_state_dict(parameters_of(advised))
    adam = deepcopy(advised.policy.optimizer.state_dict())
    plain.policy.optimizer.load_state_dict(adam)
    for model in (advised, plain):
        model.lr_schedule = lambda _: 1e-2
        np.random.seed(3)
        model.train(5, 8)
    assert same(parameters_of(plain), parameters_of(advised))


ENDS = {"goes on": (False, False), "ends": (True, False), "is cut": (True, True)}


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("form", ["explicit", "lookahead"])
def test_the_error_of_one_transition(form, end):
    """δ = r + c(γΦ(s',a') − Φ(s,a)) + γQ(s',a') − Q(s,a), by today's beliefs."""
    model, (done, cut) = agent(MarsDQN, form=form, scale=3.0), ENDS[end]
    model.learn(31)  # the mixture's next lessons are due with the learner's next one
    model.q_net_target.load_state_dict(agent(DQN, seed=9).q_net.state_dict())
    buffer = model.replay_buffer
    buffer.reset()
    row, after, action, reward = PLACES[1:2], PLACES[2:3], 1, 0.7
    info = {"TimeLimit.truncated": cut}
    step = (row, after, np.array([action]), np.array([reward]), np.array([done]))
    buffer.add(*step, [info])
    before, old_phi = parameters_of(model), phi_at(model.advisor, row)
    model.train(1, 4)
    phi, next_phi = (phi_at(model.advisor, rows)[0] for rows in (row, after))
    assert np.abs(phi - old_phi).max() > 1e-4
    learned = 3.0 if form == "lookahead" else 0.0
    value = values_of(before, row)[0, action]
    next_values = values_of(before, after, target=True)[0]
    best = np.argmax(next_values + learned * next_phi)
    alive = 0.0 if end == "ends" else 1.0
    shaping = learned * (0.9 * alive * next_phi[best] - phi[action])
    error = reward + shaping + 0.9 * alive * next_values[best] - value
    expected = smooth_l1_loss(torch.tensor(error), torch.tensor(0.0))
    found = model.logger.name_to_value["train/loss"]
    assert found == pytest.approx(float(expected), rel=1e-4)


@pytest.mark.parametrize("form", ["explicit", "lookahead"])
def test_known_values_are_learned_in_each_form(form):
    """Two places in a row: one step right costs a tenth, leaving pays one."""
    model = agent(MarsDQN, form=form, scale=1.0, transfer=FIXED)
    model.learn(1)
    first, second = PLACES[1], PLACES[2]
    steps = [
        *((first, 0, -0.1, first, False), (first, 1, -0.1, second, False)),
        *((second, 0, -0.1, first, False), (second, 1, 1.0, second, True)),
    ]
    model.replay_buffer.reset()
    for obs, action, reward, after, done in steps:
        rows = (obs[None], after[None], np.array([action]))
        rest = (np.array([reward]), np.array([done]))
        model.replay_buffer.add(*rows, *rest, [{}])
    for _ in range(12):
        model.train(40, 16)
        model.q_net_target.load_state_dict(model.q_net.state_dict())
    near = -0.1 + 0.9
    far = -0.1 + 0.9 * near
    expected = np.array([[far, near], [far, 1.0]])
    places = np.stack([first, second])
    with torch.no_grad():
        np.testing.assert_allclose(model.q_net(tensor(places)), expected, atol=0.05)
    raw = values_of(parameters_of(model), places)
    phi = phi_at(model.advisor, places)
    shift = phi if form == "lookahead" else 0.0 * phi
    np.testing.assert_allclose(raw, expected - shift, atol=0.05)


def test_numbered_states():
    options = {"form": "explicit", "scale": 9.0}
    model = agent(MarsDQN, MIXED.sources, TimeLimit(Numbered(LONG), 20), **options)
    model.learn(40)
    with torch.no_grad():
        values = model.q_net(torch.arange(8)).numpy()
    best = np.argmax(values + 9.0 * model.advisor.potential(np.arange(8)), axis=1)
    np.testing.assert_array_equal(
        model.predict(np.arange(8), deterministic=True)[0], best
    )
    assert model.predict(3, deterministic=True)[0] == best[3]


def test_scale_follows_the_remaining_progress():
    model = agent(MarsDQN, form="explicit", scale=lambda left: 2.0 * left)
    assert model.guide.scale == 2.0
    seen = []

    class Watch(BaseCallback):
        def _on_step(self):
            seen.append(model.guide.scale)
            return True

    for _ in range(2):
        seen.clear()
        model.learn(10, callback=Watch())
        np.testing.assert_allclose(seen, 2.0 - 0.2 * np.arange(10), atol=1e-9)
        assert model.guide.scale == 0.0
