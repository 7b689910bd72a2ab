"""What is told before training is true of sources whose truth is known."""

import numpy as np
import pytest

from policymix.core.errors import PolicymixError
from policymix.reports.task_check import check
from policymix.sources.dynamics import LogDensity
from policymix.sources.experts import SourceTask
from policymix.sources.library import SourceLibrary
from policymix.training.task import TransferTask

from support.command_line import typed
from support.own_probes import LineDomain, homeward_jax, stepping_jax
from support.own_probes import unoptimised as unoptimised
from support.slope import Slope, library

pytestmark = pytest.mark.usefixtures("unoptimised")


def source(name, dynamics, policy=homeward_jax, **maps):
    return SourceTask(name, policy, dynamics, **maps)


def apart(factor):
    """Predicts so many times the change."""
    return lambda obs, action: obs + factor * (stepping_jax(obs, action) - obs)


def checked(*sources):
    return check(TransferTask(LineDomain(), SourceLibrary(sources)), samples=64)


@pytest.fixture(scope="module")
def found():
    return checked(
        source("exact", stepping_jax),
        source("still", lambda obs, action: obs),
        source("loud", apart(5.0), lambda obs: 1 - homeward_jax(obs)),
        source("turned", apart(-1.0)),
        source("twin", stepping_jax),
        source(
            "inches",
            lambda obs, action: 40 * stepping_jax(obs / 40, 1 - action),
            lambda obs: 1 - homeward_jax(obs),
            observe=lambda obs: 40 * obs,
            act=[1, 0],
        ),
        source("density", LogDensity(lambda obs, action, after: -(after[0] ** 2))),
    )


def test_errors_are_shares_of_what_changes(found):
    ratios = {fit.name: fit.ratio for fit in found.fits.sources}
    expected = {"exact": 0.0, "still": 1.0, "loud": 16.0, "turned": 4.0, "inches": 0.0}
    for name, ratio in expected.items():
        np.testing.assert_allclose(ratios[name], ratio, rtol=1e-3, atol=1e-6)
    assert np.isnan(ratios["density"])
    asked = {fit.name: fit for fit in found.fits.sources}["density"]
    assert 0.2 < asked.explained < 0.8  # it likes what comes nearer to zero
    explained = {fit.name: fit.explained for fit in found.fits.sources}
    assert explained["exact"] == explained["inches"] == 1.0
    assert explained["still"] == explained["loud"] == 0.0


def test_slopes_show_units_and_signs(found):
    slopes = {fit.name: fit.slopes[0] for fit in found.fits.sources}
    assert slopes["exact"] == pytest.approx(1.0, rel=1e-3)
    assert slopes["loud"] == pytest.approx(5.0, rel=1e-3)
    assert slopes["turned"] == pytest.approx(-1.0, rel=1e-3)
    assert np.isnan(slopes["still"])


def test_advice_and_predictions_are_compared(found):
    names = [fit.name for fit in found.fits.sources]
    exact, loud, twin = (names.index(name) for name in ("exact", "loud", "twin"))
    assert found.fits.advice[exact, loud] == 1.0
    assert found.fits.advice[exact, twin] == 0.0
    assert found.fits.predictions[exact, loud] == pytest.approx(16.0, rel=1e-3)
    assert found.fits.predictions[exact, twin] == 0.0
    assert np.isnan(found.fits.predictions[exact, names.index("inches")])


def test_words_say_what_matters(found):
    told = "\n".join(found.sentences())
    for words in (
        "3 of 6 sources explain the target better than 'nothing changes'",
        "still is no better than 'nothing changes' (1 times as wrong)",
        "loud expects 5 times the change in component 0 of the observation: another un",
        "turned expects -1 times the change in component 0 of the observation: another",
        "exact and twin predict almost the same",
        "advise the same: one is enough",
        "density has a density of its own",
        f"to it {found.fits.sources[-1].explained:.0%} of the steps are likelier",
        "different actions in 0% to 100% of the states",
    ):
        assert words in told, told


def test_useless_sources_are_told():
    found = checked(source("still", lambda obs, action: obs))
    assert found.sound
    assert "expect no transfer" in found.sentences()[0]


def test_the_picture_is_a_png(found, tmp_path):
    found.plot(tmp_path / "new" / "fits.png")
    assert (tmp_path / "new" / "fits.png").read_bytes().startswith(b"\x89PNG")
    found.plot(tmp_path / "fits.pdf")
    assert (tmp_path / "fits.pdf").read_bytes().startswith(b"%PDF")
    with pytest.raises(PolicymixError, match=r"in \.png, \.pdf, \.svg"):
        found.plot(tmp_path / "fits.jpg")


def test_a_notebook_shows_words_and_picture(found):
    html = found._repr_html_()
    assert "sources explain the target better than &#x27;nothing" in html
    assert "<img" in html


def test_vectors_of_actions_are_compared_by_their_distance():
    """The sources advise opposite bounds; each is right on one half of the slope."""
    task = TransferTask(lambda: Slope(continuous=True), library(continuous=True))
    found = check(task, samples=200)
    assert found.fits is not None
    np.testing.assert_array_equal(found.fits.advice, [[0.0, 1.0], [1.0, 0.0]])
    left, right = found.fits.sources
    assert left.explained + right.explained == pytest.approx(1.0, abs=0.1)
    assert min(left.explained, right.explained) > 0.1
    told = "\n".join(found.sentences())
    assert "differs by 100% of the distance between the bounds" in told


def test_what_is_unsound_is_mended_first():
    wild = source("wild", lambda obs, action: obs / (abs(obs[0]) < 2.0))
    found = checked(source("exact", stepping_jax), wild)
    assert not found.sound
    assert found.fits is None
    assert "once the task is sound" in found.sentences()[0]
    with pytest.raises(PolicymixError, match="nothing to draw yet"):
        found.plot("nowhere.png")


TASK = """
import policymix as pm
from support.own_probes import Line, homeward, stepping
source = pm.SourceTask("only [red]", homeward, Line())
own = pm.SourceTask("plain", homeward, stepping)
task = pm.TransferTask(Line, pm.SourceLibrary([own]), horizon=20)
unset = pm.TransferTask(Line, pm.SourceLibrary([source]))
"""


def test_a_file_is_checked_from_the_command_line(monkeypatch, capsys, tmp_path):
    file = tmp_path / "my_task.py"
    file.write_text(TASK)
    out = tmp_path / "out"
    code, printed = typed(monkeypatch, capsys, "check", file, "--out", out)
    assert code == 0, printed
    assert "plain" in printed
    assert "0 unsound" in printed
    assert (out / "check.png").exists()
    code, printed = typed(monkeypatch, capsys, "check", f"{file}:unset")
    assert code == 1
    assert "cannot be set from its observations" in printed
