"""Shaped rewards: what they pay, what they take back, and what they leave alone."""

from dataclasses import replace
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium.error import ResetNeeded
from gymnasium.spaces import Dict
from gymnasium.utils.env_checker import check_env
from gymnasium.wrappers import TimeLimit

from policymix.bridges.gymnasium import ShapedReward
from policymix.bridges.shaping import action_values
from policymix.core.errors import DomainError, PolicymixError, SourceError

from support.probes import MIXED, Corridor, Numbered
from support.slope import (
    CONTINUOUS,
    DISCRETE,
    FAST,
    FIXED,
    OWN,
    SOURCES,
    Slope,
    untyped,
)

DISCOUNT = 0.9
CASES = {"discrete": False, "continuous": True}


def wrapped(continuous=False, horizon=12, begin=None, **options) -> Any:
    env = Slope(horizon, continuous, begin)
    given = {"sources": SOURCES[continuous], "settings": FAST, "discount": DISCOUNT}
    return ShapedReward(env, **{**given, "scale": 1.5, **options})


def uphill(env, obs):
    """The best action, wherever the place is."""
    first = obs[0] < 0
    if isinstance(env.action_space, gymnasium.spaces.Discrete):
        return int(first)
    return np.array([4.0 if first else -2.0], np.float32)


def follow(env, policy, seed=0, steps=100):
    """One episode: its rewards, infos, whether it terminated, and Φ at each step."""
    obs, _ = env.reset(seed=seed)
    env.action_space.seed(seed)
    rewards, infos, phis, terminated = [], [], [], False
    for _ in range(steps):
        action = policy(env, obs)
        phis.append(phi_of(env.advisor, obs, action))
        obs, reward, terminated, truncated, info = env.step(action)
        rewards.append(reward)
        infos.append(info)
        if terminated or truncated:
            break
    return np.array(rewards), infos, terminated, phis


def anything(env, obs):
    del obs
    return env.action_space.sample()


def phi_of(advisor, obs, action):
    """Φ(s, a) = Σᵢ aᵢ(s) P(a = πᵢ(s)), with a kernel where the action is a force."""
    weights, advice = (part[0] for part in advisor.advice(obs[None]))
    if np.ndim(action) == 0:
        return float(weights @ advice[:, action])
    gaps = (advice - np.asarray(action, float)) / 3.0
    return float(weights @ np.exp(-np.sum(gaps**2, axis=1)))


def discounted(rewards):
    return float(np.sum(DISCOUNT ** np.arange(len(rewards)) * np.array(rewards)))


def falling(steps):
    return 2.0 * 0.8**steps


@pytest.mark.parametrize("scale", [1.5, falling], ids=["constant", "falling"])
@pytest.mark.parametrize("continuous", CASES.values(), ids=CASES)
def test_lookback_leaves_the_return_of_a_finished_episode_alone(continuous, scale):
    env = wrapped(continuous, begin=-0.75, scale=scale)
    for seed in range(2):
        rewards, infos, terminated, _ = follow(env, uphill, seed)
        raw = [info["raw_reward"] for info in infos]
        assert terminated
        assert np.max(np.abs(rewards - raw)) > 0.1
        assert discounted(rewards) == pytest.approx(discounted(raw), abs=1e-6)


@pytest.mark.parametrize("scale", [1.5, falling], ids=["constant", "falling"])
@pytest.mark.parametrize("continuous", CASES.values(), ids=CASES)
def test_lookback_leaves_one_last_potential_at_a_time_out(continuous, scale):
    env = wrapped(continuous, horizon=5, begin=-0.75, scale=scale)
    rewards, infos, terminated, phis = follow(env, anything)
    last = len(rewards) - 1
    assert not terminated
    assert last == 4
    c = falling(last) if scale is falling else scale
    surplus = c * DISCOUNT**last * phis[-1]
    raw = discounted([info["raw_reward"] for info in infos])
    assert surplus > 1e-3
    assert discounted(rewards) - raw == pytest.approx(surplus, abs=1e-5)


