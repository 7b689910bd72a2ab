"""The rule: advice, except where the own action is surely better."""

from copy import deepcopy

import numpy as np
import pytest

pytest.importorskip("stable_baselines3")

import torch
from gymnasium.wrappers import TransformReward
from stable_baselines3 import SAC

from policymix.bridges.advisor import AT_ONCE
from policymix.bridges.sb3.rule import own_or_advised, pick, surely_better
from policymix.bridges.stable_baselines3 import MarsDQN, MarsSAC

from support.sb3 import PLACES, agent, is_continuous, parameters_of, same, tensor
from support.slope import FIXED, Slope

KINDS = [MarsDQN, MarsSAC]
SAC_PARTS = ("actor", "critic", "critic_target")


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
    """Who picks bootstraps on the best own action, who judges on the rule's.

    Older copies of the networks choose both.
    """
    model = agent(MarsDQN, heads=4, transfer=FIXED)
    model.learn(20)
    after = step_of(model)
    model.replay_buffer.unit = 2.0
    targets = model._targets(model.replay_buffer.sample(1))[:, 0]
    with torch.no_grad():
        later = model.q_net_target.each(after)
        own = int(model.q_net_target(after).argmax())
        advised, told = model.guide.advised(after)
        chosen = int(own_or_advised(later, advised, told, 2.0)[0])
    actions = [own, own, chosen, chosen]
    expected = [0.35 + 0.9 * float(later[k, 0, a]) for k, a in enumerate(actions)]
    np.testing.assert_allclose(targets, expected, rtol=1e-5)


def test_lessons_are_all_of_what_was_drawn():
    """Batches are drawn some at a time, and each of them is learned from once."""
    model = agent(MarsDQN, transfer=FIXED)
    model.learn(20)
    model._lessons = []
    np.random.seed(3)
    lessons = [model._lesson(4) for _ in range(AT_ONCE)]
    assert not model._lessons
    np.random.seed(3)
    drawn = model.replay_buffer.sample(4 * AT_ONCE)
    found = torch.cat([lesson.obs for lesson in lessons[::-1]])
    torch.testing.assert_close(found, drawn.observations)
    found = torch.cat([lesson.targets for lesson in lessons[::-1]], 1)
    torch.testing.assert_close(found, model._targets(drawn))
    assert len(model._lesson(5).actions) == 5


@pytest.mark.parametrize("limit", [1e-3, 1e3])
def test_gradients_are_clipped_as_by_pytorch(limit):
    model = agent(MarsDQN, max_grad_norm=limit)
    model.learn(20)
    lesson = model._lesson(8)
    model._lessons = [lesson]
    values = pick(model.q_net.each(lesson.obs), lesson.actions)
    loss = len(values) * torch.nn.functional.smooth_l1_loss(values, lesson.targets)
    parameters = list(model.q_net.parameters())
    expected = torch.autograd.grad(loss, parameters)
    norm = torch.nn.utils.get_total_norm(expected)
    model.train(1, 8)
    share = min(1.0, limit / float(norm))
    for parameter, gradient in zip(parameters, expected, strict=True):
        torch.testing.assert_close(parameter.grad, share * gradient)


def test_critics_and_judges_learn_what_the_rule_is_worth():
    model = agent(MarsSAC, heads=4, transfer=FIXED, caution=1e9)
    model.learn(20)
    after = step_of(model)
    advised = model.guide.advised(after)[0]
    model.replay_buffer.unit = 2.0
    targets = model._targets(model.replay_buffer.sample(1), torch.tensor(0.1))
    with torch.no_grad():
        judged = model.policy.judges_target(after, advised)[:, 0]
        later = torch.cat(model.critic_target(after, advised)).min()
    np.testing.assert_allclose(targets.judges[:, 0], 0.35 + 0.9 * judged, rtol=1e-5)
    # Advice is sure: it has no entropy to be paid for.
    assert float(targets.critics) == pytest.approx(0.35 + 0.9 * float(later), rel=1e-5)


def nobody_advises(obs):
    return np.zeros((len(obs), 1), np.float32), np.zeros(len(obs), bool)


def test_where_the_own_action_is_taken_sac_learns_as_sb3s():
    """Never any advice: the same critics, actor and weight of entropy."""
    model, plain = agent(MarsSAC, heads=4, transfer=FIXED), agent(SAC)
    model.learn(20)
    plain.learn(1)
    model.advisor.advised = nobody_advises
    model._unit = lambda: 1.0
    plain.replay_buffer = model.replay_buffer
    model.replay_buffer.unit = 1.0
    pairs = {name: (getattr(plain, name), getattr(model, name)) for name in SAC_PARTS}
    for copy, original in pairs.values():
        copy.load_state_dict(original.state_dict())
        if hasattr(copy, "optimizer"):
            state = deepcopy(original.optimizer.state_dict()["state"])
            kept = copy.optimizer.state_dict()
            copy.optimizer.load_state_dict({**kept, "state": state})
    plain.log_ent_coef.data.copy_(model.log_ent_coef.data)
    for learner in (plain, model):
        np.random.seed(3)
        torch.manual_seed(3)
        learner.train(1, 8)
    for copy, original in pairs.values():
        for one, other in zip(copy.parameters(), original.parameters(), strict=True):
            torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-4)


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
