"""Sources that speak another language say the same as if they spoke the target's."""

from dataclasses import replace
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium import spaces

from policymix.core.encoders import Identity
from policymix.core.errors import SourceError
from policymix.core.kernels import Gaussian, Indicator
from policymix.core.types import Box, Discrete, TaskSpec
from policymix.sources.dynamics import LogDensity, TableDynamics
from policymix.sources.experts import LEAST, SourceTask
from policymix.sources.fingerprint import fingerprint
from policymix.sources.library import SourceLibrary
from policymix.sources.policies import table_policy
from policymix.sources.prepare import prepare_sources
from policymix.training.task import TransferTask, prepare
from policymix.training.train import train

from support.own_probes import (
    BRIEF,
    Line,
    LineDomain,
    homeward_jax,
    stepping_jax,
)
from support.own_probes import unoptimised as unoptimised

pytestmark = pytest.mark.usefixtures("unoptimised")

PLANE = TaskSpec(Box((-1.0,) * 2, (1.0,) * 2), Discrete(3))
ROWS = np.random.default_rng(0).uniform(-1, 1, (16, 2)).astype(np.float32)
SOFT = Gaussian(2.0)


def shares(obs):
    """Probabilities of three actions."""
    return jax.nn.softmax(jnp.array([1.0, 2.0, 4.0]) * obs[0] + obs[1])


def sliding(obs, action):
    return obs + 0.1 * (action - 1.0) * jnp.array([1.0, 2.0])


def ready(*sources, spec=PLANE, encoder=None, rows: Any = ROWS) -> Any:
    return SourceLibrary(sources, encoder=encoder).for_target(spec, jnp.asarray(rows))


def mapped(policy: Any = lambda obs: 0, dynamics: Any = lambda obs, a: obs, **maps):
    return SourceTask("far", policy, dynamics, SOFT, **maps)


def swapped(obs):
    return jnp.stack([10.0 * obs[1], obs[0]])


def unswapped(obs):
    return jnp.stack([obs[1], 0.1 * obs[0]])


TURNED = {  # the same source: components swapped, one in other units, actions turned
    "policy": lambda obs: shares(unswapped(obs))[::-1],
    "dynamics": lambda obs, action: swapped(sliding(unswapped(obs), 2 - action)),
}


def swapped_on_host(obs):
    return [10.0 * float(obs[1]), float(obs[0])]


@pytest.mark.parametrize("observe", [swapped, swapped_on_host])
@pytest.mark.parametrize("act", [[2, 1, 0], lambda action: 2 - action])
def test_the_same_source_in_another_language_gives_the_same_answers(observe, act):
    near = SourceTask("near", shares, sliding, SOFT)
    far = mapped(**TURNED, observe=observe, act=act)
    experts = ready(near, far, encoder=Identity()).experts
    advice = jax.jit(jax.vmap(experts.advise))(jnp.asarray(ROWS))
    np.testing.assert_allclose(advice[:, 0], advice[:, 1], rtol=1e-5)
    model = ready(far).sources[0].dynamics
    for action in range(3):
        there = np.stack([swapped(sliding(row, action)) for row in ROWS])
        found = jax.vmap(model, in_axes=(0, None))(ROWS, jnp.array(action))
        np.testing.assert_allclose(found, there, rtol=1e-4, atol=1e-6)


def test_likelihoods_are_equal_in_like_units():
    """Units are measured in each language, so what they are does not matter."""
    unbounded = TaskSpec(Box((-np.inf,) * 2, (np.inf,) * 2), Discrete(3))
    policy, dynamics = (
        lambda obs: shares(unswapped(obs)),
        (lambda obs, action: swapped(sliding(unswapped(obs), action))),
    )
    near, far = (
        prepare_sources(SourceLibrary([source]), unbounded, jnp.asarray(ROWS))
        for source in (
            SourceTask("near", shares, sliding, SOFT),
            mapped(policy, dynamics, observe=swapped),
        )
    )
    moved = (jnp.asarray(ROWS), jnp.zeros(16, int), jnp.asarray(ROWS[::-1].copy()))
    one, other = (jax.vmap(lib.log_likelihoods)(*moved) for lib in (near, far))
    np.testing.assert_allclose(one, other, rtol=1e-3)
    assert np.ptp(one) > 1.0


