"""Every mixture that `Settings` offers, in the same short training by MARS.

The maze and the inventory have finitely many states and no kernels with a precision, so
the exact mixture can be used and precisions cannot be learned; for CartPole it is the
other way round. "cartpole, blunt kernels" gives its sources Gaussian kernels a hundred
million times less precise than those they come with, as one might who does not know how
good a model is.

    python benchmarks/mixtures.py
"""

import time
from dataclasses import dataclass, replace

import cyclopts
import numpy as np

import policymix as pm
from policymix.experiments.snapshots import reference

PRIORS = {
    "network": {},
    "network, gaussian prior": {"mixture_prior": "gaussian"},
    "network, laplace prior": {"mixture_prior": "laplace"},
}
EXACT = {
    "dirichlet": {"mixture": "dirichlet"},
    "dirichlet, α = 0.1": {"mixture": "dirichlet", "concentration": 0.1},
}
PRECISIONS = {
    "network, learned precision": {"precision": "learned"},
    "network, precision per state": {"precision": "per-state"},
}


def blunt(task):
    """The same sources, whose kernels hardly tell a small error from a large one."""
    sources = [
        replace(source, kernel=pm.Gaussian(0.005)) for source in task.sources.sources
    ]
    return replace(task, sources=replace(task.sources, sources=tuple(sources)))


CASES = {
    "maze": ("maze", lambda task: task, 20_000, PRIORS | EXACT),
    "inventory": ("inventory", lambda task: task, 5_000, PRIORS | EXACT),
    "cartpole": ("cartpole", lambda task: task, 3_000, PRIORS | PRECISIONS),
    "cartpole, blunt kernels": ("cartpole", blunt, 3_000, PRIORS | PRECISIONS),
}


@cyclopts.Parameter(name="*")
@dataclass
class Arguments:
    """What the choice of a mixture brings."""

    method: str = "mars"
    trials: int = 3
    seed: int = 1_000
    """Trial t has seed + t."""
    cases: tuple[str, ...] = tuple(CASES)


DEFAULTS = Arguments()
app = cyclopts.App(
    default_parameter=cyclopts.Parameter(consume_multiple=True, negative=())
)


def line(task, known, settings, method, arguments):
    """Scores and, if there is one, rightness of a mixture."""
    started = time.perf_counter()
    trained = pm.train(
        task,
        method,
        settings=settings,
        seed=arguments.seed,
        trials=arguments.trials,
        progress=False,
    )
    took = time.perf_counter() - started
    _, scores = trained.curve()
    told = f"mean of the tests {scores.mean():6.2f}, last {scores[-1].mean():6.2f}"
    if method == "scratch":
        return told
    beliefs = [agent.belief.weights_of(known.states) for agent in trained.agents]
    right = np.mean(np.argmax(beliefs, axis=2) == known.right)
    sure = np.mean(np.max(beliefs, axis=2))
    return (
        f"{told}, right source on top {right:4.0%}, mean weight of the top {sure:4.0%}"
        f", {took:3.0f} s"
    )


@app.default
def main(arguments: Arguments = DEFAULTS):
    """A line for every mixture."""
    for title in arguments.cases:
        domain, change, steps, choices = CASES[title]
        plain = pm.prepare(pm.load_task(domain))
        task, known = pm.prepare(change(plain)), reference(plain)
        print(
            f"{title}: {plain.domain.measure}, {arguments.method}, {steps:,} samples, "
            f"{arguments.trials} trials, seeds from {arguments.seed} on"
        )
        for name, chosen in {"no transfer": {}, **choices}.items():
            settings = replace(plain.domain.settings, steps=steps, **chosen)
            method = arguments.method if name in choices else "scratch"
            told = line(task, known, settings, method, arguments)
            print(f"  {name:29} {told}", flush=True)


if __name__ == "__main__":
    app()
