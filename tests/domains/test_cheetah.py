"""Transfer-Cheetah: physics by place, simulators that repeat it, sources that run."""

import math
from functools import partial
from typing import Any

import equinox as eqx
import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import policymix as pm
from policymix.bridges.advisor import Advisor
from policymix.core.errors import DomainError, FileFormatError
from policymix.core.settings import Settings
from policymix.core.spaces import spec_of_spaces
from policymix.training.task import prepare

pytest.importorskip("mujoco")

from policymix.domains.cheetah.advice import USELESS, useless_sources
from policymix.domains.cheetah.experiment import CHEETAH, PLACE, SPEED, states
from policymix.domains.cheetah.sources import (
    cheetah_sources,
    load_policies,
    save_policies,
)
from policymix.domains.cheetah.task import (
    FAMILY,
    LENGTH,
    TrackCheetah,
    make_cheetah,
    set_cheetah,
    stretch_of,
)


def run(env, steps, seed=0):
    """Transitions by random actions."""
    rng = np.random.default_rng(seed)
    obs, _ = env.reset(seed=seed)
    rows = []
    for _ in range(steps):
        action = rng.uniform(-1, 1, 6).astype(np.float32)
        next_obs, _, _, truncated, _ = env.step(action)
        rows.append((obs, action, next_obs))
        obs = env.reset()[0] if truncated else next_obs
    return tuple(np.array(column) for column in zip(*rows, strict=True))


def test_reports_say_what_the_track_is_and_what_sources_know():
    told, first, second = CHEETAH.study.about, *FAMILY.target.track
    numbers = (f"{LENGTH:g} m", f"gravity is {first.gravity:g} on one half")
    assert [*FAMILY.sources] == ["earth", "light"]
    assert [FAMILY.sources[name].track for name in FAMILY.sources] == [
        (first,),
        (second,),
    ]
    for part in (*numbers, f"{second.gravity:g} on the other"):
        assert part in told
        assert part in USELESS.study.about
    assert "earth the first and light the second" in told
    assert "policies are random" in USELESS.study.about


@pytest.fixture(scope="module")
def sources():
    return cheetah_sources()


def place_on(env: TrackCheetah, metres: float):
    obs, _ = env.reset(seed=0)
    angle = 2 * math.pi * metres / LENGTH
    obs[:2] = math.cos(angle), math.sin(angle)
    env.set_state(obs)
    return obs


@pytest.mark.filterwarnings("ignore:.*A Box observation space")
def test_it_is_a_gymnasium_environment():
    env = gymnasium.make("policymix/TransferCheetah-v0", disable_env_checker=True)
    check_env(env.unwrapped, skip_render_check=True)


def test_an_episode_ends_at_its_horizon_only():
    env = make_cheetah()
    env.reset(seed=0)
    ends = [env.step(np.zeros(6, np.float32))[2:4] for _ in range(250)]
    assert ends == [(False, False)] * 249 + [(False, True)]


@pytest.mark.parametrize(("metres", "source"), [(3.0, "earth"), (13.0, "light")])
def test_every_stretch_of_the_target_is_one_of_the_sources(metres, source):
    target, own = make_cheetah(), make_cheetah(source)
    obs = place_on(target, metres)
    set_cheetah(own, obs)
    action = np.full(6, 0.5, np.float32)
    happened = target.step(action)[0]
    np.testing.assert_allclose(own.step(action)[0], happened, atol=1e-4)
    other = make_cheetah("light" if source == "earth" else "earth")
    set_cheetah(other, obs)
    assert np.abs(other.step(action)[0] - happened).max() > 0.01


def test_stretches_are_counted_from_the_start_of_the_track():
    angles = 2 * np.pi * np.array([0.1, 0.4, 0.6, 0.99])
    obs = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    np.testing.assert_array_equal(stretch_of(obs, 2), [0, 0, 1, 1])
    np.testing.assert_array_equal(stretch_of(obs, 4), [0, 1, 2, 3])


def test_an_observation_holds_the_whole_state():
    env, copy = make_cheetah(), make_cheetah()
    copy.reset(seed=1)
    for obs, action, next_obs in zip(*run(env, 100), strict=True):
        set_cheetah(copy, obs)
        np.testing.assert_allclose(copy.step(action)[0], next_obs, atol=1e-3)


