"""An advisor asks, believes and draws as the pure functions say."""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from policymix.beliefs.build import make_mixture
from policymix.beliefs.potentials import potential
from policymix.bridges.advisor import Advisor
from policymix.core.encoders import Standardise
from policymix.core.errors import PolicymixError, SourceError
from policymix.core.kernels import Gaussian
from policymix.core.spaces import spec_of_spaces
from policymix.core.types import Box, Discrete, TaskSpec
from policymix.sources.experts import SourceTask
from policymix.sources.library import SourceLibrary

from support.probes import LONG, MIXED
from support.slope import (
    CONTINUOUS,
    DISCRETE,
    FAST,
    OWN,
    SOURCES,
    Slope,
    source,
    wander,
)

SPECS = {kind: spec_of_spaces(Slope(continuous=kind), "slope") for kind in SOURCES}
SPEC = SPECS[False]
STARTS = np.array([Slope().reset(seed=seed)[0] for seed in range(8)])
PLACES = np.array([-0.9, -0.7, -0.5, -0.3, 0.3, 0.5, 0.7])
GRID = np.stack([PLACES, np.zeros(7)], axis=1).astype(np.float32)


def advisor_of(sources=DISCRETE, settings=FAST, spec=SPEC, **options):
    return Advisor(sources, spec, settings, observations=STARTS, **options)


def taught(sources=DISCRETE, settings=FAST, updates=150, **options):
    """An advisor after many transitions of the slope."""
    advisor = advisor_of(sources, settings, **options)
    advisor.observe(*wander(Slope(), 200))
    advisor.learn(updates)
    return advisor


@pytest.mark.parametrize("settings", [FAST, OWN], ids=["sources", "own"])
def test_potential_is_weights_times_advice(settings):
    advisor = taught(settings=settings, updates=5)
    mixture = make_mixture(advisor.library, settings)
    structure = jax.tree.structure(mixture.init(jax.random.key(0)))
    state = jax.tree.unflatten(structure, advisor.state)

    def phi(obs):
        return potential(mixture.weights(state, obs), advisor.library.advise(obs))

    expected = np.asarray(jax.vmap(phi)(jnp.asarray(GRID)))
    np.testing.assert_allclose(advisor.potential(GRID), expected, rtol=1e-5)
    weights, advice = advisor.advice(GRID)
    np.testing.assert_allclose(
        np.einsum("ri,ria->ra", weights, advice), expected, rtol=1e-5
    )
    everyone = advisor.weights(GRID)
    assert everyone.shape == (7, len(advisor.names))
    np.testing.assert_allclose(everyone.sum(axis=1), 1.0, rtol=1e-5)
    assert advisor.names == ("left", "right", "own")[: everyone.shape[1]]


def test_evidence_is_what_the_sources_say():
    advisor = advisor_of()
    rows = wander(Slope(), 9)
    advisor.observe(*rows)
    evidence = advisor._rows.at(np.arange(9))
    told = jax.vmap(advisor.library.log_likelihoods)(*map(jnp.asarray, rows))
    for kept, given in zip(evidence, (*rows, told), strict=True):
        np.testing.assert_allclose(kept, given, rtol=1e-5)


def test_learning_explains_more_and_finds_the_right_source_by_region():
    advisor = taught(updates=1)
    assert advisor.metrics is not None
    first = float(advisor.metrics.log_evidence)
    advisor.learn(300)
    assert float(advisor.metrics.log_evidence) > first + 0.5
    right = advisor.weights(GRID)[:, 1]
    np.testing.assert_array_equal(right > 0.5, PLACES > 0)
    np.testing.assert_array_less(np.abs(right - (PLACES > 0)), 0.2)
    figures = advisor.figures()
    assert figures["transfer/log_evidence"] == float(advisor.metrics.log_evidence)
    shares = [figures[f"transfer/source_weight/{name}"] for name in advisor.names]
    assert sum(shares) == pytest.approx(1.0, abs=1e-5)
    assert 0.0 <= figures["transfer/entropy"] <= np.log(2)


def test_several_updates_are_single_ones_after_each_other():
    once, often = taught(updates=4), taught(updates=0)
    for _ in range(4):
        often.learn()
    np.testing.assert_array_equal(once.weights(GRID), often.weights(GRID))


