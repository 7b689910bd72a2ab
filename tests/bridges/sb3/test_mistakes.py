"""Mistakes are told before training, each with its remedy."""

import pytest
from gymnasium import spaces

pytest.importorskip("stable_baselines3")

from stable_baselines3.common.buffers import ReplayBuffer
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize
from stable_baselines3.dqn.policies import DQNPolicy

from policymix.bridges.stable_baselines3 import (
    MapseDQN,
    MapseSAC,
    MarsDQN,
    MarsPPO,
    VecShapedReward,
)
from policymix.core.errors import (
    DomainError,
    PolicymixError,
    SourceError,
)

from support.sb3 import (
    agent,
)
from support.slope import (
    CONTINUOUS,
    DISCRETE,
    Slope,
    ready,
    untyped,
)


class Mixed(Slope):
    """Observations that are no vectors."""

    def __init__(self):
        super().__init__()
        self.observation_space = spaces.Dict({"place": self.observation_space})


def normalised(**options):
    return VecNormalize(DummyVecEnv([Slope]), **options)


MISTAKES = {
    "no sources": (
        lambda: MarsDQN("MlpPolicy", Slope()),
        PolicymixError,
        r"MarsDQN\(…, sources=library\)",
    ),
    "a list of sources": (
        lambda: agent(MarsDQN, list(DISCRETE.sources)),
        SourceError,
        "give SourceLibrary",
    ),
    "a dictionary": (
        lambda: agent(MarsDQN, env=Mixed()),
        DomainError,
        "observation_space is a Dict space.*FlattenObservation",
    ),
    "other sources": (
        lambda: agent(MarsDQN, ready(True)),
        SourceError,
        "are for .* but the target has",
    ),
    "sources that do not fit": (
        lambda: agent(MarsDQN, CONTINUOUS),
        SourceError,
        "source 'left'",
    ),
    "normalised observations": (
        lambda: agent(MarsDQN, env=normalised()),
        PolicymixError,
        "norm_obs=False",
    ),
    "normalised observations, shaped": (
        lambda: VecShapedReward(normalised(), DISCRETE),
        PolicymixError,
        "norm_obs=False",
    ),
    "normalised observations, later": (
        lambda: agent(MapseDQN).set_env(normalised()),
        PolicymixError,
        "norm_obs=False",
    ),
    "normalised observations of PPO": (
        lambda: agent(MarsPPO, env=normalised()),
        PolicymixError,
        "norm_obs=False",
    ),
    "noise of the state": (
        lambda: agent(MarsPPO, CONTINUOUS, continuous=True, use_sde=True),
        PolicymixError,
        "Leave use_sde out",
    ),
    "several steps": (
        lambda: agent(MarsDQN, n_steps=3),
        PolicymixError,
        "n_steps is 3",
    ),
    "an unknown form": (
        lambda: agent(MarsDQN, form="reward"),
        PolicymixError,
        "'sure', 'explicit', 'lookahead'",
    ),
    "a scale without use": (
        lambda: agent(MarsDQN, scale=100.0),
        PolicymixError,
        "scale=100.0, but form='sure'.*Leave scale out, or give form='explicit'",
    ),
    "a replay without a unit": (
        lambda: agent(MarsDQN, replay_buffer_class=ReplayBuffer),
        PolicymixError,
        "replay_buffer_class=ReplayBuffer .*Leave it out, or give a subclass",
    ),
    "an odd number of networks": (
        lambda: agent(MarsDQN, heads=5),
        PolicymixError,
        "heads is 5.*even number from 4 on",
    ),
    "an unknown form of reward": (
        lambda: VecShapedReward(DummyVecEnv([Slope]), DISCRETE, form="explicit"),  # pyright: ignore[reportArgumentType]
        PolicymixError,
        "'lookback' or 'bonus'",
    ),
    "images": (
        lambda: MarsDQN("CnnPolicy", Slope(), DISCRETE),
        PolicymixError,
        r"'CnnPolicy' cannot be advised.*'MlpPolicy'",
    ),
    "a policy without advice": (
        lambda: MarsDQN(DQNPolicy, Slope(), DISCRETE),
        PolicymixError,
        "AdvisedDQNPolicy",
    ),
    "too much reuse": (
        lambda: agent(MapseSAC, reuse=1.1),
        PolicymixError,
        "reuse is 1.1",
    ),
    "continuous actions": (
        lambda: agent(MarsDQN, CONTINUOUS, Slope(continuous=True)),
        AssertionError,
        "only supports .*Discrete.* but Box",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_told_before_training(mistake):
    make, kind, says = MISTAKES[mistake]
    with untyped(), pytest.raises(kind, match=says):
        make()
