"""Stable-Baselines3's learners with advice: what is added, and what stays SB3's."""

import csv
import io
import zipfile
from copy import deepcopy
from dataclasses import replace
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.wrappers import TimeLimit

from support.probes import LONG, MIXED, Numbered

pytest.importorskip("stable_baselines3")

import torch
from stable_baselines3 import DQN, PPO, SAC
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import configure
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize
from stable_baselines3.dqn.policies import DQNPolicy, QNetwork
from torch.nn.functional import smooth_l1_loss

from policymix.beliefs.potentials import action_potential, potential
from policymix.bridges.gymnasium import ShapedReward
from policymix.bridges.stable_baselines3 import (
    MapseDQN,
    MapseSAC,
    MarsDQN,
    MarsSAC,
    TransferCallback,
    VecShapedReward,
)
from policymix.core.errors import (
    DomainError,
    FileFormatError,
    PolicymixError,
    SourceError,
)
from policymix.core.kernels import Gaussian
from policymix.sources.library import SourceLibrary

from support.slope import (
    CONTINUOUS,
    DISCRETE,
    FAST,
    FIXED,
    OWN,
    SOURCES,
    Slope,
    source,
    untyped,
)

torch.set_num_threads(1)
OFF = {
    "buffer_size": 300,
    "learning_starts": 8,
    "batch_size": 8,
    "gamma": 0.9,
    "device": "cpu",
    "seed": 5,
}
DEEP = {**OFF, "target_update_interval": 10, "train_freq": 1}
DEEP |= {"exploration_fraction": 0.8, "learning_rate": 1e-2}
PLAIN = {MarsDQN: DQN, MapseDQN: DQN, MarsSAC: SAC, MapseSAC: SAC}
LEARNERS = [MarsDQN, MapseDQN, MarsSAC, MapseSAC]
PLACES = np.array([[-0.8, 0.1], [-0.3, 0.2], [0.2, -0.5], [0.6, 0.9]], np.float32)


def is_continuous(kind):
    return PLAIN.get(kind, kind) is SAC


def agent(kind, sources=None, env=None, **options) -> Any:
    continuous = is_continuous(kind)
    env = Slope(continuous=continuous) if env is None else env
    base = {**(OFF if continuous else DEEP), "policy_kwargs": {"net_arch": [8]}}
    if kind in PLAIN:
        sources = SOURCES[continuous] if sources is None else sources
        options = {"sources": sources, "transfer": FAST, **options}
    return kind("MlpPolicy", env, **{**base, **options})


def parameters_of(model):
    return {name: value.clone() for name, value in model.policy.state_dict().items()}


def same(one, other):
    return all(torch.equal(one[name], other[name]) for name in one)


def tensor(rows):
    return torch.as_tensor(np.asarray(rows))


def phi_at(advisor, rows):
    """Φ(s, ·) by the definition."""
    weights, advice = advisor.advice(rows)
    pairs = zip(jnp.asarray(weights), jnp.asarray(advice), strict=True)
    return np.array([potential(*pair) for pair in pairs])


def values_of(parameters, rows, target=False):
    """Q by a network that knows of no advice."""
    model = agent(DQN)
    model.policy.load_state_dict(parameters)
    network = model.q_net_target if target else model.q_net
    with torch.no_grad():
        return network(tensor(rows)).numpy()


# Plain learners, where advice counts for nothing.


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        (MarsDQN, {"scale": 0.0}),
        (MarsDQN, {"scale": 0.0, "form": "lookahead"}),
        (MapseDQN, {"reuse": 0.0}),
        (MarsSAC, {"scale": 0.0}),
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


# MARS with values.


def test_explicit_values_know_nothing_of_advice_but_decisions_do():
    model = agent(MarsDQN, scale=3.0)
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
    model.exploration_rate, model._last_obs = 0.0, PLACES
    np.testing.assert_array_equal(model._sample_action(0, None, 4)[0], best)
    assert model.predict(PLACES[0], deterministic=True)[0] == best[0]


