"""A policy in plain NumPy does what the agent does alone, and its file is safe."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import policymix
from policymix.agents.q_learning import QLearning
from policymix.core.errors import FileFormatError, PolicymixError
from policymix.storage.policy_file import NumPyPolicy, load_policy
from policymix.training.agent import TrainedAgent
from policymix.training.asked import _greedy
from policymix.training.export import numpy_policy
from policymix.training.setup import build_setup
from policymix.training.trial import begin

from support.own_probes import BRIEF, task
from support.own_probes import unoptimised as unoptimised
from support.probes import LONG, MIXED, QUICK

pytestmark = pytest.mark.usefixtures("unoptimised")
TABLE, NETWORK = QUICK, replace(QUICK, layers=(16, 8))
STATES = np.arange(LONG.length)
LINE = np.random.default_rng(0).normal(0, 2, (2_000, 2)).astype(np.float32)


def shaken(leaf, key):
    """Another number wherever there is one, so that all states differ."""
    noise = jax.random.normal(key, leaf.shape)
    return leaf + noise if jnp.issubdtype(leaf.dtype, jnp.floating) else leaf


def agent_of(task, method, settings):
    """As if it had learned something."""
    setup = build_setup(task, method, settings)
    first = jnp.zeros((), int) if settings.layers != (8,) else jnp.zeros(2)
    trial = begin(setup, jax.random.key(0), first)
    leaves, structure = jax.tree.flatten(trial.agent)
    keys = jax.random.split(jax.random.key(2), len(leaves))
    learned = jax.tree.unflatten(structure, map(shaken, leaves, keys))
    return TrainedAgent(task, method, settings, setup, trial._replace(agent=learned))


@pytest.fixture(scope="module")
def line():
    return task()


@pytest.mark.parametrize("method", ["mars", "scratch", "caps", "multipolar"])
@pytest.mark.parametrize("settings", [TABLE, NETWORK], ids=["table", "network"])
def test_a_policy_for_states_acts_as_the_agent_alone(method, settings, tmp_path):
    if (method, settings) == ("multipolar", TABLE):
        pytest.skip("it is a network")
    agent = agent_of(MIXED, method, settings)
    agent.export(tmp_path / "policy.npz")
    policy = load_policy(tmp_path / "policy.npz")
    chosen = agent.predict(STATES, advised=False)
    np.testing.assert_array_equal(policy.predict(STATES), chosen)
    assert policy.predict(3) == chosen[3]
    assert type(policy.predict(3)) is int
    assert (policy.facts["method"], policy.num_states) == (method, LONG.length)


@pytest.mark.parametrize("method", ["mars", "scratch", "multipolar"])
def test_a_policy_for_vectors_acts_as_the_agent_alone(method, line, tmp_path):
    """In like units, and in two thousand states."""
    agent = agent_of(line, method, BRIEF)
    agent.export(tmp_path / "policy.npz")
    policy = load_policy(tmp_path / "policy.npz")
    assert policy.facts["encoder"] == "Standardise"
    learner: Any = agent.setup.agent
    values = jax.vmap(learner.alone_values, (None, 0))(
        agent.trial.agent, jnp.asarray(LINE)
    )
    found = policy.values(LINE)
    np.testing.assert_allclose(found, values, rtol=1e-4, atol=1e-4)
    chosen = agent.predict(LINE, advised=False)
    assert set(chosen.tolist()) == {0, 1}
    sure = np.abs(found[:, 0] - found[:, 1]) > 1e-4
    assert sure.mean() > 0.99
    np.testing.assert_array_equal(policy.predict(LINE)[sure], chosen[sure])
    assert policy.predict(LINE[0].tolist()) == policy.predict(LINE[:1])[0]


def test_numbers_of_states_share_programs(line):
    agent = agent_of(line, "scratch", BRIEF)
    programs: Any = _greedy
    before = programs._cache_size()
    whole = agent.predict(LINE[:64])
    for count in (33, 40, 63):
        np.testing.assert_array_equal(agent.predict(LINE[:count]), whole[:count])
    assert programs._cache_size() == before + 1


ALONE = """
import sys
for name in {heavy}:
    sys.modules[name] = None