@pytest.mark.parametrize("continuous", CASES.values(), ids=CASES)
def test_a_bonus_is_the_potential_itself(continuous):
    env = wrapped(continuous, form="bonus")
    rewards, infos, _, phis = follow(env, anything)
    raw = np.array([info["raw_reward"] for info in infos])
    np.testing.assert_allclose(rewards - raw, 1.5 * np.array(phis), atol=1e-5)


@pytest.mark.parametrize("form", ["lookback", "bonus"])
def test_without_scale_nothing_changes(form):
    env, plain = wrapped(scale=0.0, form=form), Slope()
    for kind in (env, plain):
        kind.action_space.seed(5)
    ended, seeds = True, iter(range(100))
    for _ in range(30):
        if ended:
            seed = next(seeds)
            one, other = (kind.reset(seed=seed)[0] for kind in (env, plain))
            np.testing.assert_array_equal(one, other)
        action = plain.action_space.sample()
        shaped, raw = env.step(action), plain.step(action)
        np.testing.assert_array_equal(shaped[0], raw[0])
        assert shaped[1:4] == raw[1:4]
        assert shaped[4]["shaping"] == 0.0
        ended = raw[2] or raw[3]


def test_the_info_tells_both_returns():
    env = wrapped(settings=OWN)
    for seed in range(3):
        rewards, infos, _, _ = follow(env, anything, seed)
        raw = [info["raw_reward"] for info in infos]
        paid = [info["shaping"] for info in infos]
        np.testing.assert_allclose(rewards, np.add(raw, paid), atol=1e-12)
        assert not any("transfer" in info for info in infos[:-1])
        told = infos[-1]["transfer"]
        assert told["transfer/raw_return"] == pytest.approx(sum(raw))
        assert told["transfer/shaped_return"] == pytest.approx(sum(rewards))
        assert told["transfer/source_weight/own"] > 0.0


def test_a_reset_in_the_middle_forgets_the_episode():
    """Nothing is taken back that was paid in another one."""
    env, other = wrapped(settings=FIXED), wrapped(settings=FIXED)
    follow(env, anything, seed=3, steps=4)
    broken, infos, _, _ = follow(env, anything, seed=8)
    whole, _, _, _ = follow(other, anything, seed=8)
    np.testing.assert_allclose(broken, whole, atol=1e-12)
    told = infos[-1]["transfer"]["transfer/shaped_return"]
    assert told == pytest.approx(np.sum(broken))


def test_the_last_observation_of_an_episode_is_evidence():
    env = wrapped(begin=-0.75)
    _, infos, terminated, _ = follow(env, uphill)
    assert terminated
    rows = env.advisor._rows.at(np.arange(len(infos)))
    assert float(rows.next_obs[-1, 0]) >= 0.9
    np.testing.assert_array_equal(rows.obs[1:], rows.next_obs[:-1])


class Reusing(Slope):
    """Hands out one and the same array, again and again."""

    def observe(self):
        if not hasattr(self, "buffer"):
            self.buffer = np.zeros(2, np.float32)
        self.buffer[:] = super().observe()
        return self.buffer


def test_an_environment_may_reuse_its_arrays():
    options = {"settings": FIXED, "discount": DISCOUNT}
    envs = [ShapedReward(kind(), DISCRETE, **options) for kind in (Slope, Reusing)]
    one, other = (follow(env, anything, seed=1) for env in envs)
    np.testing.assert_allclose(one[0], other[0], atol=1e-12)
    first, second = (env.advisor._rows.at(np.arange(5)).obs for env in envs)
    np.testing.assert_array_equal(first, second)


def test_a_precision_of_ones_own():
    """A sharp kernel pays for exactly following a source, and for nothing else."""
    env = wrapped(True, precision=1e4, form="bonus", scale=1.0)
    obs, _ = env.reset(seed=0)
    weights, advice = env.advisor.advice(obs[None])
    share = env.step(advice[0, 1])[4]["shaping"]
    assert share == pytest.approx(weights[0, 1], abs=1e-5)
    assert env.step(np.array([0.7], np.float32))[4]["shaping"] == pytest.approx(0.0)