@pytest.mark.parametrize("seen", [[0], [1, 0], [1, 1, 0, 0], [-1]])
def test_errors_count_by_the_component_however_many_are_seen(seen):
    """The error is 0.5 in every component: what is not seen counts as what is."""
    near = SourceTask("near", lambda obs: 0, lambda obs, a: obs, SOFT)
    far = mapped(dynamics=lambda obs, a: obs, observe=seen)
    library = ready(near, far, encoder=Identity())
    plain = replace(library.sources[1].dynamics, encoder=Identity())
    step = (jnp.zeros(2), jnp.array(1), jnp.array([0.5, -0.5]))
    expected = library.experts.log_likelihoods(*step)[0]
    found = library.experts.likelihood_of((plain, SOFT), *step)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_actions_that_the_source_does_not_know_change_nothing():
    source = mapped(lambda obs: 1, lambda obs, a: obs + 1.0, act=[0, 2])
    far = ready(source, encoder=Identity()).sources[0]
    obs = jnp.array([0.5, 0.0])
    after = [far.dynamics(obs, jnp.array(action))[0] for action in range(3)]
    assert after == [1.5, 0.5, 1.5]
    np.testing.assert_array_equal(far.policy(obs), [0.0, 0.0, 1.0])


def test_several_actions_may_become_one():
    source = mapped(
        lambda obs: jnp.array([0.5, 0.25, 0.25]),
        lambda obs, a: obs + a,
        act=[2, 0, 2],
        act_inverse=[1, -1, 2],
    )
    far = ready(source, encoder=Identity()).sources[0]
    np.testing.assert_array_equal(far.policy(jnp.zeros(2)), [0.25, 0.0, 0.75])
    after = [far.dynamics(jnp.zeros(2), jnp.array(a))[0] for a in range(3)]
    assert after == [1.0, 0.0, 2.0]


TORQUES = np.array([-2.0, 0.0, 2.0], np.float32)


def nearest(torque):
    return int(np.argmin(np.abs(TORQUES - torque)))


def test_continuous_actions_become_numbered_ones():
    source = mapped(
        lambda obs: 1.9 * jnp.sign(obs[:1]),
        lambda obs, torque: obs + torque,
        act=nearest,
        act_inverse=lambda action: TORQUES[action],
    )
    far = ready(source, encoder=Identity()).sources[0]
    np.testing.assert_array_equal(jax.vmap(far.policy)(ROWS), 1 + np.sign(ROWS[:, 0]))
    assert far.dynamics(jnp.zeros(2), jnp.array(2))[0] == 2.0


def test_numbered_actions_become_continuous_ones():
    spec = TaskSpec(PLANE.observation, Box((-2.0,), (2.0,)))
    source = mapped(
        lambda obs: jnp.where(obs[0] > 0, 2, 0),
        lambda obs, action: obs + action,
        act=TORQUES,
        act_inverse=nearest,
    )
    far = ready(source, spec=spec, encoder=Identity()).sources[0]
    found = jax.vmap(far.policy)(ROWS)
    np.testing.assert_array_equal(found[:, 0], 2.0 * np.sign(ROWS[:, 0]))
    assert far.dynamics(jnp.zeros(2), jnp.array([1.7]))[0] == 2.0


def test_a_coarser_map_of_states_is_compared_state_by_state():
    """Six cells in three rooms; the source's table knows rooms."""
    spec = TaskSpec(Discrete(6), Discrete(2))
    rooms = TableDynamics(jnp.array([[0, 1], [0, 2], [1, 2]]))
    policy = table_policy(jnp.array([1, 1, 0]), 2)
    source = SourceTask(
        "rooms", policy, rooms, Indicator(0.01), observe=[0, 0, 1, 1, 2, 2]
    )
    library = ready(source, spec=spec, rows=np.arange(6))
    steps = jnp.array([0, 0]), jnp.array([1, 1]), jnp.array([3, 1])
    found = jax.vmap(library.log_likelihoods)(*steps)[:, 0]
    np.testing.assert_allclose(found, [0.0, np.log(0.01)], rtol=1e-6)
    np.testing.assert_array_equal(library.advise(jnp.array(5)), [[1.0, 0.0]])


def test_densities_count_by_the_component_too():
    density = LogDensity(lambda obs, action, next_obs: -3.0 - 0.0 * next_obs[0])
    library = ready(mapped(dynamics=density, observe=[0]), encoder=Identity())
    step = jnp.zeros(2), jnp.array(0), jnp.zeros(2)
    assert library.log_likelihoods(*step)[0] == 2 * -3.0
    never = LogDensity(lambda obs, action, next_obs: -jnp.inf + 0.0 * next_obs[0])
    library = ready(mapped(dynamics=never, observe=[0]), encoder=Identity())
    assert library.log_likelihoods(*step)[0] == LEAST


class Narrow(gymnasium.Env):
    """A simulator that sees one component and counts in steps of one."""

    observation_space = spaces.Box(-np.inf, np.inf, (1,), np.float32)
    action_space = spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.state = np.zeros(1, np.float32)
        return self.state.copy(), {}

    def step(self, action):
        self.state = self.state + np.float32(2 * action - 1)
        return self.state.astype(np.float32), 0.0, False, False, {}


