"""The cart against the paper's numbers and against Gymnasium, state for state."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.envs.classic_control import CartPoleEnv

from policymix.domains.cartpole.task import (
    CartPole,
    cartpole_family,
    constant_force,
    right_source,
)

FAMILY = cartpole_family()
VARIANTS = {"target": FAMILY.target, **FAMILY.sources}
GYMNASIUM = dataclasses.replace(constant_force(10.0), fractions=(-1.0, 1.0))


def gymnasium_steps(count):
    """Random steps of CartPole-v1: states (double precision), actions, ends."""
    env = CartPoleEnv()
    rng = np.random.default_rng(0)
    rows = []
    env.reset(seed=0)
    for action in rng.integers(2, size=count):
        state = env.state
        _, _, terminated, _, _ = env.step(int(action))
        rows.append((state, action, env.state, terminated))
        if terminated:
            env.reset()
    return [np.array(column) for column in zip(*rows, strict=True)]


def test_equals_gymnasium_step_for_step():
    """In single precision, from Gymnasium's own states."""
    states, actions, nexts, terminateds = gymnasium_steps(10_000)
    keys = jax.random.split(jax.random.key(0), 10_000)
    obs = jnp.asarray(states, jnp.float32)
    steps = jax.vmap(GYMNASIUM.step)(keys, obs, jnp.asarray(actions))
    np.testing.assert_allclose(steps.next_obs, nexts, rtol=0, atol=1e-6)
    np.testing.assert_array_equal(steps.terminated, terminateds)
    np.testing.assert_array_equal(steps.reward, 1.0 - terminateds)
    assert terminateds.sum() > 300


def test_equals_gymnasium_along_whole_episodes():
    """Our states follow from our own; only the starts are Gymnasium's.

    Double precision, as there: falling is unstable, so that in single precision a
    rounding error grows to 1.2e-5 within the longest of these episodes.
    """
    states, actions, nexts, terminateds = gymnasium_steps(10_000)
    fresh = np.concatenate([[True], terminateds[:-1]])

    def body(obs, row):
        state, action, is_fresh = row
        next_obs = GYMNASIUM.transition(jnp.where(is_fresh, state, obs), action)
        return next_obs, next_obs

    with jax.enable_x64(True):
        rows = jnp.asarray(states), jnp.asarray(actions), jnp.asarray(fresh)
        _, ours = jax.lax.scan(body, rows[0][0], rows)
        np.testing.assert_allclose(ours, nexts, rtol=0, atol=1e-10)


def test_force_law_is_the_papers():
    x = np.linspace(-2.4, 2.4, 1001)
    cos = np.cos(5 * x)
    law = 35 * np.sqrt((1 + 36) / (1 + 36 * cos**2)) * cos + 40
    ours = jax.vmap(FAMILY.target.force)(jnp.asarray(x, jnp.float32))
    # The square wave's flanks are steep: dF/dx reaches 1,065 per metre.
    np.testing.assert_allclose(ours, law, atol=1e-3)
    shares = np.mean(law > 70), np.mean(law < 10)
    np.testing.assert_allclose(shares, (0.39, 0.43), atol=0.01)


@pytest.mark.parametrize(("name", "force"), [("rough", 5), ("slippery", 75)])
def test_a_source_equals_the_target_where_its_surface_lies(name, force):
    """The wave's crests lie at multiples of 2π/5, its troughs between them."""
    x = 0.0 if force == 75 else np.pi / 5
    obs = jnp.array([x, 0.3, -0.05, 0.2])
    for action in range(4):
        ours = FAMILY.target.transition(obs, jnp.asarray(action))
        theirs = FAMILY.sources[name].transition(obs, jnp.asarray(action))
        np.testing.assert_allclose(ours, theirs, atol=1e-5)


def test_force_is_read_before_the_step():
    """A cart that rushes from a crest to a trough is still pushed as on the crest."""
    crest = jnp.array([0.0, 10 * np.pi, 0.0, 0.0])
    action = jnp.asarray(3)
    np.testing.assert_allclose(
        FAMILY.target.transition(crest, action),
        FAMILY.sources["slippery"].transition(crest, action),
        atol=1e-5,
    )


def test_actions_are_ordered_from_full_left_to_full_right():
    at_rest = jnp.zeros(4)
    nexts = [FAMILY.target.transition(at_rest, jnp.asarray(a)) for a in range(4)]
    velocity = np.array([n[1] for n in nexts])
    np.testing.assert_allclose(velocity / velocity[3], [-1, -0.5, 0.5, 1], rtol=1e-6)
    assert velocity[3] > 0


