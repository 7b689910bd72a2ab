"""Converted Stable-Baselines3 policies give the numbers that the originals give."""

import dataclasses
import functools
import importlib
import shutil
import sys
from typing import Any

import equinox as eqx
import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium import spaces

pytest.importorskip("stable_baselines3")

import torch
from stable_baselines3 import A2C, DDPG, DQN, PPO, SAC, TD3
from stable_baselines3.common.policies import ActorCriticPolicy, BasePolicy
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize
from torch import nn

from policymix.bridges.sb3 import convert as converting
from policymix.bridges.sb3.convert import jax_policy
from policymix.core.encoders import Identity, OneHot, Standardise
from policymix.core.errors import FileFormatError, MissingExtraError, SourceError
from policymix.core.types import Box, Discrete, TaskSpec
from policymix.sources import library as sources
from policymix.sources.experts import SourceTask
from policymix.sources.host_calls import HostFunction
from policymix.sources.library import SourceLibrary
from policymix.sources.policies import (
    ClippedPolicy,
    GreedyPolicy,
    SoftmaxPolicy,
    SquashedPolicy,
)

from support.forgery import sign

PLANE = spaces.Box(-3.0, 3.0, (4,))
STATES = spaces.Discrete(7)
CHOICES = spaces.Discrete(3)
FORCES = spaces.Box(np.array([-2.0, 0.0], "f4"), np.array([3.0, 0.5], "f4"))
SAMPLES = 200
OFF_POLICY = {"buffer_size": 4}
ON_POLICY = {"n_steps": 4}
NOISE = {"use_sde": True}
LAYERS = {"net_arch": [12, 9]}


class Anywhere(gymnasium.Env):
    """Spaces, and nothing that happens in them."""

    def __init__(self, observation_space, action_space):
        self.observation_space, self.action_space = observation_space, action_space


def model_of(kind, observation, action, policy="MlpPolicy", seed=0, **options) -> Any:
    """A model of untrained, but not of small, weights."""
    sizes = ON_POLICY if kind in (PPO, A2C) else OFF_POLICY
    if kind is PPO:
        sizes = {"n_steps": 4, "batch_size": 4}
    policy_kwargs = {**LAYERS, **options.pop("policy_kwargs", {})}
    made = kind(
        policy,
        options.pop("env", None) or Anywhere(observation, action),
        policy_kwargs=policy_kwargs,
        device="cpu",
        seed=seed,
        **sizes,
        **options,
    )
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in made.policy.parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            parameter += (0.6 if parameter.ndim > 1 else 0.1) * noise
    return made


CASES = {
    "DQN, vectors": (DQN, PLANE, CHOICES),
    "DQN, states": (DQN, STATES, CHOICES),
    "PPO, vectors, choices": (PPO, PLANE, CHOICES),
    "PPO, states, choices": (PPO, STATES, CHOICES),
    "PPO, vectors, forces": (PPO, PLANE, FORCES),
    "PPO, states, forces": (PPO, STATES, FORCES),
    "A2C, vectors, choices": (A2C, PLANE, CHOICES),
    "A2C, states, choices": (A2C, STATES, CHOICES),
    "A2C, vectors, forces": (A2C, PLANE, FORCES),
    "A2C, states, forces": (A2C, STATES, FORCES),
    "SAC, vectors": (SAC, PLANE, FORCES),
    "SAC, states": (SAC, STATES, FORCES),
    "TD3, vectors": (TD3, PLANE, FORCES),
    "TD3, states": (TD3, STATES, FORCES),
    "DDPG, vectors": (DDPG, PLANE, FORCES),
    "DDPG, states": (DDPG, STATES, FORCES),
    "gSDE": (PPO, PLANE, FORCES, NOISE),
    "gSDE, squashed": (
        *(PPO, PLANE, FORCES),
        {**NOISE, "policy_kwargs": {"squash_output": True}},
    ),
    "gSDE, SAC's clipped mean": (SAC, PLANE, FORCES, NOISE),
    "gSDE, SAC's free mean": (
        *(SAC, PLANE, FORCES),
        {**NOISE, "policy_kwargs": {"clip_mean": 0.0}},
    ),
    "no hidden layers": (PPO, PLANE, CHOICES, {"policy_kwargs": {"net_arch": []}}),
    "no hidden layers, TD3": (TD3, PLANE, FORCES, {"policy_kwargs": {"net_arch": []}}),
    "own sizes": (
        *(PPO, PLANE, FORCES),
        {"policy_kwargs": {"net_arch": {"pi": [5, 6, 7], "vf": [3]}}},
    ),
    "two extractors": (
        *(A2C, PLANE, CHOICES),
        {"policy_kwargs": {"share_features_extractor": False}},
    ),
    **{
        activation.__name__: (
            *(DQN, PLANE, CHOICES),
            {"policy_kwargs": {"activation_fn": activation}},
        )
        for activation in converting.TORCH_ACTIVATIONS
    },
}
SAVED = (
    *("DQN, vectors", "DQN, states", "PPO, vectors, choices", "PPO, states, choices"),
    *("PPO, vectors, forces", "A2C, states, forces", "SAC, vectors", "TD3, states"),
    *("gSDE, SAC's clipped mean", "no hidden layers", "ELU"),
)


