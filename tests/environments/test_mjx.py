"""A MuJoCo model as a domain: MuJoCo's own steps, and a place in the compiled loop."""

import sys

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import policymix as pm
from policymix.core.errors import DomainError, MissingExtraError
from policymix.environments.mjx import MJXDomain
from policymix.sources.experts import stack_alike

mujoco = pytest.importorskip("mujoco")
mjx = pytest.importorskip("mujoco.mjx")

CART = """
<mujoco>
  <option timestep="0.02"><flag constraint="disable"/></option>
  <worldbody>
    <body>
      <joint name="place" type="slide" axis="1 0 0"/>
      <geom size="0.1" mass="1"/>
      <body>
        <joint name="angle" type="hinge" axis="0 1 0"/>
        <geom type="capsule" fromto="0 0 0 0 0 0.6" size="0.05" mass="0.1"/>
      </body>
    </body>
  </worldbody>
  <actuator><motor name="motor" joint="place" gear="10" {limits}/></actuator>
</mujoco>
"""
LIMITS = 'ctrlrange="-2 3"'
FRAMES = 3


def cart(gravity=9.81, limits=LIMITS):
    model = mujoco.MjModel.from_xml_string(CART.format(limits=limits))
    model.opt.gravity[2] = -gravity
    return model


def upright(obs, action, next_obs):
    return jnp.cos(next_obs[1])


def domain(gravity=9.81, **options):
    return MJXDomain(cart(gravity), upright, **options)


def test_it_moves_as_mujoco_does():
    states = np.array([[0.1, 0.2, -0.3, 0.4], [0.0, 3.0, 1.0, -2.0]], np.float32)
    controls = np.array([[1.5], [-0.5]], np.float32)
    with jax.numpy_rank_promotion("allow"):
        light = domain(3.0, frames=FRAMES)
        found = jax.vmap(light.transition)(jnp.asarray(states), jnp.asarray(controls))
    model = cart(3.0)
    for state, control, after in zip(states, controls, found, strict=True):
        data = mujoco.MjData(model)
        data.qpos, data.qvel, data.ctrl = state[:2], state[2:], control
        mujoco.mj_step(model, data, FRAMES)
        np.testing.assert_allclose(after, [*data.qpos, *data.qvel], rtol=1e-4)


def test_episodes_begin_near_the_start_and_controls_have_the_models_range(keys):
    hanging = domain(start=[0.0, 3.0, 0.0, 0.0], shaken=0.5)
    starts = jax.vmap(hanging.initial)(jax.random.split(keys(), 200))
    away = np.asarray(starts) - [0.0, 3.0, 0.0, 0.0]
    assert 0.45 < np.abs(away).max() < 0.5
    assert hanging.spec.action == pm.Box((-2.0,), (3.0,))
    assert not hanging.terminal(starts[0])


def test_models_that_differ_in_numbers_are_asked_together():
    (both,) = stack_alike([domain(3.0).transition, domain(9.81).transition])
    assert both.places == (0, 1)


def test_the_compiled_loop_has_one_program_for_models_of_a_build():
    """It tells programs apart by all that is no array, which must be hashable."""
    light, heavy = (eqx.partition(domain(g), eqx.is_array)[1] for g in (3.0, 20.0))
    longer = eqx.partition(domain(3.0, frames=2), eqx.is_array)[1]
    assert {light: "known"}[heavy] == "known"
    assert longer != light


def test_a_transfer_task_takes_it_and_plays_with_it(monkeypatch):
    """MJX's programs take long to compile, so here bodies fall without it."""

    def fall(model, data):
        speed = data.qvel + 0.02 * model.opt.gravity[2] + 0.1 * data.ctrl
        return data.replace(qpos=data.qpos + 0.02 * speed, qvel=speed)

    monkeypatch.setattr(mjx, "step", fall)
    falling = domain(4.0, frames=1, horizon=10)  # other frames than those of true steps
    idle = pm.SourceTask("idle", lambda obs: jnp.zeros(1), falling.transition)
    sources = pm.SourceLibrary([idle], encoder=pm.encoders.Identity())
    played = pm.explore(pm.TransferTask(falling, sources), 160)
    gained = played.next_obs[:, 2:] - played.obs[:, 2:]
    np.testing.assert_allclose(gained - 0.1 * played.action, -0.08, atol=1e-5)


@pytest.mark.parametrize(
    ("options", "limits", "complaint"),
    [
        ({}, "", r"'motor' has no limits.*ctrlrange"),
        ({"start": [0.0]}, LIMITS, r"2 positions and 2 velocities.*4 numbers"),
    ],
)
def test_what_is_wrong_with_a_model_is_said(options, limits, complaint):
    with pytest.raises(DomainError, match=complaint):
        MJXDomain(cart(limits=limits), upright, **options)


def test_an_actuator_with_a_state_of_its_own_is_refused():
    lazy = CART.replace("<motor", '<general dyntype="integrator"')
    model = mujoco.MjModel.from_xml_string(lazy.format(limits=LIMITS))
    with pytest.raises(DomainError, match='dyntype="none"'):
        MJXDomain(model, upright)


def test_what_mjx_does_not_know_is_refused():
    model = cart()
    model.opt.solver = mujoco.mjtSolver.mjSOL_PGS
    with pytest.raises(DomainError, match=r"MJX does not take the model.*Gymnasium"):
        MJXDomain(model, upright)


def test_without_mjx_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "mujoco.mjx", None)
    with pytest.raises(MissingExtraError, match=r"policymix\[mjx\]"):
        domain()