def test_nothing_is_learned_from_nothing():
    advisor = advisor_of()
    before = advisor.weights(GRID)
    advisor.learn(3)
    np.testing.assert_array_equal(advisor.weights(GRID), before)
    assert advisor.figures() == {}


@pytest.mark.parametrize("parts", [[7], [3, 1, 3], [1] * 7])
def test_the_ring_keeps_the_latest_rows(parts):
    advisor = advisor_of(settings=replace(FAST, capacity=5))
    rows = wander(Slope(), 7)
    for part in np.split(np.arange(7), np.cumsum(parts)[:-1]):
        advisor.observe(*(column[part] for column in rows))
    kept = np.asarray(advisor._rows.at(np.arange(5)).obs)
    assert {tuple(row) for row in kept} == {tuple(row) for row in rows[0][2:]}
    assert advisor._rows.filled == 5


def test_draws_are_as_frequent_as_the_mixture_says():
    chances = {"shy": [0.7, 0.3], "bold": [0.1, 0.9]}
    sources = SourceLibrary(
        [
            source(name, 1.0, policy=lambda obs, row=row: jnp.array(row))
            for name, row in chances.items()
        ],
        encoder=DISCRETE.encoder,
    )
    advisor = advisor_of(sources, OWN)
    obs = np.tile(GRID[:1], (20_000, 1))
    chosen, drawn = advisor.draw(obs)
    shy, bold, own = advisor.weights(GRID[:1])[0]
    assert min(shy, bold, own) > 0.02
    assert np.mean(~drawn) == pytest.approx(own, abs=0.015)
    expected = (0.3 * shy + 0.9 * bold) / (shy + bold)
    assert np.mean(chosen[drawn]) == pytest.approx(expected, abs=0.015)


def test_a_source_is_always_drawn_where_there_is_no_own_model():
    advisor = advisor_of(CONTINUOUS, FAST, SPECS[True])
    chosen, drawn = advisor.draw(np.repeat(GRID, 300, axis=0))
    assert drawn.all()
    assert chosen.shape == (2100, 1)
    right = np.mean(chosen[:300] == -2.0)
    assert right == pytest.approx(advisor.weights(GRID[:1])[0, 1], abs=0.1)
    assert set(chosen.ravel().tolist()) <= {-2.0, 4.0}


def test_what_was_learned_comes_back_exactly():
    """Also where the units of observations were measured on other starts."""
    sources = replace(DISCRETE, encoder=None)
    old = taught(sources, updates=3)
    new = Advisor(sources, SPEC, FAST, seed=7, observations=STARTS[:2])
    units = [advisor.library.encoder for advisor in (old, new)]
    assert all(isinstance(unit, Standardise) for unit in units)
    assert not eqx.tree_equal(*units)
    new.restore(old.arrays())
    np.testing.assert_array_equal(old.weights(GRID), new.weights(GRID))
    rows = wander(Slope(), 5)
    for advisor in (old, new):
        advisor.observe(*rows)
    np.testing.assert_array_equal(
        new._rows.at(np.arange(5)).log_likelihoods,
        old._rows.at(np.arange(200, 205) % 200).log_likelihoods,
    )
    new.learn()


@pytest.mark.parametrize("settings", [FAST, replace(OWN, mixture_layers=(9,))])
def test_what_does_not_belong_is_not_restored(settings):
    old, new = advisor_of(settings=OWN), advisor_of(settings=settings)
    before = new.weights(GRID)
    with pytest.raises(PolicymixError, match="does not belong to these sources"):
        new.restore(old.arrays())
    np.testing.assert_array_equal(new.weights(GRID), before)


PLANE, TWO = SPEC.observation, SPEC.action


@pytest.mark.parametrize(
    "spec",
    [
        TaskSpec(Box((0.0,) * 3, (1.0,) * 3), TWO),
        TaskSpec(PLANE, Discrete(3)),
        TaskSpec(PLANE, Box((-1.0,), (1.0,))),
        TaskSpec(Discrete(2), TWO),
    ],
)
def test_sources_for_another_target_are_refused(spec):
    ready = DISCRETE.for_target(SPEC)
    assert Advisor(ready, SPEC, FAST).library is ready
    with pytest.raises(SourceError, match=r"\('left', 'right'\) are for"):
        Advisor(ready, spec, FAST)


