"""What advised learners and wrappers tell the log."""

from functools import partial

import numpy as np
import pytest

pytest.importorskip("stable_baselines3")

from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

from policymix.bridges.stable_baselines3 import (
    MapseDQN,
    MarsDQN,
    MarsSAC,
    TransferCallback,
    VecShapedReward,
)
from policymix.sources.library import SourceLibrary

from support.sb3 import (
    LEARNERS,
    RULE,
    SHAPED,
    TAGS,
    WEIGHTS,
    agent,
    is_continuous,
    phi_at,
)
from support.slope import (
    DISCRETE,
    FAST,
    FIXED,
    OWN,
    Slope,
    source,
)


@pytest.mark.parametrize("kind", LEARNERS)
def test_the_log_tells_of_transfer(kind, log):
    model = agent(kind, transfer=OWN)
    model.set_logger(log.logger)
    model.learn(40, log_interval=1)
    rows = log.rows()
    mars = kind in (MarsDQN, MarsSAC)
    for tag in (*TAGS, *WEIGHTS, *(RULE if mars else [])):
        assert np.isfinite(float(rows[-1][tag])), tag
    weights = sum(float(rows[-1][tag]) for tag in WEIGHTS)
    assert weights == pytest.approx(1.0, abs=1e-4)
    means = [float(row["rollout/ep_rew_mean"]) for row in rows]
    raw = [float(row["transfer/raw_return"]) for row in rows]
    running = np.cumsum(raw) / np.arange(1, 1 + len(raw))
    np.testing.assert_allclose(running, means, rtol=1e-6, atol=1e-6)


@pytest.mark.filterwarnings("ignore::DeprecationWarning:tensorboard")
def test_tensorboard_has_the_same_tags(tmp_path):
    events = pytest.importorskip("tensorboard.backend.event_processing")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    del events
    options = {"form": "explicit", "tensorboard_log": str(tmp_path)}
    model = agent(MarsDQN, transfer=OWN, **options)
    model.learn(40, log_interval=1, tb_log_name="run")
    model.logger.close()
    events = EventAccumulator(str(tmp_path / "run_1")).Reload()
    assert {*TAGS, *WEIGHTS, SHAPED} <= set(events.Tags()["scalars"])
    assert np.isfinite(events.Scalars(SHAPED)[-1].value)


def test_the_shaped_return_is_the_sum_of_look_ahead_rewards(log):
    """r + c(γΦ(s', a') − Φ(s, a)), added up without discount."""
    model = agent(MarsDQN, form="explicit", scale=2.0, transfer=FIXED)
    model.set_logger(log.logger)
    model.learn(30, log_interval=1)
    buffer = model.replay_buffer
    ends = np.flatnonzero(buffer.dones[:30, 0])
    obs, actions = buffer.observations[:30, 0], buffer.actions[:30, 0, 0]
    phi = 2.0 * phi_at(model.advisor, obs)[np.arange(30), actions]
    rewards, first = buffer.rewards[:30, 0], 0
    for row, last in zip(log.rows(), ends, strict=True):
        here = slice(first, last + 1)
        follows = np.append(phi[here][1:], 0.0)
        total = np.sum(rewards[here] + 0.9 * follows - phi[here])
        assert float(row[SHAPED]) == pytest.approx(total, abs=1e-4)
        first = last + 1


def test_an_episode_that_was_given_up_does_not_count(log):
    model = agent(MarsDQN, env=Slope(horizon=6, begin=-0.9), learning_starts=100)
    model.set_logger(log.logger)
    model.learn(4)
    model.learn(6, log_interval=1)
    assert float(log.rows()[-1]["transfer/raw_return"]) == pytest.approx(-0.6)
    model.learn(3)
    model.learn(3, log_interval=1, reset_num_timesteps=False)
    assert float(log.rows()[-1]["transfer/raw_return"]) == pytest.approx(-0.6)


LONG_NAMES = SourceLibrary(
    [
        source(f"a name that is longer than a table of SB3 is wide {i}", 1.0)
        for i in range(2)
    ],
    encoder=DISCRETE.encoder,
)


def test_tables_have_room_for_long_names(capsys):
    agent(MarsDQN, LONG_NAMES, verbose=1).learn(30, log_interval=1)
    venv = VecShapedReward(DummyVecEnv([Slope]), LONG_NAMES, settings=FAST)
    model = PPO("MlpPolicy", venv, n_steps=16, batch_size=16, n_epochs=1, verbose=1)
    model.learn(32, callback=TransferCallback())
    assert capsys.readouterr().out.count("raw_return") >= 2


@pytest.mark.filterwarnings("ignore:.*rich is experimental")
def test_progress_bars_and_several_environments():
    for kind in (MarsDQN, MapseDQN, MarsSAC):
        venv = DummyVecEnv([partial(Slope, continuous=is_continuous(kind))] * 2)
        model = agent(kind, env=venv, transfer=OWN)
        model.learn(48, progress_bar=True)
        assert model.advisor._rows.filled == 48


def test_normalised_rewards_are_told_as_they_were(log):
    env = VecNormalize(
        DummyVecEnv([lambda: Slope(horizon=6, begin=-0.9)]), norm_obs=False
    )
    model = agent(MarsDQN, env=env, learning_starts=100)
    model.set_logger(log.logger)
    model.learn(6, log_interval=1)
    assert float(log.rows()[-1]["transfer/raw_return"]) == pytest.approx(-0.6)


def test_learners_take_the_end_as_evidence_too():
    model = agent(MarsDQN, env=Slope(horizon=4), learning_starts=100)
    model.learn(8)
    rows = model.advisor._rows.at(np.arange(8))
    buffer = model.replay_buffer
    np.testing.assert_array_equal(rows.next_obs, buffer.next_observations[:8, 0])
    np.testing.assert_array_equal(rows.obs, buffer.observations[:8, 0])
    assert buffer.dones[3]
    assert not np.array_equal(rows.next_obs[3], rows.obs[4])
