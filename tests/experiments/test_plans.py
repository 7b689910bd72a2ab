"""What an experiment consists of: methods, sweeps and moments of the paper, once."""

import re
from dataclasses import asdict, replace

import pytest

from policymix.experiments.plans import Experiment, Part, plan
from policymix.methods.method import Given
from policymix.methods.recipes import find_recipe
from policymix.training.task import load_task

from support.known import LOOKS, PAPER, SHOWN
from support.probes import HELPFUL, MIXED, QUICK

TRIALS = {"maze": 20, "cartpole": 20, "lander": 10}
SOURCES = {"maze": 4, "cartpole": 3, "lander": 3}
REUSES = [0.85, 0.9, 0.95, 0.99, 0.995]
RATES = [0.0001, 0.001, 0.01]
"""Of figures 5 to 7 in the paper's appendix."""


@pytest.fixture(scope="module", params=list(PAPER))
def task(request):
    if request.param == "lander":
        pytest.importorskip("Box2D")
    return load_task(request.param)


@pytest.fixture(scope="module")
def full(task):
    return plan(task, 0, quick=False)


@pytest.fixture(scope="module")
def quick(task):
    return plan(task, 0, quick=True)


def names_of(experiment):
    return [piece.name for piece in experiment.parts]


def test_every_method_of_the_paper_runs_once_with_the_domains_settings(full):
    name = full.task.domain.name
    alone = [f"phi{i}" for i in range(1, SOURCES[name] + 1)]
    forms = ["mars", "mars-explicit", "mars-lookahead", "mars-reward", "mars-printed"]
    others = ["mapse", "mapse-advised", "caps", "ucb", "scratch"]
    others += ["follow", "vote", "mixture-global", "oracle"]
    others += ["scratch-replay"] * (name == "maze")
    plain = [piece.method for piece in full.parts if piece.setting is None]
    assert sorted(plain) == sorted([*alone, *forms, *others])
    assert full.trials == TRIALS[name]
    assert full.settings == PAPER[name]


def test_every_piece_has_a_recipe(full):
    given = Given(
        full.settings,
        num_sources=len(full.task.sources),
        horizon=500,
        right_source=full.task.right_source,
    )
    for piece in full.parts:
        method = find_recipe(piece.method, given.num_sources)(given)
        looked_at = bool(full.looks(piece))
        assert looked_at == (method.contextual and piece.setting is None)


@pytest.mark.parametrize(
    ("method", "setting", "values"),
    [
        ("mapse", "mapse_reuse", REUSES),
        ("ucb", "ucb_reuse", REUSES),
        ("caps", "exit_rate", RATES),
    ],
)
def test_every_value_of_a_sweep_runs_exactly_once(full, method, setting, values):
    if method == "caps" and full.task.domain.name == "maze":
        values = [0.4]
    run = [
        getattr(full.settings_of(piece), setting)
        for piece in full.parts
        if piece.method == method
    ]
    assert sorted(run) == values


def test_a_sweep_changes_its_setting_and_nothing_else(full):
    usual = asdict(full.settings)
    for piece in full.parts:
        settings = asdict(full.settings_of(piece))
        changed = {name for name in usual if settings[name] != usual[name]}
        assert changed == ({piece.setting} if piece.setting else set())


def test_names_are_unique_and_make_folders(full):
    names = names_of(full)
    assert len({name.lower() for name in names}) == len(names)
    assert all(re.fullmatch(r"[a-z0-9][a-z0-9.-]*", name) for name in names)


def test_the_moments_of_figure_3_are_among_the_looks(full):
    name = full.task.domain.name
    seen = full.looks(Part("mars"))
    assert set(SHOWN[name]) <= set(seen)
    assert seen == tuple(sorted(set(LOOKS[name])))


def test_a_quick_plan_has_the_same_pieces_and_less_of_each(full, quick):
    assert quick.parts == full.parts
    assert quick.trials < full.trials
    assert replace(quick.settings, steps=full.settings.steps) == full.settings
    small, large = (sum(map(e.effort, e.parts)) for e in (quick, full))
    assert 60 < small < min(large, 240)


def test_nobody_looks_after_the_end(full, quick):
    for steps in (full.settings.steps, quick.settings.steps, 1_500, 1):
        shorter = full._replace(settings=replace(full.settings, steps=steps))
        looks = shorter.looks(Part("mars"))
        assert looks == tuple(t for t in LOOKS[full.task.domain.name] if t <= steps)
        assert looks[0] == 0


def test_a_mixture_takes_longer_and_more_trials_take_longer(full):
    mars, scratch = (full.effort(Part(name)) for name in ("mars", "scratch"))
    assert mars > scratch > 0
    assert full._replace(trials=2 * full.trials).effort(Part("mars")) > mars


def test_only_a_task_that_knows_its_right_source_has_an_oracle():
    with_truth, without = (plan(task, 0, quick=False) for task in (MIXED, HELPFUL))
    assert set(names_of(with_truth)) - set(names_of(without)) == {"oracle"}
    assert set(names_of(without)) < set(names_of(with_truth))


def test_a_task_of_ones_own_has_a_plan_but_no_looks():
    names = names_of(plan(HELPFUL, 0, quick=True))
    assert [name for name in names if name.startswith("phi")] == ["phi1", "phi2"]
    experiment = Experiment(MIXED, QUICK, 2, 0, (Part("mars"),))
    assert experiment.looks(Part("mars")) == ()
    assert experiment.title(Part("mars")) == "probe mars"
