"""Stable-Baselines3 policies as JAX policies, which run inside compiled loops."""

from typing import TypeAlias

import jax.numpy as jnp
import numpy as np
from gymnasium import spaces
from jaxtyping import Array

from policymix.core.encoders import AbstractEncoder, Identity, OneHot
from policymix.core.errors import MissingExtraError, SourceError
from policymix.core.perceptron import Perceptron
from policymix.sources.policies import (
    ClippedPolicy,
    GreedyPolicy,
    SoftmaxPolicy,
    SquashedPolicy,
)

try:
    from stable_baselines3.common.base_class import BaseAlgorithm
    from stable_baselines3.common.policies import ActorCriticPolicy, BasePolicy
    from stable_baselines3.common.preprocessing import is_image_space
    from stable_baselines3.common.torch_layers import FlattenExtractor
    from stable_baselines3.dqn.policies import DQNPolicy
    from stable_baselines3.sac.policies import SACPolicy
    from stable_baselines3.td3.policies import TD3Policy
    from torch import Tensor, nn
except ImportError as error:
    raise MissingExtraError("Converting SB3 models", "sb3") from error

POLICY_PARTS = {
    DQNPolicy: ("q_net.q_net",),
    ActorCriticPolicy: ("mlp_extractor.policy_net", "action_net"),
    SACPolicy: ("actor.latent_pi", "actor.mu"),
    TD3Policy: ("actor.mu",),
}
"""Where each class of policy keeps the layers from observation to action."""
TORCH_ACTIVATIONS = {
    nn.ReLU: "relu",
    nn.Tanh: "tanh",
    nn.ELU: "elu",
    nn.LeakyReLU: "leaky_relu",
    nn.SiLU: "silu",
    nn.GELU: "gelu",
}
BY_HAND = "or write the policy by hand, as a function that uses jax.numpy"

NetworkPolicy: TypeAlias = GreedyPolicy | SoftmaxPolicy | ClippedPolicy | SquashedPolicy
Layers: TypeAlias = list[tuple[str, nn.Module]]
"""Each layer and its place in the policy."""


def jax_policy(model: BaseAlgorithm, stochastic: bool = False) -> NetworkPolicy:
    """Convert a DQN, PPO, A2C, SAC, TD3 or DDPG model with an "MlpPolicy".

    The result acts on one observation as `model.predict(obs, deterministic=True)`: for
    Discrete actions it returns their probabilities, one-hot at the action, and for Box
    actions the action in the environment's units. The numbers behind it (Q-values,
    logits or means, before any squashing or clipping) are
    `policy.network(policy.encoder(obs))`.

    A Discrete observation is given as the index of the state; a Box observation of
    several axes is given flattened, and so are such actions returned. The weights are
    copied: training the model further does not change the result.

    Like `predict`, the result does not normalise observations. A model that was trained
    inside `VecNormalize` expects normalised ones; to give it raw ones, replace the
    result's `encoder` by a `Standardise` with that wrapper's mean and √(var + epsilon),
    which leaves out only its clipping.

    Args:
        model: a trained model; gSDE is fine, its mean action is taken.
        stochastic: return the probabilities that PPO and A2C draw Discrete actions
            from, instead of the most likely action.

    Raises:
        SourceError: the model cannot be converted; says which part and what to do.
    """
    policy = model.policy
    encoder, layers = _encoder(policy), _layers(policy)
    space = policy.action_space
    if stochastic and not (
        type(policy) is ActorCriticPolicy and isinstance(space, spaces.Discrete)
    ):
        raise SourceError(
            f"{type(policy).__name__} with {space} has no action probabilities, only "
            "PPO and A2C with Discrete actions have. Leave out stochastic=True"
        )
    if isinstance(space, spaces.Discrete):
        kind = SoftmaxPolicy if stochastic else GreedyPolicy
        return kind(_perceptron(layers), encoder)
    if not isinstance(space, spaces.Box):
        raise SourceError(
            f"the action space {space} cannot be converted, only Discrete and Box can. "
            f"Train with one of these, {BY_HAND}"
        )
    low = jnp.array(space.low.ravel(), dtype=float)
    high = jnp.array(space.high.ravel(), dtype=float)
    if not policy.squash_output:
        return ClippedPolicy(_perceptron(layers), encoder, low, high)
    layers, limit = _before_squashing(policy, layers)
    return SquashedPolicy(_perceptron(layers), encoder, low, high, limit)


