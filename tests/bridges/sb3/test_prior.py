"""PPO that begins as the mixture, and is held to it until it is proved better."""

import numpy as np
import pytest

pytest.importorskip("stable_baselines3")

import torch
from gymnasium.wrappers import TransformReward

from policymix.bridges.sb3 import mars_ppo
from policymix.bridges.sb3.mars_ppo import LOOSEST
from policymix.bridges.sb3.prior import SMOOTHING, SPREAD, proof
from policymix.bridges.sb3.student import imitate
from policymix.bridges.stable_baselines3 import MarsPPO

from support.sb3 import PLACES, agent, parameters_of, phi_at, same, tensor
from support.slope import FIXED, OWN, Slope

ANYTHING = [False, True]


def chances_of(model, rows=PLACES):
    with torch.no_grad():
        return model.policy.get_distribution(tensor(rows)).distribution


def test_it_begins_as_the_mixture():
    """(1 − ε)Φ + ε/n, since the weights of the sources add up to one."""
    model = agent(MarsPPO)
    phi = phi_at(model.advisor, PLACES)
    found = chances_of(model).probs.numpy()
    np.testing.assert_allclose(found, (1 - SMOOTHING) * phi + SMOOTHING / 2, rtol=1e-5)


def test_continuous_actions_begin_at_the_advised_one():
    model = agent(MarsPPO, continuous=True)
    advised, told = model.advisor.advised(PLACES)
    assert told.all()
    found = chances_of(model)
    np.testing.assert_allclose(found.mean.numpy(), advised, rtol=1e-6)
    np.testing.assert_allclose(found.stddev.numpy(), 3.0 * SPREAD, rtol=1e-6)
    answer, _ = model.predict(PLACES, deterministic=True)
    np.testing.assert_allclose(answer, advised, rtol=1e-6)


@pytest.mark.parametrize("continuous", ANYTHING)
def test_where_nobody_is_trusted_it_begins_as_ppo_does(continuous, monkeypatch):
    model = agent(MarsPPO, continuous=continuous, transfer=OWN)
    advice = model.advisor.recalled(PLACES)[1]
    own = np.tile(np.array([0.0, 0.0, 1.0], np.float32), (len(PLACES), 1))
    monkeypatch.setattr(model.advisor, "recalled", lambda obs: (own, advice))
    found = chances_of(model)
    if continuous:
        assert torch.equal(found.mean, torch.zeros(4, 1))
        assert torch.equal(found.stddev, torch.ones(4, 1))
    else:
        torch.testing.assert_close(found.probs, torch.full((4, 2), 0.5))
    model.policy.hold = 1.0
    actions = torch.zeros(4, 1) if continuous else torch.zeros(4).long()
    kept = model.policy.evaluate_actions(tensor(PLACES), actions)[2]
    assert torch.equal(kept, torch.zeros(4))


def test_where_the_own_model_leads_a_continuous_policy_is_held_to_nothing(monkeypatch):
    """It names no action, however much weight the sources have together."""
    model = agent(MarsPPO, continuous=True, transfer=OWN)
    advice = model.advisor.recalled(PLACES)[1]
    most = np.tile(np.array([0.3, 0.3, 0.4], np.float32), (len(PLACES), 1))
    monkeypatch.setattr(model.advisor, "recalled", lambda obs: (most, advice))
    with torch.no_grad():
        model.policy.log_std += 1.0
    model.policy.hold = 1.0
    rows, actions = tensor(PLACES), torch.zeros(4, 1)
    assert torch.equal(model.policy.evaluate_actions(rows, actions)[2], torch.zeros(4))
    assert torch.equal(model.policy.departure(rows, actions)[1], torch.zeros(4))


def test_proof_is_the_gain_of_departing_in_standard_errors():
    # The mixture would take action 0 with 0.9, the policy takes both alike.
    actions = np.array([0, 1] * 50)
    ratio = np.where(actions == 0, 0.9, 0.1) / 0.5
    advantages = np.where(actions == 0, -1.0, 1.0) + np.tile([0.1, 0.1, -0.1, -0.1], 25)
    gains = np.where(actions == 0, 1 - 1.8, 1 - 0.2) * advantages
    expected, everywhere = gains.mean() / (gains.std() / 10), np.ones(100)
    found = proof(ratio, 1e6 * advantages + 3.0, everywhere)
    assert found == pytest.approx(expected)
    assert proof(ratio, -advantages, everywhere) == pytest.approx(-expected)
    assert proof(ratio, advantages, 0.0 * everywhere) == 0.0
    assert proof(everywhere, advantages, everywhere) == 0.0


@pytest.mark.parametrize(("right", "sure"), [(0.1, -16.0), (0.01, -4.4), (0.0, 0.0)])
def test_proof_is_blind_where_nothing_is_done_that_the_mixture_would_do(right, sure):
    """It always takes the right action, which is worth one more; the policy seldom."""
    noise = 0.3 * np.random.default_rng(0).normal(size=2048)
    done = np.arange(2048) < right * 2048
    ratio = np.where(done, 1.0 / max(right, 1e-9), 0.0)
    found = proof(ratio, done - right + noise, np.ones(2048))
    assert found == pytest.approx(sure, rel=0.1, abs=1e-9)


