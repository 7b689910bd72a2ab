"""An own task's mixture in visited states: when it is looked at, and by what."""

import math
from dataclasses import replace

import numpy as np
import pytest

from policymix.beliefs.telling import chosen, most_telling
from policymix.core.settings import DEFAULTS
from policymix.core.types import Box, Discrete
from policymix.environments.study import Cells, Points
from policymix.experiments.visited import (
    SHOWN_STATES,
    glance_times,
    some_of,
    view_facts,
    view_of,
)


@pytest.mark.parametrize(
    ("steps", "tests", "copies"), [(50_000, 1_000, 500), (700, 100, 7), (90, 64, 64)]
)
def test_looks_do_not_cut_training_into_pieces(steps, tests, copies):
    settings = replace(
        DEFAULTS, steps=steps, evaluate_every=tests, refresh_every=copies
    )
    times = glance_times(settings)
    whole = math.gcd(tests, copies)
    assert times[0] == 0
    assert times[-1] < steps
    assert math.gcd(whole, *times) in (whole, whole / 5)


def test_the_most_telling_numbers_are_those_that_trust_depends_on():
    rng = np.random.default_rng(0)
    states = rng.normal(size=(400, 5))
    first = (states[:, 3] > 0) & (states[:, 1] > -0.5)
    weights = 100 * np.stack([first, ~first], axis=1)
    assert most_telling(states, weights) == [1, 3]
    assert most_telling(states[:, :1], weights) == [0, 0]


def test_numbers_are_chosen_by_place_or_by_name():
    assert chosen(None, 3) == {}
    assert list(chosen((2, 0), 3).values()) == [2, 0]
    arrays = {"visited": np.zeros((4, 3)), "weights": np.zeros((1, 4, 2))}
    facts = view_facts(Box((0.0,) * 3, (1.0,) * 3), arrays, {"x": 2, "angle": 0})
    assert view_of(facts) == Points(("angle", "observation[1]", "x"), (2, 0))


def test_all_states_of_a_small_finite_space_are_cells():
    view = view_of(view_facts(Discrete(10), {}, None))
    assert isinstance(view, Cells)
    assert view.walls().shape == (3, 4)
    assert np.flatnonzero(view.walls()).tolist() == [10, 11]


def test_states_of_a_large_finite_space_are_points():
    arrays = {"visited": np.arange(9), "weights": np.zeros((1, 9, 2))}
    view = view_of(view_facts(Discrete(10**6), arrays, None))
    assert view == Points(("observation[0]",), (0, 0))


def test_states_come_from_all_of_the_time():
    some = some_of(np.arange(10_000))
    assert len(some) == SHOWN_STATES
    assert some[[0, -1]].tolist() == [0, 9_999]
    assert some_of(np.arange(3)).tolist() == [0, 1, 2]
