"""Ways from and to other libraries; each needs that library, and nothing needs it.

* `advisor` asks sources and mixture in NumPy, `compiled_advice` is what it calls, and
  `shaping` pays for following them.
* `gymnasium` wraps one environment of Gymnasium.
* `stable_baselines3` has the public names for Stable-Baselines3: `sb3` has its
  networks (`policies`), what is common to its learners (`advised`), the `learners`,
  its vectorised environments (`vec_env`), and its models as policies (`convert`).

Imports `core`, `storage`, `environments`, `sources`, `beliefs` and `methods`: neither
training nor domains.
"""