def test_to_be_less_at_random_than_the_prior_proves_nothing():
    """Discrete: m is Φ itself. Continuous: the mixture with the policy's deviation."""
    model = agent(MarsPPO)
    actions = torch.tensor([0, 1, 0, 1])
    ratio, share, log_policy = model.policy.departure(tensor(PLACES), actions)
    phi = phi_at(model.advisor, PLACES)[np.arange(4), actions.numpy()]
    np.testing.assert_allclose(ratio * torch.exp(log_policy), phi, rtol=1e-5)
    np.testing.assert_allclose(share, 1.0, rtol=1e-6)
    model = agent(MarsPPO, continuous=True)
    with torch.no_grad():
        model.policy.log_std += 1.0
    ratio = model.policy.departure(tensor(PLACES), torch.zeros(4, 1))[0]
    torch.testing.assert_close(ratio, torch.ones(4))


@pytest.mark.parametrize(
    ("sure", "hold"), [(0.0, 0.5), (0.5, 0.5 / 2**0.5), (-2.0, 1.0), (99.0, LOOSEST)]
)
def test_the_hold_follows_the_proof(sure, hold, monkeypatch):
    model = agent(MarsPPO)
    model.hold = 0.5
    monkeypatch.setattr(mars_ppo, "proof", lambda *parts: sure)
    model.learn(5)
    assert model.hold == pytest.approx(hold)


def test_what_is_held_stays():
    apart = {}
    for hold in (0.0, 1e4):
        model = agent(MarsPPO, transfer=FIXED)
        before = chances_of(model)
        model.hold = hold
        model._judge = lambda: None
        model.learn(60)
        gaps = torch.distributions.kl_divergence(chances_of(model), before)
        apart[hold] = float(gaps.mean())
    assert apart[1e4] < 1e-3 < apart[0.0]


@pytest.mark.parametrize("continuous", ANYTHING)
def test_the_unit_of_reward_does_not_matter(continuous):
    found = []
    for unit in (1.0, 1024.0):
        env = TransformReward(
            Slope(continuous=continuous), lambda r, u=unit: u * float(r)
        )
        model = agent(MarsPPO, env=env, continuous=continuous)
        model.learn(40)
        parameters = parameters_of(model)
        found.append(parameters.pop("unit") / unit)
        found.append(parameters)
    assert found[0] == found[2]
    assert same(found[1], found[3])


@pytest.mark.parametrize("continuous", ANYTHING)
def test_alone_it_asks_nobody(continuous, monkeypatch):
    model = agent(MarsPPO, continuous=continuous)
    model.learn(20)
    monkeypatch.setattr(model.policy, "advisor", None)
    answer, _ = model.predict(PLACES, deterministic=True, advised=False)
    assert all(model.action_space.contains(row) for row in answer)
    with pytest.raises(AssertionError):
        model.predict(PLACES)


@pytest.mark.parametrize("continuous", ANYTHING)
def test_the_student_learns_what_the_policy_does(continuous):
    model = agent(MarsPPO, continuous=continuous, transfer=FIXED, n_epochs=1)
    fresh = agent(MarsPPO, continuous=continuous, transfer=FIXED).policy.student
    model.learn(20)
    obs = torch.as_tensor(model.advisor.seen(50))
    lesson = model.policy.lesson(obs)
    model._teach(200)
    untaught, taught = (
        imitate(student, obs, lesson) for student in (fresh, model.policy.student)
    )
    assert taught < 0.5 * untaught
    model._teach(1)
    assert all(part.grad is None for part in model.policy.student.parameters())


@pytest.mark.parametrize("continuous", ANYTHING)
def test_the_advisor_learns_of_every_step_and_its_end(continuous):
    options = {"continuous": continuous, "n_steps": 8, "batch_size": 4}
    model = agent(MarsPPO, env=Slope(4, continuous), **options)
    model.learn(8)
    rows, buffer = model.advisor._rows.at(np.arange(8)), model.rollout_buffer
    np.testing.assert_array_equal(rows.obs, buffer.observations.reshape(8, 2))
    taken = buffer.actions.reshape(rows.action.shape)
    taken = np.clip(taken, -2.0, 4.0) if continuous else taken
    np.testing.assert_array_equal(rows.action, taken)
    starts = np.flatnonzero(buffer.episode_starts.flatten())
    assert starts.tolist() == [0, 4]
    np.testing.assert_array_equal(rows.next_obs[:3], rows.obs[1:4])
    assert not np.array_equal(rows.next_obs[3], rows.obs[4])


def test_the_log_tells_of_the_prior(log):
    model = agent(MarsPPO, transfer=OWN, n_steps=30, batch_size=10)
    model.set_logger(log.logger)
    model.learn(90, log_interval=1)
    row = log.rows()[-1]
    for name in ("hold", "trust", "proof", "reward_unit", "raw_return", "entropy"):
        assert np.isfinite(float(row[f"transfer/{name}"])), name
    assert model.ent_coef == 0.0