@functools.cache
def model(case) -> Any:
    kind, observation, action, *options = CASES[case]
    return model_of(kind, observation, action, **(options[0] if options else {}))


def observations(space):
    rng = np.random.default_rng(1)
    if isinstance(space, spaces.Discrete):
        return rng.integers(space.n, size=SAMPLES)
    return rng.uniform(space.low, space.high, (SAMPLES, *space.shape)).astype("f4")


def numbers_of(model: Any, obs):
    """The original's Q-values, logits or means, before any squashing or clipping."""
    policy = model.policy
    policy.set_training_mode(False)
    with torch.no_grad():
        inputs, _ = policy.obs_to_tensor(obs)
        if isinstance(model, DQN):
            return policy.q_net(inputs).numpy()
        if isinstance(model, PPO | A2C):
            extractor = policy.pi_features_extractor
            features = BasePolicy.extract_features(policy, inputs, extractor)
            hidden = policy.mlp_extractor.forward_actor(features)
            return policy.action_net(hidden).numpy()
        actor = policy.actor
        features = actor.extract_features(inputs, actor.features_extractor)
        if isinstance(model, SAC):
            mean = actor.mu[0] if isinstance(actor.mu, nn.Sequential) else actor.mu
            return mean(actor.latent_pi(features)).numpy()
        return actor.mu[:-1](features).numpy()


def assert_equal(actual, expected):
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-5)


def advice_of(model, obs):
    """What `predict` says, a Discrete action as a unit vector."""
    actions, _ = model.predict(obs, deterministic=True)
    discrete = isinstance(model.action_space, spaces.Discrete)
    return np.eye(model.action_space.n)[actions] if discrete else actions


def assert_acts_like(policy, model, obs):
    """The same advice as the original's, and advice that varies."""
    expected = advice_of(model, obs)
    assert_equal(jax.vmap(policy)(jnp.asarray(obs)), expected)
    assert np.sum(np.ptp(expected, axis=0) > 0.1) > 1


@pytest.mark.parametrize("case", CASES)
def test_numbers_and_actions_equal_the_originals(case):
    original, policy = model(case), jax_policy(model(case))
    obs = observations(original.observation_space)
    numbers = jax.vmap(lambda o: policy.network(policy.encoder(o)))(jnp.asarray(obs))
    assert_equal(numbers, numbers_of(original, obs))
    assert_acts_like(policy, original, obs)


@pytest.mark.parametrize("case", [c for c in CASES if c[:3] in ("PPO", "A2C")])
def test_probabilities_equal_the_originals(case):
    original = model(case)
    if not isinstance(original.action_space, spaces.Discrete):
        with pytest.raises(SourceError, match=r"ActorCriticPolicy with Box.* stochas"):
            jax_policy(original, stochastic=True)
        return
    policy = jax_policy(original, stochastic=True)
    assert isinstance(policy, SoftmaxPolicy)
    obs = observations(original.observation_space)
    with torch.no_grad():
        inputs, _ = original.policy.obs_to_tensor(obs)
        expected = original.policy.get_distribution(inputs).distribution.probs
    assert_equal(jax.vmap(policy)(jnp.asarray(obs)), expected.numpy())