def test_numbered_states():
    probe = Corridor(length=8, cost=-0.1)
    table = Numbered(probe)
    env = ShapedReward(TimeLimit(table, 20), MIXED.sources, settings=FAST)
    rewards, infos, terminated, _ = follow_numbers(env)
    raw = [info["raw_reward"] for info in infos]
    assert terminated
    powers = 0.99 ** np.arange(len(raw))
    assert np.sum(powers * rewards) == pytest.approx(np.sum(powers * raw), abs=1e-6)


def follow_numbers(env):
    env.reset(seed=0)
    rewards, infos, terminated = [], [], False
    while not terminated:
        _, reward, terminated, _, info = env.step(1)
        rewards.append(reward)
        infos.append(info)
    return np.array(rewards), infos, terminated, None


@pytest.mark.filterwarnings("ignore:.*is different from the unwrapped version")
@pytest.mark.filterwarnings("ignore:.*we recommend using a symmetric and normalized")
@pytest.mark.parametrize("continuous", CASES.values(), ids=CASES)
def test_gymnasium_finds_nothing_wrong(continuous):
    make: Any = Slope
    spec = EnvSpec("Slope-v0", make, kwargs={"continuous": continuous})
    target = gymnasium.make(spec, disable_env_checker=True)
    env = ShapedReward(target, SOURCES[continuous], settings=FAST)
    assert env.spec is not None
    assert env.spec.nondeterministic
    assert not spec.nondeterministic
    # Sources are not in a specification, so nothing can be made from it again.
    check_env(env, skip_render_check=True, skip_close_check=True)


def test_wrapping_draws_no_random_numbers_of_the_environment():
    plain, env = Slope(), Slope()
    for kind in (plain, env):
        kind.reset(seed=11)
    shaped = ShapedReward(env, DISCRETE, settings=FAST)
    np.testing.assert_array_equal(plain.reset()[0], shaped.reset()[0])


def test_copies_that_nobody_seeded_differ():
    starts = [wrapped().reset()[0] for _ in range(2)]
    assert not np.array_equal(*starts)


def test_the_first_step_needs_a_reset():
    with pytest.raises(ResetNeeded, match="call reset"):
        wrapped().step(0)


class Mixed(Slope):
    """Observations that are no vectors."""

    def __init__(self):
        super().__init__()
        self.observation_space = Dict({"place": self.observation_space})


class Free(Slope):
    """Forces without bounds."""

    def __init__(self):
        super().__init__(continuous=True)
        self.action_space = gymnasium.spaces.Box(-np.inf, np.inf, (1,), np.float32)


@pytest.mark.parametrize(
    ("make", "kind", "says"),
    [
        (lambda: wrapped(form="lookahead"), PolicymixError, "'lookback' or 'bonus'"),
        (lambda: wrapped(discount=0.0), PolicymixError, "discount is 0.0"),
        (lambda: wrapped(discount=1.1), PolicymixError, "discount is 1.1"),
        (lambda: ShapedReward(Mixed(), DISCRETE), DomainError, "FlattenObservation"),
        (
            lambda: ShapedReward(Free(), CONTINUOUS, settings=FAST),
            PolicymixError,
            "RescaleAction",
        ),
        (
            lambda: wrapped(sources=list(DISCRETE.sources)),
            SourceError,
            "a list: give SourceLibrary",
        ),
    ],
)
def test_mistakes_are_told_before_the_first_step(make, kind, says):
    with untyped(), pytest.raises(kind, match=says):
        make()


def test_values_of_many_pairs_are_those_of_each():
    advisor = wrapped(settings=replace(OWN, capacity=8)).advisor
    rng = np.random.default_rng(0)
    obs = rng.uniform(-1, 1, (6, 2)).astype(np.float32)
    actions = rng.integers(2, size=(6, 1))
    found = action_values(advisor, obs, actions, None)
    expected = [phi_of(advisor, *pair) for pair in zip(obs, actions[:, 0], strict=True)]
    np.testing.assert_allclose(found, expected, rtol=1e-5)
