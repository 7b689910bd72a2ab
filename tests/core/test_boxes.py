"""Actions in their bounds and in [−1, 1]."""

import jax.numpy as jnp
import numpy as np
import pytest

from policymix.core.boxes import clipped, from_unit, in_unit
from policymix.core.types import Box

ODD = Box((-2.0, -3.3, 1e-3), (-0.8, 7.1, 2e-3))


@pytest.mark.parametrize("array", [np.array, jnp.array])
def test_there_and_back_is_the_same(array):
    action = array([-1.1, 4.0, 1.7e-3], np.float32)
    np.testing.assert_allclose(from_unit(ODD, in_unit(ODD, action)), action, rtol=1e-5)


def test_rounding_leads_nobody_out_of_the_bounds():
    rng = np.random.default_rng(0)
    low = rng.uniform(-9, 9, 2000).astype(np.float32)
    high = low + rng.uniform(0.01, 9, 2000).astype(np.float32)
    box = Box(tuple(low.tolist()), tuple(high.tolist()))
    for end in (-1.0, 1.0):
        action = from_unit(box, np.full(2000, end, np.float32))
        assert np.all((low <= action) & (action <= high))
    np.testing.assert_array_equal(clipped(box, high + 1.0), high)
