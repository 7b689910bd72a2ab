"""Libraries: validated, batched in the sources' own order, safe on disk."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from policymix.core.encoders import Clip, Identity, OneHot, Standardise
from policymix.core.errors import FileFormatError, PolicymixError, SourceError
from policymix.core.kernels import Gaussian, Indicator, StudentT
from policymix.core.networks import init_mlp
from policymix.core.types import Box, Discrete, TaskSpec
from policymix.sources.dynamics import LogDensity, NetworkDynamics, TableDynamics
from policymix.sources.experts import SourceTask
from policymix.sources.library import SourceLibrary, read_library_folder
from policymix.sources.policies import GreedyPolicy, TablePolicy, table_policy
from policymix.training.task import TransferTask

from support.slope import untyped

PLANE = TaskSpec(Box((-1.0,) * 2, (1.0,) * 2), Discrete(3))
STATES = TaskSpec(Discrete(5), Discrete(3))


def network_source(key, name="net", width=8, kernel=None):
    policy_key, dynamics_key = jax.random.split(key)
    return SourceTask(
        name,
        GreedyPolicy(init_mlp(policy_key, (2, width, 3)), Identity()),
        NetworkDynamics(init_mlp(dynamics_key, (5, width, 2)), Clip()),
        kernel or Gaussian(50.0),
    )


def table_source(name="table"):
    actions = jnp.array([0, 1, 2, 0, 1])
    next_obs = jnp.array([[0, 1, -1]] * 5)
    return SourceTask(
        name, table_policy(actions, 3), TableDynamics(next_obs), Indicator()
    )


def drift(obs, action):
    return obs + 0.1 * action.astype(float)


def test_batched_evaluation_equals_one_by_one(keys):
    sources = [
        network_source(keys(), "a"),
        SourceTask("b", lambda obs: jnp.array(1), drift, StudentT(3.0)),
        network_source(keys(), "c", kernel=Gaussian(7.0)),
        network_source(keys(), "d", width=9),
        network_source(keys(), "e"),
    ]
    library = SourceLibrary(sources, PLANE, Clip(-0.5, 0.5))
    obs, action, next_obs = jnp.array([0.2, -0.9]), jnp.array(2), jnp.array([0.3, 0.1])
    encode = library.experts.encoder
    for i, source in enumerate(sources):
        alone = source.kernel(encode(source.dynamics(obs, action)), encode(next_obs))
        together = library.log_likelihoods(obs, action, next_obs)[i]
        np.testing.assert_allclose(together, alone, rtol=1e-5)
    advice = library.advise(obs)
    np.testing.assert_array_equal(advice[1], [0.0, 1.0, 0.0])
    np.testing.assert_array_equal(advice[3], sources[3].policy(obs))
    np.testing.assert_array_equal(advice[4], sources[4].policy(obs))


def test_the_work_does_not_grow_with_sources_of_one_architecture(keys):
    def operations(count):
        library = SourceLibrary(
            [network_source(keys(), f"s{i}") for i in range(count)], PLANE
        )
        experts, obs = library.experts, jnp.zeros(2)
        jaxpr = jax.make_jaxpr(experts.log_likelihoods)(obs, jnp.array(0), obs)
        return str(jaxpr).count("dot_general")

    assert operations(3) == operations(12) > 0


def test_log_density_needs_no_kernel():
    def log_density(obs, action, next_obs):
        return jax.scipy.stats.poisson.logpmf(next_obs, 1.0 + obs)

    source = SourceTask("poisson", lambda obs: obs % 3, LogDensity(log_density))
    library = SourceLibrary([source], STATES, OneHot(5))
    actual = library.log_likelihoods(jnp.array(1), jnp.array(0), jnp.array(2))
    np.testing.assert_allclose(actual, [2 * np.log(2) - 2 - np.log(2)], rtol=1e-5)


def test_an_impossible_transition_is_only_very_unlikely():
    def log_density(obs, action, next_obs):
        return jnp.where(next_obs == obs, 0.0, -jnp.inf)

    source = SourceTask("still", lambda obs: 0, LogDensity(log_density))
    library = SourceLibrary([source], STATES, OneHot(5))
    found = library.log_likelihoods(jnp.array(1), jnp.array(0), jnp.array(2))
    assert float(found[0]) == -1e6


def test_no_sources():
    with pytest.raises(SourceError, match="no sources"):
        SourceLibrary([])


def test_what_is_no_source_is_named():
    given: Any
    for given in (3, [None], "name"):
        with (
            untyped(),
            pytest.raises(SourceError, match=r"is no source\. Give a SourceLibrary"),
        ):
            SourceLibrary(given)


def test_one_source_or_a_list_of_them_is_a_library():
    source = SourceTask("x", lambda obs: 1, drift)
    given: Any
    for given in (source, [source], iter([source])):
        with untyped():
            task = TransferTask("cartpole", given)
        assert task.sources.sources == (source,)


def test_duplicate_names(keys):
    with pytest.raises(SourceError, match=r"2 sources are named 'net'. Rename"):
        SourceLibrary([network_source(keys()), network_source(keys())])


def test_spaces_must_be_known():
    source = SourceTask("x", lambda obs: 1, drift)
    with pytest.raises(SourceError, match="for_target"):
        SourceLibrary([source]).advise(jnp.zeros(2))
    advice = SourceLibrary([source]).for_target(PLANE).advise(jnp.zeros(2))
    np.testing.assert_array_equal(advice, [[0.0, 1.0, 0.0]])


def uniform(obs):
    return jnp.full(3, 1 / 3)


@pytest.mark.parametrize(
    ("policy", "dynamics", "message"),
    [
        (lambda obs: 3, drift, r"returns action 3, .* actions 0 … 2"),
        (lambda obs: -1, drift, r"returns action -1"),
        (lambda obs: jnp.ones(3), drift, "no probabilities"),
        (lambda obs: jnp.ones(4) / 4, drift, r"policy returns shape \(4,\), .* \(3,\)"),
        (lambda obs: uniform(obs) * jnp.nan, drift, "policy returns NaN"),
        (uniform, lambda obs, action: obs[:1], r"dynamics returns shape \(1,\)"),
        (uniform, lambda obs, action: obs / 0, "dynamics returns NaN or infinity at"),
        (uniform, lambda obs: obs, r"dynamics fails on .*\(TypeError"),
        (lambda obs: 3 if obs[0] > 0 else 0, drift, "returns action 3"),
    ],
)
def test_unfit_sources_are_named_with_a_remedy(policy, dynamics, message):
    sound = SourceTask("sound", uniform, drift)
    with pytest.raises(SourceError, match=message) as caught:
        SourceLibrary([sound, SourceTask("unfit", policy, dynamics)]).for_target(PLANE)
    assert "'unfit'" in str(caught.value)


def test_continuous_actions_must_keep_their_bounds():
    spec = TaskSpec(PLANE.observation, Box((-1.0,), (1.0,)))

    def push(obs, action):
        return obs + action

    wild = SourceTask("wild", lambda obs: jnp.array([2.0]), push)
    with pytest.raises(SourceError, match=r"'wild'.*bounds.*Clip"):
        SourceLibrary([wild]).for_target(spec)
    tame = SourceTask("tame", lambda obs: obs[:1], push)
    np.testing.assert_allclose(
        SourceLibrary([tame], spec).advise(jnp.array([0.3, 0.0])), [[0.3]]
    )


def test_table_must_predict_states():
    bad = SourceTask("bad", uniform, lambda obs, action: obs + 1, Indicator())
    with pytest.raises(SourceError, match="no state 0 … 4"):
        SourceLibrary([bad], encoder=OneHot(5)).for_target(STATES)


def test_own_observations_can_be_checked():
    fragile = SourceTask("fragile", uniform, lambda obs, action: jnp.log(obs + 2.0))
    library = SourceLibrary([fragile])
    with pytest.raises(SourceError, match=r"NaN or infinity at .*-5"):
        library.for_target(PLANE, jnp.array([[0.0, 0.0], [-5.0, 0.0]]))


def test_saved_and_loaded_library_is_the_same(tmp_path, keys):
    encoder = Standardise(jnp.array([0.1, 0.2]), jnp.array([1.0, 3.0]))
    sources = [network_source(keys(), "one"), network_source(keys(), "two", 6)]
    library = SourceLibrary(sources, PLANE, encoder)
    library.save(tmp_path / "lib", {"command": "made by hand"})
    loaded, facts = read_library_folder(tmp_path / "lib")
    assert loaded.names == ("one", "two")
    assert loaded.spec == PLANE
    assert facts == {"command": "made by hand"}
    for obs in jax.random.normal(keys(), (5, 2)):
        arguments = obs, jnp.array(1), -obs
        np.testing.assert_array_equal(
            library.log_likelihoods(*arguments), loaded.log_likelihoods(*arguments)
        )
        np.testing.assert_array_equal(library.advise(obs), loaded.advise(obs))


def test_the_same_library_gives_the_same_bytes(tmp_path):
    library = SourceLibrary([table_source()], STATES, OneHot(5))
    for name in "ab":
        library.save(tmp_path / name)
    for file in ("manifest.json", "arrays.safetensors"):
        assert (tmp_path / "a" / file).read_bytes() == (
            tmp_path / "b" / file
        ).read_bytes()


def test_unbounded_spaces_survive(tmp_path):
    spec = TaskSpec(Box((-np.inf, 0.0), (np.inf, 1.0)), Discrete(3))
    SourceLibrary([SourceTask("t", TablePolicy(jnp.eye(3)), drift)])
    mlp = init_mlp(jax.random.key(1), (5, 4, 2))
    policy = GreedyPolicy(init_mlp(jax.random.key(2), (2, 3)), Identity())
    source = SourceTask("n", policy, NetworkDynamics(mlp, Identity()))
    SourceLibrary([source], spec).save(tmp_path / "lib")
    assert SourceLibrary.load(tmp_path / "lib").spec == spec


def test_plain_functions_cannot_be_saved(tmp_path):
    library = SourceLibrary([SourceTask("f", uniform, drift)], PLANE)
    with pytest.raises(SourceError, match=r"0.policy: .* cannot be saved"):
        library.save(tmp_path / "lib")
    assert list(tmp_path.iterdir()) == []


def test_save_never_overwrites(tmp_path):
    library = SourceLibrary([table_source()], STATES, OneHot(5))
    library.save(tmp_path / "lib")
    with pytest.raises(PolicymixError, match="exists already"):
        library.save(tmp_path / "lib")


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(
        FileFormatError, match=r"nowhere.*manifest.json.*Check the path"
    ):
        SourceLibrary.load(tmp_path / "nowhere")