from policymix.storage.policy_file import load_policy
print(load_policy({path!r}).predict({states}).tolist())
"""


def test_a_policy_needs_only_numpy(line, tmp_path):
    agent_of(line, "scratch", BRIEF).export(tmp_path / "policy.npz")
    path, states = str(tmp_path / "policy.npz"), LINE[:5].tolist()
    heavy = [
        "jax",
        "equinox",
        "safetensors",
        "gymnasium",
        "scipy",
        "optax",
        "jaxtyping",
    ]
    code = ALONE.format(heavy=heavy, path=path, states=states)
    root = str(Path(policymix.__file__).parents[1])
    told = subprocess.check_output(
        [sys.executable, "-c", code], text=True, env={"PYTHONPATH": root}
    )
    assert told.strip() == str(load_policy(path).predict(states).tolist())


def test_what_is_neither_table_nor_network_is_refused():
    class Odd(QLearning):
        """A table to be read in another way."""

    with pytest.raises(PolicymixError, match=r"Odd cannot be exported.*agent\.save"):
        numpy_policy(Odd(0.9, 8, 2), jnp.zeros((8, 2)))


def test_a_policy_has_one_kind_of_file(tmp_path):
    agent = agent_of(MIXED, "scratch", TABLE)
    with pytest.raises(PolicymixError, match=r"policy\.pt does not end in \.npz"):
        agent.export(tmp_path / "policy.pt")


@pytest.mark.parametrize(
    "obs", [np.zeros(3), np.zeros((2, 3)), 0.0, np.zeros((1, 1, 2))]
)
def test_an_observation_of_another_shape_is_refused(obs):
    layers = {"weights.0": np.ones((2, 2), np.float32)}
    layers |= {"biases.0": np.zeros(2, np.float32)}
    policy = NumPyPolicy({"encoder": "Identity"}, layers)
    with pytest.raises(PolicymixError, match=r"acts on \(2,\), or on rows"):
        policy.predict(obs)


@pytest.mark.parametrize("state", [-1, 8, 0.5])
def test_what_is_no_state_is_refused(state):
    policy = NumPyPolicy({"encoder": "Table"}, {"table": np.ones((8, 2), np.float32)})
    with pytest.raises(PolicymixError, match="0 … 7"):
        policy.predict(state)


class Malice:
    """Pickled, it would write a file when it is read."""

    def __reduce__(self):
        return (Path.touch, (Path("/tmp/policymix-executed"),))


def test_objects_in_a_file_are_refused_unread(tmp_path):
    path, trace = tmp_path / "policy.npz", Path("/tmp/policymix-executed")
    np.savez(path, table=np.array([Malice()], object), facts=np.array("{}"))
    with pytest.raises(FileFormatError, match=r"policy\.npz"):
        load_policy(path)
    assert not trace.exists()


def test_cut_files_are_refused(tmp_path):
    agent_of(MIXED, "scratch", TABLE).export(tmp_path / "policy.npz")
    content = (tmp_path / "policy.npz").read_bytes()
    for length in range(0, len(content), 41):
        (tmp_path / "policy.npz").write_bytes(content[:length])
        with pytest.raises(FileFormatError, match=r"policy\.npz: file: no policy"):
            load_policy(tmp_path / "policy.npz")


@pytest.mark.parametrize(
    ("facts", "arrays"),
    [
        ({"encoder": "Eval"}, {"table": np.ones((8, 2), np.float32)}),
        ({"encoder": "Table"}, {"table": np.ones((8, 2))}),
        ({"encoder": "Table"}, {"table": np.full((8, 2), np.nan, np.float32)}),
        ({"encoder": "OneHot"}, {"weights.0": np.ones((2, 2), np.float32)}),
    ],
)
def test_arrays_that_are_no_policy_are_refused(facts, arrays):
    with pytest.raises(ValueError, match=r"unknown|type|NaN|arrays"):
        NumPyPolicy(facts, arrays)
