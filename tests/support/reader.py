"""A reader in a hurry: runs what a page or an example shows, with a small budget.

Nothing is left out and nothing is replaced; only numbers of samples, trials, updates,
epochs and test episodes are lowered, on their way into the public functions that take
them. What pages say of their figures is stated by tests of its own.
"""

import re
import runpy
import sys
import textwrap
from dataclasses import replace

import policymix as pm
from policymix.environments.domain import Domain

STEPS, OWN_STEPS, TRIALS, UPDATES = 500, 200, 2, 1_000
FEW = replace(pm.DEFAULTS, evaluation_episodes=1, final_episodes=1, epochs=1)
"""For targets of the reader's own; others keep theirs, and so share their programs."""
PYTHON = re.compile(r"^( *)```python\n(.*?)^\1```", re.MULTILINE | re.DOTALL)


def hurry(monkeypatch, most=STEPS):
    """Lower the budgets of training and fitting."""
    train = pm.train

    def briefly(task, *method, steps=None, trials=1, settings=None, **more):
        own = not isinstance(task, str) and not isinstance(task.target, Domain)
        if own and settings is None:
            settings = FEW
        enough = min(most, OWN_STEPS) if own else most
        few = {"steps": min(steps or enough, enough), "trials": min(trials, TRIALS)}
        return train(task, *method, settings=settings, **few, **more)

    compare = pm.compare

    def shortly(task, *methods, steps=most, trials=1, **more):
        del trials
        few = replace(FEW, steps=min(steps, most), evaluate_every=100)
        return compare(task, *methods, trials=1, settings=few, **more)

    def roughly(fit):
        def call(data, *, settings=None, **more):
            settings = settings or pm.ModelSettings()
            return fit(data, settings=replace(settings, max_steps=UPDATES), **more)

        return call

    monkeypatch.setattr(pm, "train", briefly)
    monkeypatch.setattr(pm, "compare", shortly)
    for name in ("fit_dynamics", "fit_policy"):
        monkeypatch.setattr(pm, name, roughly(getattr(pm, name)))


def python_blocks(page):
    return [textwrap.dedent(code) for _, code in PYTHON.findall(page.read_text())]


def run_page(page, folder, monkeypatch):
    """One block after the other, as a reader would type them."""
    monkeypatch.chdir(folder)
    names = {}
    for block in python_blocks(page):
        exec(block, names)
    return names


def run_program(file, arguments, folder, monkeypatch):
    """A program as from the shell."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "argv", [str(file), *arguments])
    return runpy.run_path(str(file), run_name="__main__")
