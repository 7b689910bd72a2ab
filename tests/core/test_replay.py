"""The ring keeps the newest transitions and gives back what was written."""

import jax.numpy as jnp
import numpy as np
import pytest

from policymix.core import replay
from policymix.core.replay import Layout
from policymix.core.types import Box, Discrete, Transition

PLANE = Box((-1.0, -1.0), (1.0, 1.0))


def rows_of(numbers):
    width = Layout(PLANE).width
    return jnp.asarray(np.asarray(numbers)[:, None] + np.zeros((1, width)), dtype=float)


def test_old_rows_are_overwritten_in_order():
    memory = replay.empty(4, Layout(PLANE))
    for start in (0, 2, 4):
        memory = replay.add(memory, rows_of([start, start + 1]))
    np.testing.assert_array_equal(memory.rows[:, 0], [4, 5, 2, 3])
    assert int(memory.written) == 6


def test_samples_come_from_written_rows_only(keys):
    memory = replay.add(replay.empty(100, Layout(PLANE)), rows_of([7, 8, 9, 10]))
    drawn = np.unique(replay.sample(memory, keys(), 200)[:, 0])
    np.testing.assert_array_equal(drawn, [7, 8, 9, 10])


@pytest.mark.parametrize("space", [PLANE, Discrete(841)], ids=["vector", "index"])
def test_a_row_gives_back_what_was_packed(space):
    obs, next_obs = (
        (jnp.array([0.1, 0.2]), jnp.array([0.3, 0.4]))
        if space is PLANE
        else (jnp.array(840), jnp.array(7))
    )
    step = Transition(
        obs, jnp.array(3), jnp.array(-1.0), next_obs, jnp.array(True), jnp.array(False)
    )
    extras = [jnp.array([1.0, 2.0, 3.0]), jnp.ones((2, 2))]
    layout = Layout(space, (3, 4))
    row = layout.pack(step, extras)
    assert row.shape == (layout.width,)
    unpacked, (first, second) = layout.unpack(row)
    for got, wanted in zip(unpacked, step, strict=True):
        np.testing.assert_array_equal(got, wanted)
        assert got.dtype == wanted.dtype
    np.testing.assert_array_equal(first, extras[0])
    np.testing.assert_array_equal(second, extras[1].ravel())
