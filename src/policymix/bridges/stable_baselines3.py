"""MARS and MAPSE for Stable-Baselines3's learners.

* `MarsDQN`, `MarsSAC` follow advice, except where the own action is surely better; in
  other forms they act on Q + cΦ.
* `MarsPPO` begins as the mixture of the sources' policies, and is held to it until its
  own are proved better.
* `MapseDQN`, `MapseSAC` do what a source drawn from the mixture would do, ever less
  often.
* `VecShapedReward` shapes the reward itself, for any other;
  `TransferCallback` logs what it tells.
* `jax_policy` turns a trained model into a policy for the compiled loops.
"""

from policymix.bridges.sb3.convert import jax_policy
from policymix.bridges.sb3.learners import MapseDQN, MapseSAC, MarsDQN, MarsSAC
from policymix.bridges.sb3.mars_ppo import MarsPPO
from policymix.bridges.sb3.vec_env import TransferCallback, VecShapedReward

__all__ = [
    "MapseDQN",
    "MapseSAC",
    "MarsDQN",
    "MarsPPO",
    "MarsSAC",
    "TransferCallback",
    "VecShapedReward",
    "jax_policy",
]