def test_a_simulator_of_other_spaces_is_a_source():
    source = mapped(lambda obs: 1, Narrow(), observe=[1], act=[2, 0])
    far = ready(source).sources[0]
    after = [far.dynamics(jnp.array([9.0, 4.0]), jnp.array(a))[0] for a in range(3)]
    assert after == [5.0, 4.0, 3.0]


@pytest.mark.parametrize(
    ("source", "told"),
    [
        (mapped(observe=[0, 2]), "observe is .0, 2., but .* components 0 … 1"),
        (mapped(observe=lambda obs: obs[0]), r"observe returns shape \(\) and float32"),
        (mapped(observe=lambda obs: obs[None]), r"observe returns shape \(1, 2\)"),
        (mapped(observe=lambda obs: obs[:1] / 0), "observe returns NaN or infinity"),
        (mapped(observe=lambda obs: obs[7]), "observe fails on one of the target's"),
        (mapped(observe=lambda obs: 3), "how many states the source has is not known"),
        (
            mapped(dynamics=lambda obs, a: jnp.zeros(3), observe=[0]),
            r"dynamics returns shape \(3,\).*observations of shape \(1,\)",
        ),
        (
            mapped(dynamics=Narrow(), observe=[0, 1], act=[0, 1]),
            r"observe returns shape \(2,\), but its simulator wants \(1,\)",
        ),
        (mapped(act=[0, 3]), "act returns shape .*, such as 0, .* no action 0 … 2"),
        (mapped(act=lambda action: action), r"Give a list, act=\[…\]"),
        (mapped(act=[0, 0]), "act makes both 0 and 1 the target's action 0.*act_inv"),
        (mapped(act=[0, 1], act_inverse=[0, 1]), "act_inverse has 2 entries.* 3 act"),
        (mapped(act=[0, 1], act_inverse=[0, 1, 2]), "act_inverse returns .* -1 … 1"),
        (mapped(act_inverse=[0, 1, 2]), "has act_inverse but no act"),
        (mapped(lambda obs: 5, act=[0, 1]), "policy returns action 5.*with maps"),
        (mapped(lambda obs: obs, act=lambda a: 0), "act has no inverse"),
    ],
)
def test_errors_name_the_map(source, told):
    with np.errstate(all="ignore"), pytest.raises(SourceError, match="(?s)" + told):
        ready(source)


def test_lists_are_saved_and_functions_are_not(tmp_path):
    policy = table_policy(jnp.array([1, 0]), 2)
    rooms = TableDynamics(jnp.array([[0, 1], [0, 1]]))
    spec = TaskSpec(Discrete(4), Discrete(3))
    source = SourceTask(
        "rooms", policy, rooms, Indicator(), observe=[0, 0, 1, 1], act=[2, 1]
    )
    library = SourceLibrary([source], spec)
    library.save(tmp_path / "lists")
    again = SourceLibrary.load(tmp_path / "lists")
    for state in range(4):
        obs = jnp.array(state)
        np.testing.assert_array_equal(again.advise(obs), library.advise(obs))
    source = SourceTask(
        "rooms", policy, rooms, Indicator(), observe=lambda s: s // 2, act=[2, 1]
    )
    with pytest.raises(SourceError, match=r"(?s)observe.* are functions stay in your"):
        SourceLibrary([source], spec).save(tmp_path / "functions")


def test_maps_count_in_the_fingerprint():
    assert fingerprint(mapped()) != fingerprint(mapped(act=np.array([0, 1, 2])))


@pytest.mark.parametrize("target", [Line, LineDomain()])
def test_both_loops_learn_from_a_source_of_another_language(target):
    """Centimetres, and left and right the other way round."""
    source = SourceTask(
        "inches",
        lambda obs: 1 - homeward_jax(obs),
        lambda obs, action: 100 * stepping_jax(obs / 100, 1 - action),
        observe=lambda obs: 100 * obs,
        act=[1, 0],
    )
    task = prepare(TransferTask(target, SourceLibrary([source]), horizon=20))
    assert task.sources.experts.encoder(jnp.zeros(2)).shape == (2,)
    step = jnp.array([0.3, 1.0]), jnp.array(0), jnp.array([0.05, 1.0])
    exact, off = (
        task.sources.log_likelihoods(step[0], jnp.array(action), step[2])[0]
        for action in (0, 1)
    )
    assert exact > 0 > off
    rows = train(task, "mapse", settings=BRIEF, progress=False).rows
    assert len(rows) == 3
