"""A policy of continuous actions in plain NumPy does what the agent does alone."""

import io
import json
import subprocess
import sys
import zipfile
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import policymix
from policymix.agents.sac import SAC
from policymix.core.encoders import Clip, Identity, OneHot, Standardise
from policymix.core.errors import FileFormatError, PolicymixError
from policymix.core.settings import Settings
from policymix.core.types import Box
from policymix.domains.pendulum.task import Moves, Pendulum, pendulum_family
from policymix.sources.experts import SourceTask
from policymix.sources.library import SourceLibrary
from policymix.storage.policy_file import NumPyPolicy, load_policy, write_policy
from policymix.training.agent import TrainedAgent
from policymix.training.export import numpy_policy
from policymix.training.setup import build_setup
from policymix.training.task import TransferTask, prepare
from policymix.training.trial import begin

SWINGS = np.random.default_rng(1).normal(0, 2, (500, 3)).astype(np.float32)
SCALED = Standardise(jnp.array([0.5, -0.25, 1.0]), jnp.array([0.5, 2.0, 4.0]))
LOPSIDED = Box((-0.1, -3.0), (0.3, 7.0))
SURE = 30.0
"""Makes weights so large that most actions are at a bound."""


def pendulum_agent(method, encoder):
    """As if it had learned something."""
    sources = [
        SourceTask(name, lambda obs: jnp.ones(1) + 0.0 * obs[:1], Moves(wind))
        for name, wind in pendulum_family().sources.items()
    ]
    library = SourceLibrary(sources, encoder=encoder)
    task = prepare(TransferTask(Pendulum(horizon=12), library))
    settings = Settings(layers=(16, 8), mixture_layers=(4,))
    setup = build_setup(task, method, settings)
    trial = begin(setup, jax.random.key(3), jnp.zeros(3))
    return TrainedAgent(task, method, settings, setup, trial)


def actor(num_inputs, encoder, factor=1.0):
    """A learner of two-dimensional actions, and what it may have learned."""
    agent = SAC(0.9, LOPSIDED, num_inputs, (8,), encoder)
    state = agent.init(jax.random.key(5))
    larger = jax.tree.map(lambda x: factor * x, state.actor.parameters)
    return agent, eqx.tree_at(lambda state: state.actor.parameters, state, larger)


def arrays_of(**changes):
    """One layer from three numbers to two actions."""
    arrays = {"weights.0": np.ones((2, 3)), "biases.0": np.zeros(2)}
    arrays |= {"low": -np.ones(2), "high": np.ones(2), **changes}
    kept = {name: array for name, array in arrays.items() if array is not None}
    return {name: np.asarray(array, np.float32) for name, array in kept.items()}


@pytest.mark.parametrize("method", ["scratch", "mars"])
@pytest.mark.parametrize("encoder", [Identity(), SCALED], ids=["plain", "scaled"])
def test_a_policy_acts_as_the_agent_alone(method, encoder, tmp_path):
    agent = pendulum_agent(method, encoder)
    agent.export(tmp_path / "policy.npz")
    policy = load_policy(tmp_path / "policy.npz")
    assert policy.facts["encoder"] == type(encoder).__name__
    assert policy.facts["method"] == method
    assert policy.continuous
    expected = agent.predict(SWINGS, advised=False)
    found = policy.predict(SWINGS)
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    one = policy.predict(SWINGS[0].tolist())
    assert one.shape == agent.predict(SWINGS[0], advised=False).shape == (1,)
    np.testing.assert_allclose(one, expected[0], rtol=1e-4, atol=1e-5)
    assert policy.predict(SWINGS[:0]).shape == (0, 1)


@pytest.mark.parametrize("factor", [1.0, SURE])
@pytest.mark.parametrize("encoder", [SCALED, OneHot(9)], ids=["vectors", "states"])
def test_bounds_are_those_of_the_actions(encoder, factor):
    states = np.arange(9) if isinstance(encoder, OneHot) else SWINGS
    agent, state = actor(9 if isinstance(encoder, OneHot) else 3, encoder, factor)
    policy = numpy_policy(agent, state)
    found = policy.predict(states)
    expected = jax.vmap(lambda obs: agent.act(state, obs, None))(jnp.asarray(states))
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
    low, high = (np.array(x, np.float32) for x in (LOPSIDED.low, LOPSIDED.high))
    assert np.all((found >= low) & (found <= high))
    if factor == SURE:
        assert np.mean((found == low) | (found == high)) > 0.1


