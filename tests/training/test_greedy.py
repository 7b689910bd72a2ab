"""What a trial does in a test, with its sources and without them."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from policymix.methods.recipes import METHODS
from policymix.training.greedy import asks_sources, greedy, greedy_in
from policymix.training.setup import build_setup
from policymix.training.train import train
from policymix.training.trial import LearningSetup, begin

from support.probes import HELPFUL, LONG, MIXED, QUICK

STATES = jnp.arange(LONG.length)


def opposed(method):
    """A trial whose own values are best on the left, where no source would go."""
    setup = build_setup(HELPFUL, method, QUICK)
    trial = begin(setup, jax.random.key(0), jnp.array(0))
    left = -2 if method == "caps" else 0
    table = trial.agent.values if method == "caps" else trial.agent
    table = table.at[:, left].set(0.1)
    agent = trial.agent._replace(values=table) if method == "caps" else table
    return setup, trial._replace(agent=agent)


@pytest.mark.parametrize("method", ["mars-explicit", "mapse-advised", "follow", "caps"])
def test_alone_no_source_is_asked(method, monkeypatch):
    setup, trial = opposed(method)

    def ask(*question):
        raise AssertionError("a source was asked")

    monkeypatch.setattr(LearningSetup, "advise", ask)
    monkeypatch.setattr(LearningSetup, "phi", ask)
    assert int(greedy(setup, trial, STATES[3], alone=True)) == 0
    np.testing.assert_array_equal(greedy_in(setup, trial, STATES, alone=True), 0)
    with pytest.raises(AssertionError, match="was asked"):
        greedy(setup, trial, STATES[3])


def test_sources_that_lead_or_shape_are_not_asked_in_tests():
    unasked = {"scratch", "scratch-replay", "mars-reward", "mars-printed", "mapse"}
    unasked |= {"ucb", "prql", "jumpstart"}
    network = replace(QUICK, layers=(4,))
    setups = {name: build_setup(MIXED, name, network) for name in METHODS}
    asked = {name for name, setup in setups.items() if asks_sources(setup)}
    assert asked == set(METHODS) - unasked


def length_of_walk(table):
    """Steps of the greedy walk of a table of values, or the horizon."""
    place = 0
    for step in range(LONG.horizon):
        place = place + 1 if np.argmax(table[place]) == 1 else max(place - 1, 0)
        if place >= LONG.length:
            return step + 1
    return LONG.horizon


@pytest.mark.learning
@pytest.mark.parametrize("method", ["follow", "scratch"])
def test_rows_say_what_the_values_are_worth_alone(method):
    result = train(MIXED, method, steps=300, trials=3, settings=QUICK, progress=False)
    for agent, row in zip(result.agents, result.rows[-3:], strict=True):
        steps = length_of_walk(np.asarray(agent.trial.agent))
        arrives = steps < LONG.horizon
        wanted = arrives + (steps - arrives) * float(LONG.cost)
        assert row.alone == pytest.approx(wanted, rel=1e-5)
    if method == "scratch":
        assert all(row.alone == row.score for row in result.rows)
    else:
        assert any(row.alone != row.score for row in result.rows)
