"""One model of the turning system, fitted once for all tests."""

import pytest

from support.turning import fit, turning


@pytest.fixture(scope="session")
def turned():
    return fit(turning())
