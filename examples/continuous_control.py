"""Continuous control: a cheetah on a track where gravity changes along the way.

    python examples/continuous_control.py [samples]

Two simulators, on Earth and in a third of its gravity, each with a policy that SAC
trained there. Half of the target's track has the one, half the other. The mixture asks
the simulators what they would have done, and learns where to believe which; `MarsSAC`
follows the believed policy, except where its own action is surely better. Watch it with
`tensorboard --logdir cheetah-log`.
"""

import sys

import numpy as np
from stable_baselines3.common.evaluation import evaluate_policy

from policymix.bridges.stable_baselines3 import MarsSAC
from policymix.domains.cheetah.sources import cheetah_sources
from policymix.domains.cheetah.task import make_cheetah, stretch_of

samples = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
learner = MarsSAC(
    "MlpPolicy",
    make_cheetah(),
    cheetah_sources(),
    policy_kwargs={"net_arch": [128, 128]},
    batch_size=128,
    learning_rate=7e-4,
    learning_starts=min(1_000, samples // 2),
    tensorboard_log="cheetah-log",
    seed=0,
    device="cpu",
)
learner.learn(samples, progress_bar=True, log_interval=1)

seen = learner.replay_buffer.observations[: learner.num_timesteps, 0]
trusted = np.argmax(learner.advisor.weights(seen), axis=1)
right = np.mean(trusted == stretch_of(seen, 2))
score, _ = evaluate_policy(learner, make_cheetah(), 5, warn=False)
print(f"return {score:.0f}; the right simulator is trusted in {right:.0%} of states")