def test_explicit_values_are_learned_as_plain_ones():
    """The same replay, the same batches: the same parameters."""
    advised, plain = agent(MarsDQN, scale=3.0), agent(DQN)
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
    model.learn(30)
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
    model = agent(MarsDQN, MIXED.sources, TimeLimit(Numbered(LONG), 20), scale=9.0)
    model.learn(40)
    with torch.no_grad():
        values = model.q_net(torch.arange(8)).numpy()
    best = np.argmax(values + 9.0 * model.advisor.potential(np.arange(8)), axis=1)
    np.testing.assert_array_equal(
        model.predict(np.arange(8), deterministic=True)[0], best
    )
    assert model.predict(3, deterministic=True)[0] == best[3]


# MARS with actors.


def kernel_values(model, rows, actions, precision=1.0):
    """c·Φ(s, a) by the definition, for actions in [−1, 1]."""
    weights, advice = (jnp.asarray(part) for part in model.advisor.advice(rows))
    kernel = Gaussian(precision, normalised=False)
    scaled = (advice - 1.0) / 3.0
    parts = zip(weights, scaled, jnp.asarray(actions), strict=True)
    return model.guide.scale * np.array([action_potential(*p, kernel) for p in parts])


PUSHES = np.array([[-0.9], [-0.2], [0.4], [1.0]], np.float32)


def test_the_potential_of_an_action_and_its_gradient():
    model = agent(MarsSAC, scale=1.7, precision=0.6)
    model.learn(12)
    actions = tensor(PUSHES).clone().requires_grad_()
    found = model.guide.value(tensor(PLACES), actions)
    assert found.shape == (4, 1)
    expected = kernel_values(model, PLACES, PUSHES, 0.6)
    np.testing.assert_allclose(found.detach()[:, 0], expected, rtol=1e-5)
    found.sum().backward()
    assert actions.grad is not None
    rise = kernel_values(model, PLACES, PUSHES + 1e-2, 0.6)
    fall = kernel_values(model, PLACES, PUSHES - 1e-2, 0.6)
    np.testing.assert_allclose(actions.grad[:, 0], (rise - fall) / 2e-2, atol=2e-3)


@pytest.mark.parametrize("form", ["explicit", "lookahead"])
def test_critics_tell_the_actor_of_advice_and_nobody_else(form):
    model, plain = agent(MarsSAC, form=form, scale=2.0), agent(SAC)
    model.learn(12)
    plain.policy.load_state_dict(parameters_of(model))
    rows, pushes = tensor(PLACES), tensor(PUSHES)
    phi = kernel_values(model, PLACES, PUSHES)[:, None]
    assert phi.max() > 0.1
    proposed = pushes.clone().requires_grad_()
    for name in ("critic", "critic_target"):
        critic, original = getattr(model, name), getattr(plain, name)
        for actions, advised in ((pushes, form == "lookahead"), (proposed, True)):
            pairs = zip(critic(rows, actions), original(rows, actions), strict=True)
            for found, value in pairs:
                expected = value.detach().numpy() + advised * phi
                np.testing.assert_allclose(found.detach(), expected, atol=1e-5)


@pytest.mark.parametrize("form", ["explicit", "lookahead"])
def test_losses_of_actor_and_critic(form):
    """One transition, the actor made sure of itself: what SB3 logs is computed anew."""
    model = agent(MarsSAC, form=form, scale=2.0, ent_coef=0.0, learning_rate=1e-8)
    plain = agent(SAC, ent_coef=0.0)
    model.learn(12)
    model.replay_buffer.reset()
    row, after, push = PLACES[1:2], PLACES[2:3], PUSHES[2:3]
    step = (row, after, push, np.array([0.3]), np.array([False]))
    model.replay_buffer.add(*step, [{}])
    with torch.no_grad():
        for network in (model.actor.log_std, plain.actor.log_std):
            network.weight.zero_()
            network.bias.fill_(-20.0)
    plain.policy.load_state_dict(parameters_of(model))
    model.train(1, 2)
    learned = 1.0 if form == "lookahead" else 0.0
    with torch.no_grad():
        chosen, following = (plain.actor(tensor(r), True) for r in (row, after))
        values = [value.numpy() for value in plain.critic(tensor(row), tensor(push))]
        target = torch.cat(plain.critic_target(tensor(after), following), 1).min()
        judged = torch.cat(plain.critic(tensor(row), chosen), 1).min()
    later = kernel_values(model, after, following.numpy())
    goal = 0.3 + 0.9 * (float(target) + learned * later)
    now = learned * kernel_values(model, row, push)
    loss = sum(float(np.square(value[0] + now - goal)[0]) / 2 for value in values)
    logged = model.logger.name_to_value
    assert logged["train/critic_loss"] == pytest.approx(loss, rel=1e-3)
    advice = float(kernel_values(model, row, chosen.numpy())[0])
    assert advice > 0.05
    assert logged["train/actor_loss"] == pytest.approx(
        -(float(judged) + advice), rel=1e-3
    )