@pytest.mark.parametrize(
    ("case", "kind"),
    [
        ("DQN, states", GreedyPolicy),
        ("PPO, vectors, choices", GreedyPolicy),
        ("A2C, states, forces", ClippedPolicy),
        ("TD3, vectors", SquashedPolicy),
        ("gSDE, SAC's clipped mean", SquashedPolicy),
    ],
)
def test_compiled_loops_give_what_single_calls_give(case, kind):
    policy = jax_policy(model(case))
    assert isinstance(policy, kind)
    obs = jnp.asarray(observations(model(case).observation_space)[:10])
    one_by_one = jnp.stack([policy(o) for o in obs])
    assert_equal(jax.jit(jax.vmap(policy))(obs), one_by_one)
    _, scanned = jax.lax.scan(lambda carry, o: (carry, policy(o)), None, obs)
    assert_equal(scanned, one_by_one)


def limit_of(model):
    policy = jax_policy(model)
    assert isinstance(policy, SquashedPolicy)
    return policy.limit


def test_the_clipped_mean_and_the_bounds_are_reached():
    obs = observations(PLANE)
    clipped = model("gSDE, SAC's clipped mean")
    assert limit_of(clipped) == 2.0
    assert np.abs(numbers_of(clipped, obs)).max() > 2.5
    assert limit_of(model("gSDE, SAC's free mean")) is None
    forces = advice_of(model("PPO, vectors, forces"), obs)
    for bound in (FORCES.low, FORCES.high):
        assert np.any(forces == bound, axis=0).all()


def test_axes_are_flattened():
    original = model_of(SAC, spaces.Box(-1, 1, (2, 3)), spaces.Box(-1, 1, (2, 2)))
    obs = observations(original.observation_space)
    advice = jax.vmap(jax_policy(original))(jnp.asarray(obs.reshape(SAMPLES, 6)))
    assert_equal(advice, advice_of(original, obs).reshape(SAMPLES, 4))


def test_a_layer_without_biases():
    original = model_of(DQN, PLANE, CHOICES)
    original.policy.q_net.q_net[2].bias = None
    obs = observations(PLANE)
    assert_acts_like(jax_policy(original), original, obs)


def test_training_the_model_further_changes_nothing():
    original = model_of(DQN, PLANE, CHOICES)
    policy = jax_policy(original)
    obs = jnp.ones(4)
    before = np.array(policy.network(obs))
    with torch.no_grad():
        for parameter in original.policy.parameters():
            parameter.zero_()
    np.testing.assert_array_equal(policy.network(obs), before)


def test_observations_are_not_normalised_unless_the_encoder_is_replaced():
    env = VecNormalize(DummyVecEnv([lambda: Anywhere(PLANE, CHOICES)]))
    original = model_of(PPO, PLANE, CHOICES, env=env)
    statistics = original.get_vec_normalize_env().obs_rms
    statistics.mean, statistics.var = np.arange(4.0), np.arange(1.0, 5.0)
    policy, obs = jax_policy(original), observations(PLANE)
    assert_acts_like(policy, original, obs)
    centre, spread = statistics.mean, np.sqrt(statistics.var + env.epsilon)
    encoder = Standardise(jnp.array(centre, float), jnp.array(spread, float))
    raw = dataclasses.replace(policy, encoder=encoder)
    expected = advice_of(original, env.normalize_obs(obs))
    assert_equal(jax.vmap(raw)(jnp.asarray(obs)), expected)
    assert np.any(expected != advice_of(original, obs))


class Still(eqx.Module):
    """Dynamics for any spaces: nothing moves."""

    def __call__(self, obs, action):
        return obs


def space_of(space):
    if isinstance(space, spaces.Discrete):
        return Discrete(int(space.n))
    return Box(tuple(space.low.tolist()), tuple(space.high.tolist()))


