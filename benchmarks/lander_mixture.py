"""What makes the lander's mixture land: the model, what it covers, or both?

python benchmarks/lander_mixture.py [LIBRARY]

Mixtures are trained offline on 10,000 transitions of the sparse target and then
followed for 50 episodes: mean return, and the share that comes to rest.
"""

import sys

import jax.numpy as jnp
import numpy as np

from policymix.beliefs.belief import learn_belief
from policymix.core.kernels import Gaussian, StudentT
from policymix.environments.copies import copies_of
from policymix.environments.episodes import Sampled, collect, play
from policymix.sources.dynamics import LogDensity
from policymix.sources.experts import SourceTask
from policymix.sources.library import SourceLibrary
from policymix.sources.policies import policy_of
from policymix.training.task import explore, load_task

SAMPLES, EPISODES = 10_000, 50


def target_data(task, behaviour, seed, samples=SAMPLES):
    """Transitions of the target: sources that take turns, or one after the other."""
    target = task.domain.family().target
    policies = [policy_of(source.policy) for source in task.sources.sources]
    if behaviour == "in turn":
        return explore(task, samples, seed, epsilon=0.1)
    share = -(-samples // len(policies))
    parts = [
        collect(copies_of(target, 16), policy, share, seed + i, epsilon=0.1)
        for i, policy in enumerate(policies)
    ]
    return Sampled(*(np.concatenate(part) for part in zip(*parts, strict=True)))


def ablated(library, kernel, part):
    """The library with another kernel, and one half of every error left out."""

    def source(full):
        covered = full.dynamics

        def model_alone(obs, action, next_obs):
            prediction = library.encoder(covered(obs, action))
            return kernel(prediction, library.encoder(next_obs))

        def cover_alone(obs, action, next_obs):
            return kernel(covered.distance(obs)[None], jnp.zeros(1))

        densities = {"model": model_alone, "cover": cover_alone}
        dynamics = LogDensity(densities[part]) if part in densities else covered
        return SourceTask(full.name, full.policy, dynamics, kernel)

    sources = [source(full) for full in library.sources]
    return SourceLibrary(sources, library.spec, library.encoder)


def choices(belief, data):
    """How often each source is chosen above and below the hover box."""
    chosen = belief.weights_of(data.obs).argmax(axis=1)
    height = data.obs[:, 1]
    bands = {"high": height > 0.6, "low": (height < 0.25) & (height > 0.0)}
    return "  ".join(
        f"{name} " + "/".join(f"{np.mean(chosen[band] == i):.0%}" for i in range(3))
        for name, band in bands.items()
    )


def main():
    task = load_task(sys.argv[1] if len(sys.argv) > 1 else "lander")
    target = task.domain.family().target
    paper, softer, heavy = Gaussian(5e5), Gaussian(5e3), StudentT(5e3)
    libraries = {
        "model and cover": task.sources,
        "- precision 5e3": ablated(task.sources, softer, "both"),
        "- Student t, 5e3": ablated(task.sources, heavy, "both"),
        "model alone": ablated(task.sources, paper, "model"),
        "- Student t, 5e3 ": ablated(task.sources, heavy, "model"),
        "cover alone": ablated(task.sources, paper, "cover"),
    }
    print(f"sources {'/'.join(task.sources.names)}")
    for behaviour in ("in turn", "one by one"):
        data = target_data(task, behaviour, seed=1_000)
        for label, library in libraries.items():
            for seed in (1_000, 1_001):
                belief = learn_belief(library, data, seed=seed, batch=64)
                episodes = play(target, belief.follow, EPISODES, 6_500_000)
                mean = np.mean([episode.total for episode in episodes])
                rest = np.mean([e.info["outcome"] == "rest" for e in episodes])
                print(
                    f"{behaviour:10}  {label:16}  seed {seed}  return {mean:6.1f}  "
                    f"rest {rest:4.0%}  {choices(belief, data)}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
