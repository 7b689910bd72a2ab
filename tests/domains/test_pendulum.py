"""Transfer-Pendulum against Gymnasium, and its wind."""

import jax
import jax.numpy as jnp
import numpy as np
from gymnasium.envs.classic_control import PendulumEnv

from policymix.core.spaces import spec_of_spaces
from policymix.domains.pendulum.experiment import PENDULUM
from policymix.domains.pendulum.task import Pendulum, observed, pendulum_family

STILL = Pendulum()


def test_equals_gymnasium_state_for_state_in_still_air():
    """From random states of any speed, by any torque, too large ones included."""
    env, rng, rows = PendulumEnv(), np.random.default_rng(0), []
    for torque in rng.uniform(-3, 3, (500, 1)):
        env.state = rng.uniform(-1, 1, 2) * [np.pi, env.max_speed]
        angle, speed = env.state
        before = [np.cos(angle), np.sin(angle), speed]
        _, reward, *_ = env.step(torque)
        angle, speed = env.state
        rows.append((before, torque, [np.cos(angle), np.sin(angle), speed], reward))
    obs, torques, nexts, rewards = map(np.array, zip(*rows, strict=True))
    with jax.enable_x64(True):
        keys = jax.random.split(jax.random.key(0), len(rows))
        steps = jax.vmap(Pendulum().step)(keys, jnp.asarray(obs), jnp.asarray(torques))
        np.testing.assert_allclose(steps.next_obs, nexts, rtol=0, atol=1e-9)
        np.testing.assert_allclose(steps.reward, rewards, rtol=0, atol=1e-9)
    assert not np.any(steps.terminated)


def test_has_the_spaces_and_the_starts_of_gymnasium():
    assert STILL.spec == spec_of_spaces(PendulumEnv(), "pendulum")
    assert STILL.horizon == 200
    starts = jax.vmap(STILL.initial)(jax.random.split(jax.random.key(0), 4_000))
    angles, speeds = np.arctan2(starts[:, 1], starts[:, 0]), np.asarray(starts[:, 2])
    for drawn, width in ((angles, np.pi), (speeds, 1.0)):
        assert np.abs(drawn).max() <= width
        np.testing.assert_allclose(drawn.std(), width / np.sqrt(3), rtol=0.03)


def test_on_each_side_the_wind_is_that_of_one_source(keys):
    """So the target's next state is the right source's, to the last bit."""
    family = pendulum_family()
    for angle, name in ((0.7, "east"), (-0.7, "west"), (3.0, "east")):
        obs = observed(jnp.array(angle), jnp.array(0.3))
        torque = jax.random.uniform(keys(), (1,), minval=-2.0, maxval=2.0)
        other = {"east": "west", "west": "east"}[name]
        target = family.target.transition(obs, torque)
        np.testing.assert_array_equal(
            target, family.sources[name].transition(obs, torque)
        )
        assert np.any(target != family.sources[other].transition(obs, torque))


def test_reports_say_what_the_wind_is_and_what_sources_know():
    """Torques are towards larger angles, which are on the left."""
    family = pendulum_family()
    assert "away from the top on both sides" in PENDULUM.study.about
    assert family.target.left > 0 > family.target.right
    assert "east to the left and west to the right" in PENDULUM.study.about
    east, west = family.sources["east"], family.sources["west"]
    assert east.left == east.right == family.target.left
    assert west.left == west.right == family.target.right