def _encoder(policy: BasePolicy) -> AbstractEncoder:
    space, extractor = policy.observation_space, policy.features_extractor_class
    if not isinstance(space, spaces.Box | spaces.Discrete) or is_image_space(space):
        raise SourceError(
            f"the observation space {space} cannot be converted, only Discrete and Box "
            f"without images can. Flatten the observations and train anew, {BY_HAND}"
        )
    if extractor is not FlattenExtractor:
        raise SourceError(
            f"the features extractor {extractor.__name__} of {type(policy).__name__} "
            "cannot be converted, only FlattenExtractor can. "
            f'Train with "MlpPolicy", {BY_HAND}'
        )
    return OneHot(int(space.n)) if isinstance(space, spaces.Discrete) else Identity()


def _layers(policy: BasePolicy) -> Layers:
    if type(policy) not in POLICY_PARTS:
        known = ", ".join(kind.__name__ for kind in POLICY_PARTS)
        raise SourceError(
            f"the policy class {type(policy).__name__} cannot be converted, only "
            f'{known} can. Train DQN, PPO, A2C, SAC, TD3 or DDPG with "MlpPolicy", '
            f"{BY_HAND}"
        )
    parts = [(name, policy.get_submodule(name)) for name in POLICY_PARTS[type(policy)]]
    return [layer for part in parts for layer in _flatten(*part)]


def _flatten(place: str, module: nn.Module) -> Layers:
    if type(module) is not nn.Sequential:
        return [(place, module)]
    parts = [_flatten(f"{place}.{i}", part) for i, part in enumerate(module)]
    return [layer for part in parts for layer in part]


def _before_squashing(
    policy: BasePolicy, layers: Layers
) -> tuple[Layers, float | None]:
    """All up to the last linear layer, and the bound that gSDE sets to SAC's means."""
    place, last = layers[-1]
    if type(policy) is SACPolicy and type(last) is nn.Hardtanh:
        return layers[:-1], float(last.max_val)
    if type(policy) is not TD3Policy:
        return layers, None
    if type(last) is not nn.Tanh:
        raise _unsupported(place, last)
    return layers[:-1], None


def _perceptron(layers: Layers) -> Perceptron:
    linear = [_linear(place, layer) for place, layer in layers[::2]]
    names = tuple(_activation(place, layer) for place, layer in layers[1::2])
    if len(names) == len(linear):
        raise _unsupported(*layers[-1])
    weights, biases = zip(*linear, strict=True)
    return Perceptron(weights, biases, names)


def _linear(place: str, layer: nn.Module) -> tuple[Array, Array]:
    if type(layer) is not nn.Linear:
        raise _unsupported(place, layer)
    bias = np.zeros(layer.out_features) if layer.bias is None else _numbers(layer.bias)
    return jnp.array(_numbers(layer.weight)), jnp.array(bias, dtype=float)


def _numbers(parameter: Tensor) -> np.ndarray:
    return parameter.detach().float().cpu().numpy()


def _activation(place: str, layer: nn.Module) -> str:
    kind = type(layer)
    if kind not in TORCH_ACTIVATIONS or repr(layer) != repr(kind()):
        raise _unsupported(place, layer)
    return TORCH_ACTIVATIONS[kind]


def _unsupported(place: str, layer: nn.Module) -> SourceError:
    known = ", ".join(repr(kind()) for kind in TORCH_ACTIVATIONS)
    return SourceError(
        f"the layer policy.{place}, {layer}, cannot be converted, only Linear layers "
        f"with one of {known} after each but the last can. Train with these, {BY_HAND}"
    )