# MAPSE.

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


# c in the course of training.


def test_scale_follows_the_remaining_progress():
    model = agent(MarsDQN, scale=lambda left: 2.0 * left)
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


# The log.

TAGS = ["transfer/entropy", "transfer/log_evidence", "transfer/raw_return"]
WEIGHTS = [f"transfer/source_weight/{name}" for name in ("left", "right", "own")]
SHAPED = "transfer/shaped_return"


@pytest.fixture
def log(tmp_path):
    """A log for learners, and its rows so far."""

    class Log:
        logger = configure(str(tmp_path), ["csv"])

        def rows(self):
            with (tmp_path / "progress.csv").open() as file:
                return list(csv.DictReader(file))

    yield Log()
    Log.logger.close()


@pytest.mark.parametrize("kind", LEARNERS)
def test_the_log_tells_of_transfer(kind, log):
    model = agent(kind, transfer=OWN)
    model.set_logger(log.logger)
    model.learn(40, log_interval=1)
    rows = log.rows()
    mars = kind in (MarsDQN, MarsSAC)
    for tag in (*TAGS, *WEIGHTS, *([SHAPED] if mars else [])):
        assert np.isfinite(float(rows[-1][tag])), tag
    weights = sum(float(rows[-1][tag]) for tag in WEIGHTS)
    assert weights == pytest.approx(1.0, abs=1e-4)
    means = [float(row["rollout/ep_rew_mean"]) for row in rows]
    raw = [float(row["transfer/raw_return"]) for row in rows]
    np.testing.assert_allclose(np.cumsum(raw) / np.arange(1, 1 + len(raw)), means)


@pytest.mark.filterwarnings("ignore::DeprecationWarning:tensorboard")
def test_tensorboard_has_the_same_tags(tmp_path):
    events = pytest.importorskip("tensorboard.backend.event_processing")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    del events
    model = agent(MarsDQN, transfer=OWN, tensorboard_log=str(tmp_path))
    model.learn(40, log_interval=1, tb_log_name="run")
    model.logger.close()
    events = EventAccumulator(str(tmp_path / "run_1")).Reload()
    assert {*TAGS, *WEIGHTS, SHAPED} <= set(events.Tags()["scalars"])
    assert np.isfinite(events.Scalars(SHAPED)[-1].value)


def test_the_shaped_return_is_the_sum_of_look_ahead_rewards(log):
    """r + c(γΦ(s', a') − Φ(s, a)), added up without discount."""
    model = agent(MarsDQN, scale=2.0, transfer=FIXED)
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
    venv = DummyVecEnv([Slope, Slope])
    for kind in (MarsDQN, MapseDQN):
        model = agent(kind, env=venv, transfer=OWN)
        model.learn(40, progress_bar=True)
        assert model.advisor._rows.filled == 40


# Files.


class Numbers:
    """A trained model of another library: it only predicts."""

    def predict(self, obs, deterministic=True):
        assert deterministic
        return np.asarray(np.asarray(obs)[..., 0] < 0).astype(int), None


def on_host(obs):
    return 1 if float(obs[0]) < 0 else 0


HOST = SourceLibrary(
    [
        source("model", 1.0, policy=Numbers()),
        source("numpy", -1.0, policy=on_host, dynamics=lambda obs, action: obs * 0.9),
    ]
)
CASES = {
    "MarsDQN": (MarsDQN, DISCRETE, {}),
    "MarsDQN, lookahead": (MarsDQN, DISCRETE, {"form": "lookahead"}),
    "MarsDQN, host functions": (MarsDQN, HOST, {"scale": lambda left: 1.0 + left}),
    "MapseDQN": (MapseDQN, DISCRETE, {"reuse": 0.9}),
    "MarsSAC": (MarsSAC, CONTINUOUS, {"precision": 0.5}),
    "MapseSAC": (MapseSAC, CONTINUOUS, {}),
}


