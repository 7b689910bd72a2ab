"""JAX is strict in every test: no silent broadcasting, no key used twice."""

import os

# Compiling is most of the tests' work, and what they state holds at any level.
os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0")

import jax
import pytest
from hypothesis import HealthCheck, settings

from support.browser import Browser, find_browser

jax.config.update("jax_num_cpu_devices", 2)  # trials are sharded on any machine
jax.config.update("jax_numpy_rank_promotion", "raise")
jax.config.update("jax_debug_key_reuse", True)

settings.register_profile(
    "policymix",
    deadline=None,
    derandomize=True,
    max_examples=50,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("policymix")


@pytest.fixture
def keys():
    """Fresh keys, one a call."""
    stream = iter(jax.random.split(jax.random.key(20200301), 256))
    return lambda: next(stream)


@pytest.fixture(scope="module")
def chromium():
    """A browser for reports; tests are skipped where there is none to be found."""
    program = find_browser()
    if program is None:
        problem = "no browser: install Debian's chromium (apt-get install chromium)"
        if os.environ.get("POLICYMIX_BROWSER") == "required":
            pytest.fail(problem)
        pytest.skip(problem)
    started = Browser(program)
    yield started
    started.close()