def library_of(policies, model):
    observation = space_of(model.observation_space)
    spec = TaskSpec(observation, space_of(model.action_space))
    encoder = OneHot(observation.n) if isinstance(observation, Discrete) else Identity()
    tasks = [SourceTask(f"source {i}", p, Still()) for i, p in enumerate(policies)]
    return SourceLibrary(tasks, spec, encoder)


@pytest.fixture
def still_saved(monkeypatch):
    monkeypatch.setattr(sources, "KINDS", (*sources.KINDS, Still))


@pytest.mark.parametrize("case", SAVED)
@pytest.mark.usefixtures("still_saved")
def test_a_library_keeps_them(case, tmp_path):
    original = model(case)
    policies = [jax_policy(original)]
    if case.startswith("PPO") and "choices" in case:
        policies.append(jax_policy(original, stochastic=True))
    library = library_of(policies, original)
    library.save(tmp_path / "library")
    loaded = SourceLibrary.load(tmp_path / "library")
    obs = jnp.asarray(observations(original.observation_space))
    expected = jnp.stack([jax.vmap(policy)(obs) for policy in policies], axis=1)
    assert_equal(jax.vmap(loaded.advise)(obs), expected)
    for one, other in zip(policies, loaded.sources, strict=True):
        assert eqx.tree_equal(one, other.policy)


@pytest.mark.parametrize(
    ("kind", "action"), [(DQN, CHOICES), (PPO, CHOICES), (PPO, FORCES), (SAC, FORCES)]
)
def test_one_architecture_is_one_batched_call(kind, action):
    models = [model_of(kind, PLANE, action, seed=seed) for seed in range(3)]
    library = library_of([jax_policy(m) for m in models], models[0])
    assert len(library.experts.policies) == 1
    for obs in observations(PLANE)[:10]:
        expected = [advice_of(original, obs) for original in models]
        assert_equal(library.advise(jnp.asarray(obs)), np.stack(expected))


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("libraries") / "saved"
    policy = jax_policy(model("gSDE, SAC's clipped mean"))
    library_of([policy], model("gSDE, SAC's clipped mean")).save(folder)
    return folder


@pytest.mark.parametrize(
    ("field", "wrong"),
    [
        ("activations", ["sinus", "relu"]),
        ("activations", ["relu"]),
        ("activations", "relu"),
        ("activations", [1, 2]),
        ("weights", []),
        ("limit", "2"),
        ("limit", True),
    ],
)
@pytest.mark.usefixtures("still_saved")
def test_damaged_records_do_not_load(saved, tmp_path, field, wrong):
    def edit(manifest):
        policy = manifest["sources"][0]["policy"]
        place = policy if field == "limit" else policy["network"]
        assert field in place
        place[field] = wrong

    folder = shutil.copytree(saved, tmp_path / "copy")
    SourceLibrary.load(folder)
    sign(folder, edit)
    with pytest.raises(FileFormatError):
        SourceLibrary.load(folder)


class Doubled(BaseFeaturesExtractor):
    def __init__(self, observation_space):
        super().__init__(observation_space, observation_space.shape[0])

    def forward(self, observations):
        return 2 * observations


class RecurrentPolicy(ActorCriticPolicy):
    pass


