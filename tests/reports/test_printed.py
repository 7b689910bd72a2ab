"""What commands print: digits enough to tell a figure from its error."""

import numpy as np
import pytest

from policymix.reports.printed import mean_and_error, summary_table
from policymix.storage.runs import Row
from policymix.training.task import load_task


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


def test_the_mean_of_a_run_is_the_area_that_answers_speak_of():
    """The first and the last test count half, as they bound the run on one side."""
    scores = {0: (0.0, 20.0), 100: (40.0, 60.0), 200: (100.0, 100.0)}
    rows = [
        Row("cartpole", "mars", trial, trial, step, score, score)
        for step, pair in scores.items()
        for trial, score in enumerate(pair)
    ]
    table = summary_table(load_task("cartpole"), rows)
    (told,) = table.columns[1].cells
    assert told == mean_and_error(np.array([45.0, 60.0]))
