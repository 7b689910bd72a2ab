"""Tables of states and actions: what leads where, and what nobody saw."""

import jax.numpy as jnp
import numpy as np

import policymix as pm
from policymix.sources.dynamics import UNKNOWN

from support.turning import (
    fit,
)

STATES, ACTIONS = 6, 3


def chain():
    """Where each state and action of a small decision problem leads."""
    return np.random.default_rng(5).integers(STATES, size=(STATES, ACTIONS))


def visits(samples=3_000):
    rng = np.random.default_rng(6)
    return rng.integers(STATES, size=samples), rng.integers(ACTIONS, size=samples)


def test_a_table_is_the_transition_function():
    obs, action = visits()
    found = fit((obs, action, chain()[obs, action]))
    np.testing.assert_array_equal(found.model.next_obs, chain())
    assert (found.error, found.steps, *found.components) == (0, 0, 0)
    assert 0 < found.still <= 1


def test_a_table_holds_what_is_most_frequent():
    obs, action = visits()
    slips = np.random.default_rng(7).random(obs.size) < 0.3
    next_obs = np.where(slips, 0, chain()[obs, action])
    found = fit((obs, action, next_obs))
    np.testing.assert_array_equal(found.model.next_obs, chain())
    assert 0.15 < found.error < 0.35
    np.testing.assert_array_equal(found.components, [found.error])


def test_pairs_never_seen_are_unknown():
    obs, action = visits()
    seen = (obs != 2) | (action != 1)
    data = obs[seen], action[seen], chain()[obs, action][seen]
    table = fit(data, num_states=8, num_actions=4).model.next_obs
    expected = np.full((8, 4), UNKNOWN)
    expected[:STATES, :ACTIONS] = chain()
    expected[2, 1] = UNKNOWN
    np.testing.assert_array_equal(table, expected)


def test_tables_survive_saving(tmp_path):
    obs, action = visits()
    model = fit((obs, action, chain()[obs, action])).model
    policy = pm.table_policy(jnp.zeros(STATES, int), ACTIONS)
    source = pm.SourceTask("chain", policy, model, pm.Indicator())
    spec = pm.TaskSpec(pm.Discrete(STATES), pm.Discrete(ACTIONS))
    library = pm.SourceLibrary([source], spec, pm.encoders.OneHot(STATES))
    library.save(tmp_path / "library")
    loaded = pm.SourceLibrary.load(tmp_path / "library").sources[0].dynamics
    np.testing.assert_array_equal(loaded.next_obs, chain())  # pyright: ignore[reportFunctionMemberAccess]
