"""A log of Stable-Baselines3's."""

import csv

import pytest


@pytest.fixture
def log(tmp_path):
    """A log for learners, and its rows so far."""
    logging = pytest.importorskip("stable_baselines3.common.logger")

    class Log:
        logger = logging.configure(str(tmp_path), ["csv"])

        def rows(self):
            with (tmp_path / "progress.csv").open() as file:
                return list(csv.DictReader(file))

    yield Log()
    Log.logger.close()
