"""Ways from and to other libraries; each needs that library, and nothing needs it.

* `advisor` asks sources and mixture in NumPy, `compiled_advice` is what it calls,
  `recall` remembers answers, and `shaping` pays for following them.
* `contest` says who leads an episode, `spread` what the unit of reward is.
* `gymnasium` wraps one environment of Gymnasium.
* `stable_baselines3` has the public names for Stable-Baselines3: `sb3` has the `rule`,
  its networks (`policies`, `heads`, `student`), the `guide` that tells them of advice,
  what is common to its learners (`advised`, `mars`), how they train (`many_dqn`,
  `judged_sac`, `replay`), the `learners`, its vectorised environments (`vec_env`), and
  its models as policies (`convert`).

Imports `core`, `storage`, `environments`, `sources`, `beliefs` and `methods`: neither
training nor domains.
"""
