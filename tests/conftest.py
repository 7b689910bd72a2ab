"""JAX is strict in every test: no silent broadcasting, no key used twice.

Compiling is most of the tests' work, and what they state holds at any level: so it is
done without optimisation, and once for all processes of a session.
"""

import atexit
import ctypes
import gc
import os
import resource
import shutil
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

os.environ.setdefault(
    "XLA_FLAGS",
    "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true "
    "--xla_cpu_parallel_codegen_split_count=1"
    # JAX 0.11 and later end at the sight of this one.
    + " --xla_cpu_use_fusion_emitters=false"
    * version("jax").startswith(("0.8.", "0.9.", "0.10.")),
)
os.environ.setdefault("OMP_NUM_THREADS", "1")  # a worker is one of two
os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
os.environ["JAX_TRACEBACK_IN_LOCATIONS_LIMIT"] = "0"  # no one reads a program's lines
if "JAX_COMPILATION_CACHE_DIR" not in os.environ:  # workers have it from their parent
    os.environ["JAX_COMPILATION_CACHE_DIR"] = tempfile.mkdtemp(prefix="policymix-")
    atexit.register(
        shutil.rmtree, os.environ["JAX_COMPILATION_CACHE_DIR"], ignore_errors=True
    )

import jax
import jaxtyping
import pytest
from hypothesis import HealthCheck, settings
from jax._src import pjit
from jax._src.interpreters import pxla

from support.browser import Browser, find_browser

jax.config.update("jax_compilation_cache_dir", os.environ["JAX_COMPILATION_CACHE_DIR"])
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
jax.config.update("jax_numpy_rank_promotion", "raise")

gc.set_threshold(20_000)  # what is compiled stays; looking through it often is waste

MUCH, LITTLE = 1.6e9, 1.3e9
"""Bytes of a process, above which it forgets what its programs were compiled from; and
the programs, too, if that leaves it with more than the second."""

settings.register_profile(
    "policymix",
    deadline=None,
    derandomize=True,
    max_examples=50,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("policymix")


def pytest_collection_finish():
    """What was imported stays until the end: nobody need look through it again."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """Learning runs go as users' do: types and keys are checked in all other tests."""
    learning = item.get_closest_marker("learning") is not None
    jaxtyping.config.update("jaxtyping_disable", learning)
    with jax.debug_key_reuse(not learning):
        result = yield
    keep_small()
    return result


def keep_small():
    """Forget in time: a program's text takes 1.2 MB, the program itself 0.15 MB.

    Texts go first, since nothing is compiled again for want of them. To look through
    all that is kept takes more than half a second, so it must not be due again soon.
    """
    if taken() < MUCH:
        return
    for forget in (forget_texts, jax.clear_caches):
        if taken() > LITTLE:
            forget()
            gc.collect()
            ctypes.CDLL(None).malloc_trim(0)


def taken():
    """Bytes of this process, where Linux tells them."""
    if sys.platform != "linux":
        return 0
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


def forget_texts():
    """JAX keeps what it has lowered, and has no public name for letting go of it."""
    for module, name in ((pjit, "_pjit_lower"), (pxla, "_cached_lowering_to_hlo")):
        if hasattr(module, name):
            getattr(module, name).cache_clear()


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