def test_sources_for_another_number_of_states_are_refused():
    spec = TaskSpec(Discrete(LONG.length + 1), Discrete(2))
    with pytest.raises(SourceError, match=r"are for .*n=8.* the target has .*n=9"):
        Advisor(MIXED.sources, spec, FAST)


def test_sources_that_fail_on_the_target_are_named():
    bad = source("lost", 1.0, dynamics=lambda obs, action: obs[:1])
    with pytest.raises(SourceError, match="'lost'"):
        advisor_of(SourceLibrary([bad]))


def test_numbered_states():
    advisor = Advisor(MIXED.sources, LONG.spec, FAST)
    states = np.arange(8)
    np.testing.assert_allclose(advisor.potential(states).sum(axis=1), 1.0, rtol=1e-5)
    forth = np.minimum(states + 1, 7)
    advisor.observe(states[:, None], np.ones(8, int), forth[:, None])
    advisor.learn(100)
    assert np.all(advisor.weights(states)[:, 0] > 0.9)


FAR = np.array([[0.97, 0.0]], np.float32)


def far(obs):
    return jnp.where(obs[0] > 0.95, jnp.nan, 1.0)


BROKEN = {
    "predicts nothing": source(
        "broken", 1.0, dynamics=lambda obs, action: obs * far(obs)
    ),
    "index too high": source(
        "broken", 1.0, policy=lambda obs: jnp.where(obs[0] > 0.95, 2, 1)
    ),
    "index too high, in NumPy": source(
        "broken", 1.0, policy=lambda obs: 2 if float(obs[0]) > 0.95 else 1
    ),
    "no probabilities": source(
        "broken", 1.0, policy=lambda obs: jnp.array([0.5, 0.5]) * far(obs)
    ),
}


@pytest.mark.parametrize("fault", BROKEN)
def test_a_source_that_breaks_later_is_named_with_the_place(fault):
    sources = SourceLibrary(
        [DISCRETE.sources[1], BROKEN[fault]], encoder=DISCRETE.encoder
    )
    advisor = advisor_of(sources)
    calls = [advisor.potential, advisor.advice, advisor.draw]
    if fault == "predicts nothing":
        calls = [lambda obs: advisor.observe(obs, np.ones(len(obs)), obs)]
    for call in calls:
        call(GRID)
        with pytest.raises(SourceError, match=r"source 'broken': .*0\.97"):
            call(np.concatenate([GRID, FAR]))


def test_a_source_that_breaks_later_with_continuous_actions():
    wild = source("wild", 1.0, True, policy=lambda obs: jnp.full(1, far(obs)))
    advisor = advisor_of(
        SourceLibrary([wild], encoder=DISCRETE.encoder), FAST, SPECS[True]
    )
    with pytest.raises(SourceError, match="source 'wild'"):
        advisor.draw(FAR)


def test_drawn_actions_stay_within_the_bounds_of_the_target():
    wide = source("wide", 1.0, True, policy=lambda obs: jnp.full(1, 3.0 + 9 * obs[0]))
    spec = TaskSpec(PLANE, Box((-20.0,), (20.0,)))
    ready = SourceLibrary([wide], spec, DISCRETE.encoder)
    advisor = Advisor(ready, SPECS[True], FAST)
    chosen, _ = advisor.draw(GRID)
    expected = np.clip(3.0 + 9.0 * GRID[:, :1], -2.0, 4.0)
    np.testing.assert_allclose(chosen, expected, atol=1e-5)


class Remembered(eqx.Module):
    """A policy of the user's own, with arrays and containers of any kind."""

    tables: dict
    shift: np.ndarray

    def __call__(self, obs):
        return jnp.argmax(self.tables["rows"][0] @ obs + self.shift)


def test_modules_may_hold_dictionaries_and_numpy_arrays():
    policy = Remembered({"rows": [jnp.eye(2)]}, np.array([0.0, 0.1], np.float32))
    task = SourceTask("mine", policy, DISCRETE.sources[0].dynamics, Gaussian(1.0))
    advisor = advisor_of(SourceLibrary([task], encoder=DISCRETE.encoder))
    expected = np.argmax(GRID + np.array([0.0, 0.1]), axis=1)
    np.testing.assert_allclose(advisor.potential(GRID), np.eye(2)[expected], atol=1e-6)