def test_only_means_and_bounds_are_in_the_file(tmp_path):
    agent, state = actor(3, Identity())
    write_policy(tmp_path / "policy.npz", numpy_policy(agent, state))
    kept = np.load(tmp_path / "policy.npz")
    names = {"facts", "weights.0", "biases.0", "weights.1", "biases.1", "low", "high"}
    assert set(kept.files) == names
    assert kept["weights.1"].shape == (2, 8)
    assert json.loads(str(kept["facts"]))["version"] == 2


def test_other_learners_and_encoders_are_refused():
    class Bold(SAC):
        """One that acts in another way."""

    agent, state = actor(3, Clip())
    with pytest.raises(PolicymixError, match=r"the encoder Clip cannot be exported"):
        numpy_policy(agent, state)
    with pytest.raises(PolicymixError, match=r"Bold cannot be exported"):
        numpy_policy(Bold(0.9, LOPSIDED, 3, (8,)), state)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"low": None}, "arrays"),
        ({"high": None}, "arrays"),
        ({"low": -np.ones((1, 2))}, "low has the type"),
        ({"high": [1.0, np.inf]}, "high holds NaN or infinity"),
        ({"low": [-1.0]}, "1 and 2 bounds of 2 components"),
        ({"high": [1.0, 1.0, 1.0]}, "2 and 3 bounds of 2 components"),
        ({"low": [0.0, 1.0]}, "hold no actions"),
        ({"low": [0.0, -3e38], "high": [1.0, 3e38]}, "hold no actions"),
    ],
)
def test_bounds_that_hold_no_actions_are_refused(changes, problem):
    with pytest.raises(ValueError, match=problem):
        NumPyPolicy({"encoder": "Identity"}, arrays_of(**changes))


def test_a_table_has_no_bounds():
    bounds = arrays_of(**{"weights.0": None, "biases.0": None})
    with pytest.raises(ValueError, match="arrays"):
        NumPyPolicy({"encoder": "Table"}, {"table": np.ones((3, 2)), **bounds})


@pytest.mark.parametrize("version", [1, 3, None])
@pytest.mark.parametrize("arrays", [arrays_of(), arrays_of(low=None, high=None)])
def test_a_version_says_whether_there_are_bounds(version, arrays, tmp_path):
    """Version 1 has none, so that its readers take no component for an action."""
    path, bounded = tmp_path / "policy.npz", "low" in arrays
    facts = {"format": "policymix policy", "encoder": "Identity", "version": version}
    np.savez(path, allow_pickle=False, facts=json.dumps(facts), **arrays)
    if version == 1 and not bounded:
        assert load_policy(path).predict(np.ones(3)) == 0
        return
    with pytest.raises(FileFormatError, match=rf"version .* is not {1 + bounded}"):
        load_policy(path)


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    agent, state = actor(3, SCALED)
    path = tmp_path_factory.mktemp("exported") / "policy.npz"
    write_policy(path, numpy_policy(agent, state))
    return path.read_bytes()


def test_damaged_files_are_refused_or_act_within_bounds(exported, tmp_path):
    """Cut anywhere, with bytes changed, and with whole entries left out."""
    path, rng = tmp_path / "policy.npz", np.random.default_rng(0)
    for length in range(0, len(exported), 37):
        path.write_bytes(exported[:length])
        with pytest.raises(FileFormatError, match=r"policy\.npz: file: no policy"):
            load_policy(path)
    for place in rng.integers(len(exported), size=300):
        changed = bytearray(exported)
        changed[place] ^= int(rng.integers(1, 256))
        path.write_bytes(changed)
        try:
            policy = load_policy(path)
        except FileFormatError:
            continue
        assert np.all(np.isfinite(policy.predict(SWINGS)))
    entries = zipfile.ZipFile(io.BytesIO(exported))
    for left_out in entries.namelist():
        with zipfile.ZipFile(path, "w") as fewer:
            for name in set(entries.namelist()) - {left_out}:
                fewer.writestr(name, entries.read(name))
        with pytest.raises(FileFormatError, match=r"policy\.npz: file: no policy"):
            load_policy(path)


ALONE = """
import sys
for name in ("jax", "equinox", "jaxtyping", "safetensors", "gymnasium", "scipy"):
    sys.modules[name] = None
from policymix.storage.policy_file import load_policy
print(load_policy({path!r}).predict({states}).tolist())
"""


def test_a_policy_needs_only_numpy(exported, tmp_path):
    path, states = tmp_path / "policy.npz", SWINGS[:3].tolist()
    path.write_bytes(exported)
    told = subprocess.check_output(
        [sys.executable, "-c", ALONE.format(path=str(path), states=states)],
        text=True,
        env={"PYTHONPATH": str(Path(policymix.__file__).parents[1])},
    )
    assert told.strip() == str(load_policy(path).predict(states).tolist())
