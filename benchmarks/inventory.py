"""Inventory, sample by sample: what learning itself costs, and whom it trusts.

Tests judge the policy that was learned. A real store also pays for every order on the
way there, exploration included: Σ V*(s) − Q*(s, a) over the samples that were taken,
which is exact because values are.

    python benchmarks/inventory.py
"""

from dataclasses import dataclass

import cyclopts
import jax
import numpy as np

import policymix as pm
from policymix.environments.finite import solve
from policymix.experiments.snapshots import reference
from policymix.training.run import new_run

LOOK = 2_000


@cyclopts.Parameter(name="*")
@dataclass
class Arguments:
    """Online regret of methods on both inventories."""

    methods: tuple[str, ...] = ("mars", "mars-explicit", "mapse", "caps", "scratch")
    trials: int = 20
    seed: int = 0
    """Trial t has seed + t."""
    domains: tuple[str, ...] = ("inventory", "inventory-unforeseen")


DEFAULTS = Arguments()
app = cyclopts.App(
    default_parameter=cyclopts.Parameter(consume_multiple=True, negative=())
)


def given_away(store):
    """V*(s) − Q*(s, a) of every state and order."""
    best = solve(store.tables(), store.discount)
    return best.values[:, None] - best.action_values


def history(work):
    """Every state and order of every trial; the replay holds them all."""
    steps = work.settings.steps
    assert work.plan.capacity >= steps
    unpack = jax.jit(jax.vmap(jax.vmap(work.setup.layout.unpack)))
    taken, _ = unpack(work.loop.rows[:, :steps])
    return np.asarray(taken.obs), np.asarray(taken.action)


def rightness(work, known):
    """Share of states in which each trial trusts the right forecast most."""
    if known is None or work.setup.mixture is None:
        return ""
    weights = np.stack([a.belief.weights_of(known.states) for a in work.agents()])
    shares = np.mean(weights.argmax(axis=2) == known.right, axis=1)
    return f"; right after {LOOK:,}: {shares.mean():.1%}, least {shares.min():.1%}"


@app.default
def main(arguments: Arguments = DEFAULTS):
    """Online regret of methods on both inventories."""
    for domain in arguments.domains:
        task = pm.prepare(pm.load_task(domain))
        known, lost = reference(task), given_away(task.domain.family().target)
        print(f"{domain}: regret over all samples, mean ± standard error; every trial")
        for method in arguments.methods:
            work = new_run(
                task,
                method,
                task.domain.settings,
                seed=arguments.seed,
                trials=arguments.trials,
                stops=(LOOK,),
            )
            right = ""
            for pause in work.pauses():
                if pause.step == LOOK:
                    right = rightness(work, known)
            totals = lost[history(work)].sum(axis=1)
            error = totals.std(ddof=1) / len(totals) ** 0.5
            print(f"  {method:14} {totals.mean():8,.0f} ± {error:,.0f}{right}")
            print("    ", *totals.round().astype(int), flush=True)


if __name__ == "__main__":
    app()
