"""What commands print: digits enough to tell a figure from its error."""

import numpy as np
import pytest

from policymix.reports.printed import mean_and_error


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ([0.180, 0.196], "0.188 ± 0.008"),
        ([497.0, 499.0], "498.0 ± 1.0"),
        ([400.0, 440.0], "420.0 ± 20.0"),
        ([0.02, 0.02], "0.02 ± 0.00"),
        ([0.0, 0.0], "0.0 ± 0.0"),
        ([3.25], "3.2"),
        ([1e-9, 3e-9], "0.0000 ± 0.0000"),
        ([1e300, 1e300], "1e+100 ± 0"),
    ],
)
def test_the_error_has_a_figure(values, told):
    assert mean_and_error(np.array(values)) == told