@pytest.mark.parametrize("case", CASES)
def test_a_saved_agent_comes_back_and_goes_on(case, tmp_path):
    kind, sources, options = CASES[case]
    model = agent(kind, sources, transfer=OWN, **options)
    model.learn(25)
    model.save(tmp_path / "agent")
    assert [file.name for file in tmp_path.iterdir()] == ["agent.zip"]
    found = kind.load(tmp_path / "agent", sources=sources)
    for name in ("form", "precision", "reuse", "transfer"):
        assert getattr(found, name, None) == getattr(model, name, None)
    weights = [m.advisor.weights(PLACES) for m in (model, found)]
    np.testing.assert_array_equal(*weights)
    answers = [m.predict(PLACES, deterministic=True)[0] for m in (model, found)]
    np.testing.assert_array_equal(*answers)
    if kind is MarsDQN:
        assert found.guide.scale == model.guide.scale
        with torch.no_grad():
            values = [m.q_net(tensor(PLACES)) for m in (model, found)]
        np.testing.assert_array_equal(*values)
    again = kind.load(
        tmp_path / "agent.zip", Slope(continuous=is_continuous(kind)), sources=sources
    )
    again.learn(20, reset_num_timesteps=False)
    assert again.num_timesteps == 45
    assert not np.array_equal(again.advisor.weights(PLACES), weights[0])


@pytest.fixture(scope="module")
def saved():
    model = agent(MarsDQN, transfer=OWN)
    model.learn(12)
    buffer = io.BytesIO()
    model.save(buffer, exclude=["_last_obs"])
    return model, buffer


def test_a_file_in_memory(saved):
    model, buffer = saved
    assert zipfile.ZipFile(buffer).testzip() is None
    found = MarsDQN.load(buffer, sources=DISCRETE, scale=0.25)
    np.testing.assert_array_equal(
        found.advisor.weights(PLACES), model.advisor.weights(PLACES)
    )
    assert found._last_obs is None
    assert found.guide.scale == 0.25


def test_a_name_with_a_dot(saved, tmp_path):
    model, _ = saved
    model.save(str(tmp_path / "agent.v1"))
    (tmp_path / "agent.v1").rename(tmp_path / "agent.v1.zip")
    MarsDQN.load(str(tmp_path / "agent.v1"), sources=DISCRETE)


def test_sources_must_be_those_of_the_file(saved):
    _, buffer = saved
    with pytest.raises(PolicymixError, match=r"MarsDQN\.load\(path, sources=library"):
        MarsDQN.load(buffer)
    swapped = SourceLibrary(DISCRETE.sources[::-1], encoder=DISCRETE.encoder)
    with pytest.raises(PolicymixError, match=r"trained with .'left', 'right', 'own'."):
        MarsDQN.load(buffer, sources=swapped)
    other = replace(DISCRETE, encoder=None)
    with pytest.raises(PolicymixError, match="does not belong"):
        MarsDQN.load(buffer, sources=other)


def test_foreign_files_are_refused(tmp_path):
    agent(DQN).save(tmp_path / "plain")
    (tmp_path / "text.zip").write_text("nothing")
    for name in ("plain", "text"):
        with pytest.raises(FileFormatError, match="no advised learner"):
            MarsDQN.load(tmp_path / name, sources=DISCRETE)
    with pytest.raises(FileNotFoundError):
        MarsDQN.load(tmp_path / "absent", sources=DISCRETE)


def test_nothing_is_left_behind_when_saving_fails(saved, tmp_path, monkeypatch):
    model, _ = saved
    model.save(tmp_path / "agent")
    before = (tmp_path / "agent.zip").read_bytes()

    def fail():
        raise RuntimeError("no")

    monkeypatch.setattr(model.advisor, "arrays", fail)
    with pytest.raises(RuntimeError, match="no"):
        model.save(tmp_path / "agent")
    assert [file.name for file in tmp_path.iterdir()] == ["agent.zip"]
    assert (tmp_path / "agent.zip").read_bytes() == before


# Mistakes.


