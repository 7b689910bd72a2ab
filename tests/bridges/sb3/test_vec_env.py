"""Shaped rewards for SB3's vectorised environments and any learner."""

import numpy as np
import pytest

pytest.importorskip("stable_baselines3")

from stable_baselines3 import PPO
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv

from policymix.bridges.gymnasium import ShapedReward
from policymix.bridges.stable_baselines3 import (
    TransferCallback,
    VecShapedReward,
)

from support.sb3 import (
    SHAPED,
    TAGS,
    WEIGHTS,
)
from support.slope import (
    DISCRETE,
    FAST,
    FIXED,
    OWN,
    SOURCES,
    Slope,
)


def play(venv, actions):
    """Shaped rewards and infos, one row a step."""
    told = [venv.step(action)[1:] for action in actions]
    return np.array([r for r, _, _ in told]), [i for _, _, i in told]


def vectors(count, continuous=False, settings=FIXED, **options):
    envs = [lambda: Monitor(Slope(continuous=continuous))] * count
    sources = SOURCES[continuous]
    return VecShapedReward(DummyVecEnv(envs), sources, settings=settings, **options)


@pytest.mark.parametrize("continuous", [False, True], ids=["discrete", "continuous"])
def test_one_copy_pays_what_the_wrapper_pays(continuous):
    single = ShapedReward(
        Slope(continuous=continuous), SOURCES[continuous], settings=FAST, scale=1.3
    )
    venv = vectors(1, continuous, FAST, scale=1.3)
    single.action_space.seed(0)
    obs, _ = single.reset(seed=4)
    venv.seed(4)
    np.testing.assert_array_equal(venv.reset()[0], obs)
    for _ in range(30):
        action = single.action_space.sample()
        obs, reward, terminated, truncated, info = single.step(action)
        shaped, _, infos = venv.step(np.array([action]))[1:]
        assert shaped.dtype == np.float32
        assert shaped[0] == pytest.approx(reward, abs=1e-5)
        if terminated or truncated:
            obs, _ = single.reset()
            both = [i["transfer"]["transfer/shaped_return"] for i in (info, infos[0])]
            assert both[0] == pytest.approx(both[1], abs=1e-4)


@pytest.mark.parametrize("form", ["lookback", "bonus"])
def test_copies_do_not_mix(form):
    rng = np.random.default_rng(1)
    actions = rng.integers(2, size=(25, 3))
    together = vectors(3, form=form)
    together.seed(20)
    together.reset()
    rewards, infos = play(together, actions)
    for copy in range(3):
        alone = vectors(1, form=form)
        alone.seed(20 + copy)
        alone.reset()
        found, told = play(alone, actions[:, copy : copy + 1])
        np.testing.assert_allclose(rewards[:, copy], found[:, 0], atol=1e-5)
        for step, (info,) in zip(infos, told, strict=True):
            assert step[copy].get("transfer", {}).get(SHAPED) == pytest.approx(
                info.get("transfer", {}).get(SHAPED), abs=1e-5
            )


def test_monitors_inside_see_raw_rewards_and_the_end_is_evidence():
    venv = vectors(1)
    venv.seed(2)
    venv.reset()
    _, infos = play(venv, np.zeros((12, 1), int))
    (last,) = infos[-1]
    raw = sum(info["raw_reward"] for (info,) in infos)
    assert last["episode"]["r"] == pytest.approx(raw, abs=1e-5)
    assert last["transfer"]["transfer/raw_return"] == pytest.approx(raw, abs=1e-5)
    assert last["TimeLimit.truncated"]
    final = np.asarray(venv.advisor._rows.at(np.array([11])).next_obs)[0]
    np.testing.assert_array_equal(final, last["terminal_observation"])


def test_seeds_that_wait_for_the_first_reset_are_kept():
    plain, inner = (DummyVecEnv([Slope, Slope]) for _ in range(2))
    for venv in (plain, inner):
        venv.seed(3)
    shaped = VecShapedReward(inner, DISCRETE, settings=FIXED)
    np.testing.assert_array_equal(shaped.reset(), plain.reset())


def test_ppo_with_shaped_rewards_and_their_log(log):
    venv = vectors(2, settings=OWN, form="bonus", scale=lambda steps: 1.0 / (1 + steps))
    model = PPO("MlpPolicy", venv, n_steps=16, batch_size=16, n_epochs=1, seed=0)
    model.set_logger(log.logger)
    model.learn(64, callback=TransferCallback())
    last = log.rows()[-1]
    for tag in (*TAGS, *WEIGHTS, SHAPED):
        assert np.isfinite(float(last[tag])), tag
    assert float(last[SHAPED]) > float(last["transfer/raw_return"])
    assert venv.advisor._rows.filled == 64