def test_a_longer_pole_changes_every_derived_constant():
    """Anti-pattern: gymnax keeps the old moment when the length is replaced."""
    long = FAMILY.sources["long-pole"]
    assert long.pole_moment == pytest.approx(0.1)
    assert long.half_length == 2 * FAMILY.target.half_length
    assert dataclasses.replace(long, mass_pole=0.3).total_mass == pytest.approx(1.3)


def test_goals_and_spaces_are_shared():
    for variant in VARIANTS.values():
        assert variant.spec == FAMILY.target.spec
        assert variant.horizon == 500
        assert variant.start_spread == FAMILY.target.start_spread


@pytest.mark.parametrize(
    ("obs", "failed"),
    [
        ((2.39, 0, 0, 0), False),
        ((-2.41, 0, 0, 0), True),
        ((0, 9, 0.209, 9), False),
        ((0, 0, -0.21, 0), True),
    ],
)
def test_failure_limits(obs, failed):
    obs = jnp.array(obs, jnp.float32)
    action = jnp.asarray(0)
    assert bool(FAMILY.target.terminal(obs)) == failed
    assert float(FAMILY.target.reward(obs, action, obs)) == (0.0 if failed else 1.0)


def test_starts_fill_their_ranges_and_differ(keys):
    starts = jax.vmap(FAMILY.target.initial)(jax.random.split(keys(), 4096))
    spread = np.array([1.5, 0.05, 0.05, 0.05])
    assert np.all(np.abs(starts) <= spread)
    np.testing.assert_allclose(np.max(starts, axis=0), spread, rtol=0.01)
    np.testing.assert_allclose(np.std(starts, axis=0), spread / np.sqrt(3), rtol=0.05)
    assert len(np.unique(starts[:, 0])) > 4000


def top_speed(limit, spread, acceleration, dt):
    """No state reached within ±limit, nor the next one, is faster than this.

    Since speed was last zero, v_n² − v_b² = Σ (v_t+1 − v_t)(v_t+1 + v_t), at most
    a(x_n − x_b) + a(x_n+1 − x_b+1) ≤ a(4 limit + 3 dt V), and v_b ≤ max(spread, a dt).
    """
    first = max(spread, acceleration * dt)
    linear, constant = 3 * acceleration * dt, first**2 + 4 * acceleration * limit
    return (linear + np.sqrt(linear**2 + 4 * constant)) / 2


@pytest.mark.parametrize("name", VARIANTS)
def test_no_reachable_state_leaves_the_observation_box(name):
    cart: CartPole = VARIANTS[name]
    push, dt = cart.force_mean + cart.force_swing, cart.time_step
    sine, pushed, angular, spin = np.sin(cart.angle_limit), 0.0, 0.0, 0.0
    inertia = cart.half_length * (4 / 3 - cart.mass_pole / cart.total_mass)
    for _ in range(100):  # the pole's pull on the cart grows with its spin
        pushed = (push + cart.pole_moment * spin**2 * sine) / cart.total_mass
        angular = (cart.gravity * sine + pushed) / inertia
        spin = top_speed(cart.angle_limit, cart.start_spread[3], angular, dt)
    linear = pushed + cart.pole_moment * angular / cart.total_mass
    speed = top_speed(cart.position_limit, cart.start_spread[1], linear, dt)
    reach = cart.position_limit + dt * speed, cart.angle_limit + dt * spin
    assert np.all(np.array([reach[0], speed, reach[1], spin]) < cart.bounds)


def test_right_source_is_the_surface_under_the_cart():
    """Slippery on the crests, rough in the troughs, the long pole nowhere."""
    x = np.linspace(-2.4, 2.4, 500)
    states = jnp.zeros((500, 4)).at[:, 0].set(x)
    sources = tuple(FAMILY.sources.values())
    chosen = jax.vmap(lambda s: right_source(FAMILY.target, sources, s))(states)
    np.testing.assert_array_equal(chosen, np.where(np.cos(5 * x) > 0, 1, 0))


def test_right_source_predicts_best_on_the_flat_of_a_patch(keys):
    """Off the flanks, its one-step error is the least of the three."""
    sources = tuple(FAMILY.sources.values())
    states = jax.vmap(FAMILY.target.initial)(jax.random.split(keys(), 500))
    push = jax.vmap(FAMILY.target.force)(states[:, 0])
    flat = (push < 8) | (push > 72)

    def errors(obs):
        action = jnp.asarray(3)
        truth = FAMILY.target.transition(obs, action)
        return jnp.stack(
            [jnp.sum((s.transition(obs, action) - truth) ** 2) for s in sources]
        )

    best = np.argmin(jax.vmap(errors)(states), axis=1)
    chosen = jax.vmap(lambda s: right_source(FAMILY.target, sources, s))(states)
    np.testing.assert_array_equal(best[flat], np.asarray(chosen)[flat])
