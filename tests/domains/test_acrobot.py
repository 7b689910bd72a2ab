"""The double pendulum against Gymnasium and against MULTIPOLAR's instances."""

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.envs.classic_control import AcrobotEnv

from policymix.core.spaces import spec_of_spaces
from policymix.core.types import Box
from policymix.domains.acrobot.task import (
    MACHINES,
    NUM_SOURCES,
    RANGES,
    Acrobot,
    acrobot_family,
    chosen_sources,
    drawn_physics,
    machine,
    name_of_machine,
)
from policymix.environments.targets import limit_of
from policymix.training.task import load_task, prepare


class DrawnEnv(AcrobotEnv):
    """Gymnasium's with the physics of a machine."""

    def __init__(self, place):
        super().__init__()
        length1, length2, mass1, mass2, share1, share2, inertia = drawn_physics()[place]
        self.LINK_LENGTH_1, self.LINK_LENGTH_2 = length1, length2
        self.LINK_MASS_1, self.LINK_MASS_2 = mass1, mass2
        self.LINK_COM_POS_1, self.LINK_COM_POS_2 = share1 * length1, share2 * length2
        self.LINK_MOI = inertia


@pytest.mark.parametrize("place", [None, 0, 9])
def test_equals_gymnasium_state_for_state(place):
    """From random states of any speed, by any torque; in double precision as there."""
    env = AcrobotEnv() if place is None else DrawnEnv(place)
    rng, rows = np.random.default_rng(0), []
    fastest = [env.MAX_VEL_1, env.MAX_VEL_2]
    for action in rng.integers(3, size=2_000):
        env.state = rng.uniform(-1, 1, 4) * [np.pi, np.pi, *fastest]
        angle1, angle2, *speeds = env.state
        turned = [f(a) for a in (angle1, angle2) for f in (np.cos, np.sin)]
        _, reward, terminated, _, _ = env.step(int(action))
        after = env.state
        moved = [f(a) for a in after[:2] for f in (np.cos, np.sin)]
        rows.append(
            ([*turned, *speeds], action, [*moved, *after[2:]], reward, terminated)
        )
    obs, actions, nexts, rewards, ends = map(np.array, zip(*rows, strict=True))
    with jax.enable_x64(True):
        ours = Acrobot() if place is None else machine(place)
        keys = jax.random.split(jax.random.key(0), len(rows))
        steps = jax.vmap(ours.step)(keys, jnp.asarray(obs), jnp.asarray(actions))
        np.testing.assert_allclose(steps.next_obs, nexts, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(steps.reward, rewards)
    np.testing.assert_array_equal(steps.terminated, ends)
    assert 100 < ends.sum() < 1_900


def test_spaces_starts_and_limit_are_gymnasiums(keys):
    ours, env = Acrobot(), gymnasium.make("Acrobot-v1")
    theirs = spec_of_spaces(env, "Gymnasium's")
    assert isinstance(ours.spec.observation, Box)
    assert isinstance(theirs.observation, Box)
    np.testing.assert_array_equal(
        np.array(ours.spec.observation.high, np.float32), theirs.observation.high
    )
    assert (ours.spec.action, ours.horizon) == (theirs.action, limit_of(env))
    starts = np.asarray(jax.vmap(ours.initial)(jax.random.split(keys(), 2_000)))
    angles = np.arctan2(starts[:, [1, 3]], starts[:, [0, 2]])
    drawn = np.hstack([angles, starts[:, 4:]])
    np.testing.assert_allclose(drawn.min(0), -0.1, atol=1e-3)
    np.testing.assert_allclose(drawn.max(0), 0.1, atol=1e-3)


def test_the_machines_are_those_of_the_protocol():
    """The first is named in the repository; it was drawn as all of them."""
    physics = drawn_physics()
    np.testing.assert_allclose(physics[0], [0.84, 1.01, 1.1, 1.04, 0.43, 0.63, 0.79])
    assert len(np.unique(physics, axis=0)) == len(physics) == MACHINES
    for column, (low, high) in zip(physics.T, RANGES, strict=False):
        assert np.all((column >= low) & (column <= high))
    for place, chosen in enumerate(chosen_sources()):
        assert len(set(chosen)) == NUM_SOURCES
        assert place not in chosen
    assert float(machine(0).lower_centre) == pytest.approx(0.63 * 1.01)


def test_a_family_shares_spaces_and_goals():
    for place in (None, 3):
        family = acrobot_family(place)
        for source in family.sources.values():
            assert (source.spec, source.horizon) == (family.target.spec, 500)


def test_an_instance_has_four_of_the_shipped_sources_with_exact_dynamics():
    task, obs = (
        load_task("acrobot-3"),
        acrobot_family(3).target.initial(jax.random.key(0)),
    )
    chosen = chosen_sources()[3]
    assert task.sources.names == tuple(name_of_machine(place) for place in chosen)
    for source, place in zip(task.sources.sources, chosen, strict=True):
        np.testing.assert_array_equal(
            source.dynamics(obs, jnp.array(2)),
            machine(place).transition(obs, jnp.array(2)),
        )
    assert prepare(task).domain.name == "acrobot-3"
