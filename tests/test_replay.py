"""The ring keeps the newest transitions and gives back what was written."""

import jax
import jax.numpy as jnp
import numpy as np

from policymix import replay


def rows_of(numbers, obs_size=2):
    width = 2 * obs_size + 4
    return jnp.asarray(np.asarray(numbers)[:, None] + np.zeros((1, width)), dtype=float)


def test_old_rows_are_overwritten_in_order():
    memory = replay.empty(4, 2)
    for start in (0, 2, 4):
        memory = replay.add(memory, rows_of([start, start + 1]))
    np.testing.assert_array_equal(memory.rows[:, 0], [4, 5, 2, 3])
    assert int(memory.written) == 6


def test_samples_come_from_written_rows_only(keys):
    memory = replay.add(replay.empty(100, 2), rows_of([7, 8, 9, 10]))
    drawn = np.unique(replay.sample(memory, keys(), 200)[:, 0])
    np.testing.assert_array_equal(drawn, [7, 8, 9, 10])


def test_unpacked_fields():
    row = jnp.array([[0.1, 0.2, 3.0, -1.0, 0.3, 0.4, 1.0, 0.0]])
    step = jax.tree.map(lambda x: x[0], replay.unpack(row, 2))
    np.testing.assert_allclose(step.obs, [0.1, 0.2])
    assert int(step.action) == 3
    assert float(step.reward) == -1.0
    np.testing.assert_allclose(step.next_obs, [0.3, 0.4])
    assert bool(step.terminated)
    assert not bool(step.truncated)
