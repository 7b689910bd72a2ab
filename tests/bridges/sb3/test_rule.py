"""The rule: advice, except where the own action is surely better."""

import numpy as np
import pytest

pytest.importorskip("stable_baselines3")

import torch
from gymnasium.wrappers import TransformReward

from policymix.bridges.sb3.rule import own_or_advised, surely_better
from policymix.bridges.stable_baselines3 import MarsDQN, MarsSAC

from support.sb3 import PLACES, agent, is_continuous, parameters_of, same, tensor
from support.slope import FIXED, Slope

KINDS = [MarsDQN, MarsSAC]


def test_sure_is_a_mean_of_so_many_deviations():
    gaps = torch.tensor([[1.0, 1.0, -1.0, 0.0], [3.0, 1.0, -1.0, 0.0]])
    # Mean 2 and deviation √2; the same for all; never where it is no better.
    assert surely_better(gaps, 1.4).tolist() == [True, True, False, False]
    assert surely_better(gaps, 1.5).tolist() == [False, True, False, False]
    assert torch.equal(surely_better(100.0 * gaps, 1.4), surely_better(gaps, 1.4))


def test_one_half_picks_and_the_other_half_judges():
    picks = torch.tensor([[0.0, 5.0, 1.0]]).expand(2, 4, 3)
    doubts = torch.tensor([[0.0, 1.0, 0.5], [0.0, 1.2, 0.5]])
    judges = doubts[:, None].repeat(1, 4, 1)
    judges[1, 1, 1] = -0.8  # in the second row they do not agree
    advised, told = torch.tensor([0, 0, 1, 2]), torch.tensor([True, True, True, False])
    actions, own = own_or_advised(torch.cat([picks, judges]), advised, told, 2.0)
    assert actions.tolist() == [1, 0, 1, 1]
    assert own.tolist() == [True, False, False, True]


def test_many_networks_are_many_networks():
    model = agent(MarsDQN, heads=4)
    rows, layers = tensor(PLACES), model.q_net.q_net
    with torch.no_grad():
        found = model.q_net.each(rows)
        for head in range(4):
            values = torch.relu(rows @ layers[0].weight[head] + layers[0].bias[head])
            values = values @ layers[2].weight[head] + layers[2].bias[head]
            torch.testing.assert_close(found[head], values)
        torch.testing.assert_close(model.q_net(rows), found[:2].mean(0))


@pytest.mark.parametrize("kind", KINDS)
def test_before_anything_is_learned_it_follows(kind):
    model = agent(kind)
    advised, told = model.advisor.advised(PLACES)
    assert told.all()
    answer, _ = model.predict(PLACES, deterministic=True)
    np.testing.assert_allclose(answer, advised, rtol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_without_caution_or_with_all_of_it(kind):
    """Never sure: the advice. With advice that is the own action anyway: the same."""
    model = agent(kind, caution=1e9, learning_starts=30)
    model.learn(40)
    with model.guide.led_by("rule"):
        answer, _ = model.predict(PLACES, deterministic=True)
    np.testing.assert_allclose(answer, model.advisor.advised(PLACES)[0], rtol=1e-6)
    model.guide.caution = -1e9
    answers = []
    for leader in ("rule", "own"):
        with model.guide.led_by(leader):
            answers.append(model.predict(PLACES, deterministic=True)[0])
    np.testing.assert_array_equal(*answers)


@pytest.mark.parametrize("kind", KINDS)
def test_alone_it_asks_nobody(kind, monkeypatch):
    model = agent(kind)
    model.learn(20)
    monkeypatch.setattr(model, "advisor", None)
    monkeypatch.setattr(model.guide, "advisor", None)
    answer, _ = model.predict(PLACES, deterministic=True, advised=False)
    assert len(answer) == 4
    assert model.predict(PLACES[0], advised=False)[0].shape == answer.shape[1:]


def step_of(model, reward=0.7):
    """One transition in the replay."""
    row, after = PLACES[1:2], PLACES[2:3]
    action = np.array([[0.4]] if is_continuous(type(model)) else [1], np.float32)
    model.replay_buffer.reset()
    model.replay_buffer.add(
        row, after, action, np.array([reward]), np.array([False]), [{}]
    )
    return tensor(after)


def test_targets_of_values():
    """Who picks bootstraps on the best own action, who judges on the rule's."""
    model = agent(MarsDQN, heads=4, transfer=FIXED)
    model.learn(20)
    after = step_of(model)
    model.replay_buffer.unit = 2.0
    targets = model._targets(model.replay_buffer.sample(1))[:, 0]
    with torch.no_grad():
        later = model.q_net_target.each(after)
        own = int(model.q_net(after).argmax())
        advised, told = model.guide.advised(after)
        chosen = int(own_or_advised(later, advised, told, 2.0)[0])
    actions = [own, own, chosen, chosen]
    expected = [0.35 + 0.9 * float(later[k, 0, a]) for k, a in enumerate(actions)]
    np.testing.assert_allclose(targets, expected, rtol=1e-5)


def test_judges_value_the_rule_and_the_actor_bootstraps_on_it():
    model = agent(MarsSAC, heads=4, transfer=FIXED, caution=1e9)
    model.learn(20)
    after = step_of(model)
    advised = model.guide.advised(after)[0]
    model.replay_buffer.unit = 2.0
    targets = model._targets(model.replay_buffer.sample(1))[:, 0]
    with torch.no_grad():
        later = model.policy.judges_target(after, advised)[:, 0]
        action, log_prob = model.actor.action_log_prob(after)
    np.testing.assert_allclose(targets, 0.35 + 0.9 * later, rtol=1e-5)
    assert torch.equal(action, advised)
    assert float(log_prob) == 0.0
    assert model.actor.action_log_prob(after)[0].requires_grad


@pytest.mark.parametrize("kind", KINDS)
def test_the_unit_of_reward_does_not_matter(kind):
    """Rewards of 2⁻⁷ and of 2⁷: the same learner to the last bit."""

    def learned(unit):
        env = Slope(continuous=is_continuous(kind))
        return agent(kind, env=TransformReward(env, lambda r: unit * r)).learn(60)

    plain, small, large = map(learned, (1.0, 2.0**-7, 2.0**7))
    assert large.spread.value == 2.0**7 * plain.spread.value
    for model in (small, large):
        assert same(parameters_of(plain), parameters_of(model))
        actions = [m.replay_buffer.actions[:60] for m in (plain, model)]
        np.testing.assert_array_equal(*actions)


@pytest.mark.parametrize("kind", KINDS)
def test_who_leads_decides_what_is_done(kind, monkeypatch):
    model = agent(kind, learning_starts=4)
    model.learn(12)
    for leader in ("advice", "rule", "own"):
        monkeypatch.setattr(type(model.contest), "best", leader)
        with model.guide.led_by(leader):
            expected, _ = model.policy.predict(PLACES, deterministic=True)
        found, _ = model.predict(PLACES, deterministic=True)
        np.testing.assert_array_equal(found, expected)
