"""MARS and MAPSE for Stable-Baselines3's learners.

* `MarsDQN`, `MarsSAC` follow advice, except where the own action is surely better; in
  other forms they act on Q + cΦ.
* `MapseDQN`, `MapseSAC` do what a source drawn from the mixture would do, ever less
  often.
* `VecShapedReward` shapes the reward itself, for PPO and all others;
  `TransferCallback` logs what it tells.
* `jax_policy` turns a trained model into a policy for the compiled loops.
"""

from policymix.bridges.sb3.convert import jax_policy
from policymix.bridges.sb3.learners import MapseDQN, MapseSAC, MarsDQN, MarsSAC
from policymix.bridges.sb3.vec_env import TransferCallback, VecShapedReward

__all__ = [
    "MapseDQN",
    "MapseSAC",
    "MarsDQN",
    "MarsSAC",
    "TransferCallback",
    "VecShapedReward",
    "jax_policy",
]