class Mixed(Slope):
    """Observations that are no vectors."""

    def __init__(self):
        super().__init__()
        self.observation_space = spaces.Dict({"place": self.observation_space})


def normalised(**options):
    return VecNormalize(DummyVecEnv([Slope]), **options)


MISTAKES = {
    "no sources": (
        lambda: MarsDQN("MlpPolicy", Slope()),
        PolicymixError,
        r"MarsDQN\(…, sources=library\)",
    ),
    "a list of sources": (
        lambda: agent(MarsDQN, list(DISCRETE.sources)),
        SourceError,
        "give SourceLibrary",
    ),
    "a dictionary": (
        lambda: agent(MarsDQN, env=Mixed()),
        DomainError,
        "observation_space is a Dict space.*FlattenObservation",
    ),
    "other sources": (
        lambda: agent(MarsDQN, CONTINUOUS.for_target(CONTINUOUS_SPEC)),
        SourceError,
        "are for .* but the target has",
    ),
    "sources that do not fit": (
        lambda: agent(MarsDQN, CONTINUOUS),
        SourceError,
        "source 'left'",
    ),
    "normalised observations": (
        lambda: agent(MarsDQN, env=normalised()),
        PolicymixError,
        "norm_obs=False",
    ),
    "normalised observations, shaped": (
        lambda: VecShapedReward(normalised(), DISCRETE),
        PolicymixError,
        "norm_obs=False",
    ),
    "normalised observations, later": (
        lambda: agent(MapseDQN).set_env(normalised()),
        PolicymixError,
        "norm_obs=False",
    ),
    "several steps": (
        lambda: agent(MarsDQN, n_steps=3),
        PolicymixError,
        "n_steps is 3",
    ),
    "an unknown form": (
        lambda: agent(MarsDQN, form="reward"),
        PolicymixError,
        "'explicit' or 'lookahead'",
    ),
    "an unknown form of reward": (
        lambda: vectors(1, form="explicit"),
        PolicymixError,
        "'lookback' or 'bonus'",
    ),
    "images": (
        lambda: MarsDQN("CnnPolicy", Slope(), DISCRETE),
        PolicymixError,
        r"'CnnPolicy' cannot be advised.*'MlpPolicy'",
    ),
    "a policy without advice": (
        lambda: MarsDQN(DQNPolicy, Slope(), DISCRETE),
        PolicymixError,
        "AdvisedDQNPolicy",
    ),
    "too much reuse": (
        lambda: agent(MapseSAC, reuse=1.1),
        PolicymixError,
        "reuse is 1.1",
    ),
    "continuous actions": (
        lambda: agent(MarsDQN, CONTINUOUS, Slope(continuous=True)),
        AssertionError,
        "only supports .*Discrete.* but Box",
    ),
}
CONTINUOUS_SPEC = agent(MarsSAC).advisor.spec


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_told_before_training(mistake):
    make, kind, says = MISTAKES[mistake]
    with untyped(), pytest.raises(kind, match=says):
        make()


def test_normalised_rewards_are_told_as_they_were(log):
    env = VecNormalize(
        DummyVecEnv([lambda: Slope(horizon=6, begin=-0.9)]), norm_obs=False
    )
    model = agent(MarsDQN, env=env, learning_starts=100)
    model.set_logger(log.logger)
    model.learn(6, log_interval=1)
    assert float(log.rows()[-1]["transfer/raw_return"]) == pytest.approx(-0.6)


# Rewards for any learner.


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


def test_learners_take_the_end_as_evidence_too():
    model = agent(MarsDQN, env=Slope(horizon=4), learning_starts=100)
    model.learn(8)
    rows = model.advisor._rows.at(np.arange(8))
    buffer = model.replay_buffer
    np.testing.assert_array_equal(rows.next_obs, buffer.next_observations[:8, 0])
    np.testing.assert_array_equal(rows.obs, buffer.observations[:8, 0])
    assert buffer.dones[3]
    assert not np.array_equal(rows.next_obs[3], rows.obs[4])


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


def test_advised_networks_are_sb3s_own():
    model = agent(MarsDQN)
    assert isinstance(model.q_net, QNetwork)
    assert parameters_of(model).keys() == parameters_of(agent(DQN)).keys()