IMAGES = spaces.Box(0, 255, (3, 36, 36), np.uint8)
NAMED = spaces.Dict({"position": PLANE})


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (
            (PPO, NAMED, CHOICES, "MultiInputPolicy"),
            {},
            r"observation space Dict.*only Discrete and Box.*Flatten .* by hand",
        ),
        ((DQN, IMAGES, CHOICES, "CnnPolicy"), {}, r"space Box.*uint8.* without images"),
        ((PPO, IMAGES, CHOICES), {}, r"space Box.*uint8.* without images"),
        (
            (PPO, PLANE, CHOICES),
            {"policy_kwargs": {"features_extractor_class": Doubled}},
            r'extractor Doubled of ActorCriticPolicy .*Train with "MlpPolicy"',
        ),
        (
            (PPO, PLANE, CHOICES, RecurrentPolicy),
            {},
            r"class RecurrentPolicy .*only DQNPolicy, ActorCriticPolicy, SAC",
        ),
        (
            (PPO, PLANE, spaces.MultiDiscrete([2, 3])),
            {},
            r"action space MultiDiscrete\(\[2 3\]\) .*only Discrete and Box",
        ),
        (
            (TD3, PLANE, FORCES),
            {"policy_kwargs": {"activation_fn": nn.Softplus}},
            r"policy\.actor\.mu\.1, Softplus\(.*\), .*only Linear .* ReLU\(\), Tanh",
        ),
        (
            (SAC, PLANE, FORCES),
            {"policy_kwargs": {"activation_fn": lambda: nn.LeakyReLU(0.2)}},
            r"policy\.actor\.latent_pi\.1, LeakyReLU\(negative_slope=0.2\), cannot",
        ),
    ],
)
def test_what_cannot_be_converted_is_named_with_a_remedy(arguments, options, message):
    with pytest.raises(SourceError, match=message):
        jax_policy(model_of(*arguments, **options))


@pytest.mark.parametrize(
    ("kind", "action", "place", "layers", "named"),
    [
        (DQN, CHOICES, "q_net.q_net", [nn.LayerNorm(4)], "q_net.q_net.0, LayerNorm"),
        (DQN, CHOICES, "q_net.q_net", [nn.Linear(4, 3), nn.ReLU()], r"net\.1, ReLU"),
        (
            *(DQN, CHOICES, "q_net.q_net"),
            [nn.Linear(4, 5), nn.Sequential(nn.ReLU(), nn.Dropout(0.5))],
            r"q_net\.q_net\.1\.1, Dropout",
        ),
        (PPO, CHOICES, "action_net", [nn.Tanh()], r"policy\.action_net\.0, Tanh"),
        (TD3, FORCES, "actor.mu", [nn.Linear(4, 2)], r"policy\.actor\.mu\.0, Linear"),
    ],
)
def test_layers_that_were_put_in_are_named(kind, action, place, layers, named):
    original = model_of(kind, PLANE, action)
    original.policy.set_submodule(place, nn.Sequential(*layers))
    with pytest.raises(SourceError, match=named):
        jax_policy(original)


@pytest.mark.parametrize("case", ["DQN, vectors", "SAC, vectors"])
def test_only_a_distribution_has_probabilities(case):
    with pytest.raises(SourceError, match=r"Leave out stochastic=True"):
        jax_policy(model(case), stochastic=True)


@pytest.mark.parametrize("absent", ["torch", "stable_baselines3.common.base_class"])
def test_a_missing_extra_is_named(monkeypatch, absent):
    monkeypatch.setitem(sys.modules, absent, None)
    monkeypatch.delitem(sys.modules, converting.__name__)
    with pytest.raises(MissingExtraError, match=r"SB3 models .*policymix\[sb3\]"):
        importlib.import_module(converting.__name__)


@pytest.mark.parametrize("case", SAVED)
def test_models_are_converted_without_asking(case):
    original = model(case)
    library = library_of([original], original)
    assert library.spec is not None
    (source,) = library.for_target(library.spec).sources
    policy: Any = source.policy
    assert isinstance(source.policy, eqx.Module)
    assert not isinstance(source.policy, HostFunction)
    obs = observations(original.observation_space)
    assert_equal(jax.vmap(policy)(jnp.asarray(obs)), advice_of(original, obs))


class Contrary(DQN):
    """Does not do what its network says."""

    def predict(self, *arguments, **options) -> Any:
        action, state = super().predict(*arguments, **options)
        return (action + 1) % 3, state


def test_a_model_with_a_mind_of_its_own_is_asked():
    contrary = Contrary("MlpPolicy", Anywhere(PLANE, CHOICES), buffer_size=4)
    library = library_of([contrary], contrary)
    assert library.spec is not None
    (source,) = library.for_target(library.spec).sources
    assert isinstance(source.policy, HostFunction)