@pytest.mark.learning
def test_the_sources_run_at_home_and_the_switch_seldom_stumbles_on_the_target(sources):
    """By lower quartiles of 30 starts: rounding alone moves the mean by 40."""
    library = sources.for_target(spec_of_spaces(make_cheetah(), "cheetah"))
    act = eqx.filter_jit(lambda policy, rows: jax.vmap(policy)(rows))
    earth, light = (partial(act, source.policy) for source in library.sources)

    def switch(rows):
        return np.where(stretch_of(rows, 2)[:, None] == 0, earth(rows), light(rows))

    def scores(choose, envs):
        """All side by side: every episode has as many steps."""
        rows = np.stack([env.reset(seed=seed)[0] for seed, env in enumerate(envs)])
        totals, ended = np.zeros(len(envs)), [False]
        while not any(ended):
            pairs = zip(envs, np.asarray(choose(rows)), strict=True)
            steps = [env.step(action) for env, action in pairs]
            rows = np.stack([obs for obs, *_ in steps])
            totals += [reward for _, reward, *_ in steps]
            ended = [truncated for *_, truncated, _ in steps]
        assert all(ended)
        return totals

    def homes(name):
        return [make_cheetah(name) for _ in range(4)]

    tracks = [make_cheetah() for _ in range(30)]
    assert scores(earth, homes("earth")).mean() > 800
    assert scores(light, homes("light")).mean() > 500
    choices = (earth, light, switch)
    low = [np.quantile(scores(choose, tracks), 0.25) for choose in choices]
    assert low[2] > max(low[:2])


@pytest.mark.learning
def test_the_mixture_finds_the_right_simulator_by_place(sources):
    spec = spec_of_spaces(make_cheetah(), "cheetah")
    data = run(make_cheetah(), 600)
    advisor = Advisor(sources, spec, Settings(own_model=True), 0, data[0][:8])
    advisor.observe(*data)
    advisor.learn(400)
    fresh = run(make_cheetah(), 400, seed=1)[0]
    trusted = np.argmax(advisor.weights(fresh), axis=1)
    assert np.mean(trusted == stretch_of(fresh, 2)) > 0.9


def test_policies_are_kept_in_files(sources, tmp_path):
    policies: dict[str, Any] = {s.name: s.policy for s in sources.sources}
    save_policies(tmp_path / "policies", policies, {"seed": 1})
    again: dict[str, Any] = load_policies(tmp_path / "policies")
    obs = jnp.linspace(-1, 1, 19)
    for name, policy in policies.items():
        np.testing.assert_array_equal(again[name](obs), policy(obs))
    (tmp_path / "policies" / "arrays.safetensors").write_bytes(b"")
    with pytest.raises(FileFormatError, match="arrays"):
        load_policies(tmp_path / "policies")


def test_an_unknown_source_is_named():
    with pytest.raises(DomainError, match="'earth', 'light'"):
        make_cheetah("erth")
    assert set(FAMILY.sources) == {"earth", "light"}
    assert isinstance(cheetah_sources(), pm.SourceLibrary)


def test_the_right_source_is_the_one_whose_stretch_it_is():
    task = pm.load_task("cheetah")
    assert task.domain is CHEETAH
    find: Any = task.right_source
    obs = run(make_cheetah(), 300)[0]
    order = np.array([task.sources.names.index(name) for name in ("earth", "light")])
    np.testing.assert_array_equal(
        [find(jnp.asarray(row)) for row in obs[::10]], order[stretch_of(obs, 2)][::10]
    )


def test_the_map_has_the_track_across_and_the_speed_up():
    shown = states()
    assert shown.shape[:2] == (len(SPEED.values), len(PLACE.values))
    assert shown.shape[3:] == make_cheetah().observation_space.shape
    np.testing.assert_array_equal(stretch_of(shown[0, 1:32], 2), 0)
    np.testing.assert_array_equal(stretch_of(shown[-1, 33:64], 2), 1)
    env = make_cheetah()
    env.reset(seed=0)
    set_cheetah(env, shown[7, 20, 3])
    body: Any = env.unwrapped
    np.testing.assert_allclose(body.data.qpos[0], PLACE.values[20], rtol=1e-5)
    np.testing.assert_allclose(body.data.qvel[0], SPEED.values[7], atol=1e-6)


def test_useless_sources_are_never_right_and_seldom_agree():
    task = prepare(pm.load_task("cheetah-useless"))
    assert task.right_source is None
    obs, actions, happened = map(jnp.asarray, run(make_cheetah(), 50))
    first, second = useless_sources().sources
    for source in (first, second):
        predicted = jnp.stack(
            [source.dynamics(*step) for step in zip(obs, actions, strict=True)]
        )
        assert np.abs(predicted - happened).max(axis=1).min() > 0.5
    gap = jnp.stack([first.policy(row) - second.policy(row) for row in obs])
    assert np.abs(gap).mean() > 0.01
