"""The loop: when it stops, what it keeps, and which settings it refuses."""

import re

import numpy as np
import pytest

import policymix as pm
from policymix.core.errors import SourceError
from policymix.sources.fitting.fit import stop_early

from support.turning import (
    fit,
)


def fit_noise(**options):
    rng = np.random.default_rng(0)
    obs, noise = rng.normal(size=(2, 2_000, 2))
    settings = pm.ModelSettings(50_000, patience=2, batch=64, learning_rate=5e-3)
    data = obs, rng.integers(3, size=2_000), noise
    return noise, fit(data, settings=settings, **options)


def test_noise_is_not_learned_and_ends_training_without_a_word(capsys):
    noise, found = fit_noise()
    assert capsys.readouterr().out == ""
    assert found.steps <= 10_000
    spread = np.asarray(found.model.encoder.spread)
    variance = np.square(noise / spread).sum(axis=1).mean()
    assert 0.8 * variance < found.error < 1.6 * variance


def test_the_bar_ends_with_the_steps_that_were_taken(capsys):
    _, found = fit_noise(progress=True)
    steps, printed = found.steps, capsys.readouterr().out
    assert steps < 50_000
    assert re.search(rf"dynamics .* {steps}/{steps} .*\d/s error \d", printed)


@pytest.mark.parametrize(
    ("errors", "best", "tried"),
    [
        ([5.0, 3.0, 4.0, 4.0, 1.0], 1, 4),
        ([5.0, 4.99, 4.98, 1.0], 2, 3),
        ([5.0, 4.0, 4.5, 3.0, 3.5], 3, 5),
        ([np.nan, 2.0, np.nan, np.nan, 1.0], 1, 4),
    ],
)
def test_training_stops_without_gain_and_keeps_the_best(errors, best, tried):
    told = []
    stages = iter(range(len(errors)))
    found = stop_early(stages, lambda stage: errors[stage], 2, told.append)
    assert found == (best, tried)
    np.testing.assert_array_equal(told, errors[:tried])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_steps": 500}, "max_steps is 500. Give a multiple of 1,000"),
        ({"patience": 0}, "patience is 0. Give more than zero"),
    ],
)
def test_settings_are_checked(options, message):
    with pytest.raises(SourceError, match=message):
        pm.ModelSettings(**options)


def test_training_that_diverges_says_so():
    with pytest.raises(SourceError, match="smaller learning_rate"):
        stop_early(iter("abcd"), lambda stage: np.nan, 2, lambda error: None)
