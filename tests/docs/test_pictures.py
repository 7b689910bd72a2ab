"""What the pictures of the documentation claim holds of the numbers they show."""

import importlib
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import policymix as pm
from policymix.beliefs.potentials import EXPLICIT, LOOKAHEAD, REWARD

pytestmark = [pytest.mark.learning, pytest.mark.shown]

DOCS = Path(__file__).parents[2] / "docs"
README = DOCS.parent / "README.md"
PAGES = [README, *(DOCS / "concepts").glob("*.md"), *(DOCS / "howto").glob("*.md")]


@pytest.fixture(scope="module")
def pictures():
    """The numbers and drawings of every page, in one namespace."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(DOCS / "pictures")
        made = importlib.import_module("make")
    names = {k: v for page in made.PAGES for k, v in vars(page).items()}
    return SimpleNamespace(**names | {"PICTURES": made.PICTURES})


def test_every_picture_is_shown_and_every_shown_one_is_made(pictures):
    text = "".join(page.read_text() for page in PAGES)
    kinds = r"(?:concepts-|howto-)[\w-]+|demo|demo-dark"
    shown = set(re.findall(rf"images/({kinds})\.png[)\"]", text))
    assert shown == set(pictures.PICTURES)
    there = {path.stem for path in (DOCS / "images").glob("*.png")}
    assert {name for name in there if re.fullmatch(kinds, name)} == shown


def test_pictures_name_the_command_that_draws_them(pictures):
    text = "".join(page.read_text() for page in PAGES)
    told = re.findall(r"`python docs/pictures/make.py ([\w -]+)`", text)
    assert {name for names in told for name in names.split()} == set(pictures.PICTURES)


def test_the_rooms_light_up_and_nobody_else_finds_the_goal(pictures):
    results = pictures.demo()
    first, *_, last = pictures.glimpses(results)
    walls = results.study.view.walls().ravel()
    lit = [moment.weights[~walls].max(axis=1) for moment in (first, last)]
    assert lit[0].mean() < 0.4
    assert lit[1].mean() > 0.9
    assert (first.steps, last.steps) == (pictures.LIMIT, 86)
    alone = {f"phi{place}" for place in (1, 2, 3, 4)}
    assert set(pictures.helpless(results)) == {*alone, "vote", "scratch"}
    for name in ("demo", "demo-dark"):
        assert (DOCS / "images" / f"{name}.png").stat().st_size < 300_000


def test_the_strip_trusts_and_advises_the_half_that_is_right(pictures):
    found = pictures.idea()
    for half, source, action in (
        (found.places < -0.1, 0, 0),
        (found.places > 0.1, 1, 1),
    ):
        assert np.all(found.weights[half, source] > 0.95)
        assert np.all(found.potential[half, action] > 0.95)


def test_a_sharp_kernel_drops_an_error_sooner_and_heavy_tails_later(pictures):
    curves = pictures.kernels().curves
    wide, sharp, heavy = (
        curves[name] for name in ("Gaussian(50)", "Gaussian(500)", "StudentT(500)")
    )
    assert sharp[0] > wide[0]
    assert sharp[-1] < wide[-1] < heavy[-1]


def test_coverage_tells_apart_what_errors_alone_do_not(pictures):
    found = pictures.coverage()
    np.testing.assert_allclose(found.alone, 0.0, atol=1e-4)
    left = found.places < -0.1
    right = found.places > 0.1
    assert np.all(found.covered[left, 0] > found.covered[left, 1])
    assert np.all(found.covered[right, 1] > found.covered[right, 0])


def test_cartpoles_stripes_appear_with_samples_where_the_cart_has_been(pictures):
    found = pictures.moments()
    near = np.abs(found.positions) < 1.0
    right = {
        moment: np.mean(weights[near].argmax(axis=1) == found.right[near])
        for moment, weights in found.weights.items()
    }
    assert right[0] < 0.5
    assert right[500] < right[1_000] < 0.8
    assert right[5_000] > 0.9
    unvisited = (np.abs(found.positions) > 1.5) & (found.right == 0)
    assert np.any(unvisited)
    assert np.mean(found.weights[5_000][unvisited, 0]) < 0.3


def test_the_exact_mixture_narrows_around_the_share_that_was_seen(pictures):
    found = pictures.posterior()
    means = [found.means[count] for count in pictures.COUNTS]
    assert means[0] == pytest.approx(0.5, abs=1e-3)
    assert np.all(np.diff(np.abs(np.array(means) - pictures.SHARE)) < 0)
    peaks = [found.densities[count].max() for count in pictures.COUNTS]
    assert np.all(np.diff(peaks) > 0)
    assert found.network == pytest.approx(pictures.SHARE, abs=0.03)


def test_the_own_model_takes_the_stretch_that_no_source_knows(pictures):
    found = pictures.own_model()
    middle, sides = np.abs(found.places) < 0.25, np.abs(found.places) > 0.45
    assert np.all(found.weights[middle, 2] > 0.9)
    assert np.all(found.weights[sides, 2] < 0.1)


def test_along_the_track_the_advised_push_is_the_trusted_sources(pictures):
    found = pictures.pushes()
    np.testing.assert_allclose(found.potential.sum(axis=1), 1.0, rtol=1e-5)
    sure = found.weights.max(axis=1) > 0.6
    trusted = found.weights.argmax(axis=1)
    advised = found.advice[np.arange(len(trusted)), trusted]
    np.testing.assert_array_equal(found.potential.argmax(axis=1)[sure], advised[sure])
    assert np.mean(trusted == found.right) > 0.85
    rough, slippery = (found.advice[found.right == i, i] for i in (0, 1))
    assert set(rough.tolist()) == {pictures.PUSHES.index("full right")}
    assert set(slippery.tolist()) == {pictures.PUSHES.index("half right")}


@pytest.mark.learning
def test_the_gate_leaves_random_policies_and_keeps_the_shipped_ones(pictures):
    task = pm.load_task("cartpole")
    few = replace(task.domain.settings, heads=4, batch=16)
    task = replace(task, target=replace(task.domain, settings=few))
    good = pictures.gate(task, trials=2, steps=4_000)
    bad = pictures.gate(pictures.spoilt(task), trials=2, steps=6_000)
    assert good.shares[0] == bad.shares[0] == 1.0
    assert good.shares[-1] == 1.0
    assert bad.shares[-1] <= 0.5
    assert good.scores[-1] > 450


@pytest.mark.parametrize(
    ("form", "right_advice", "wrong_advice"),
    [(REWARD, 1, 1), (LOOKAHEAD, 0, 1), (EXPLICIT, 0, 0)],
    ids=["reward", "lookahead", "explicit"],
)
def test_of_two_actions_only_reward_never_takes_the_advised_one(
    pictures, form, right_advice, wrong_advice
):
    assert pictures.ADVISED == 0
    cases = ((1.0, 0.8), right_advice), ((0.8, 1.0), wrong_advice)
    for rewards, taken in cases:
        assert pictures.two_actions(form, rewards, 0.5)[-1].argmax() == taken


@pytest.mark.parametrize(
    ("form", "towards", "away"),
    [(REWARD, 0, 1), (LOOKAHEAD, 1, 1), (EXPLICIT, 1, 0)],
    ids=["reward", "lookahead", "explicit"],
)
def test_in_the_corridor_reward_does_the_opposite_of_its_advice(
    pictures, form, towards, away
):
    good = pictures.corridor(form, pictures.RIGHT)
    bad = pictures.corridor(form, pictures.LEFT)
    assert np.all(good[-1] == towards)
    assert np.all(bad[-1] == away)
    wavers = np.any(good != good[-1])
    assert wavers == (form is LOOKAHEAD)


def test_mapse_ucb_and_the_printed_form_cost_samples_on_cartpole(pictures):
    """And `mars` does not; only the printed form ends worse beyond doubt."""
    found = pictures.harm()
    for name in ("mapse", "ucb", "mars-reward"):
        assert found[name].beats_scratch.high < 0.5
    assert found["mars-reward"].harms.low > 0.5
    assert found["mars"].area.low > found["scratch"].area.high
    assert found["mars"].harms.high < 0.1
