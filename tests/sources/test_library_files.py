"""A damaged or foreign library folder gives one typed error and runs nothing."""

import contextlib
import json
import os
import pickle
import resource
import shutil
import struct

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from safetensors.numpy import save

from policymix.core.encoders import Identity
from policymix.core.errors import FileFormatError
from policymix.core.kernels import Gaussian
from policymix.core.networks import init_mlp
from policymix.core.types import Box, Discrete, TaskSpec
from policymix.sources.dynamics import NetworkDynamics
from policymix.sources.experts import SourceTask
from policymix.sources.library import SourceLibrary
from policymix.sources.policies import GreedyPolicy
from policymix.storage.folders import ARRAYS, MANIFEST, canonical

from support.forgery import sign

SPEC = TaskSpec(Box((-1.0,) * 2, (1.0,) * 2), Discrete(2))
FILES = (MANIFEST, ARRAYS)


@pytest.fixture(scope="module")
def intact(tmp_path_factory):
    policy_key, dynamics_key = jax.random.split(jax.random.key(3))
    source = SourceTask(
        "one",
        GreedyPolicy(init_mlp(policy_key, (2, 3, 2)), Identity()),
        NetworkDynamics(init_mlp(dynamics_key, (4, 3, 2)), Identity()),
        Gaussian(10.0),
    )
    folder = tmp_path_factory.mktemp("library") / "intact"
    SourceLibrary([source], SPEC).save(folder)
    return folder


@pytest.fixture
def copy(intact, tmp_path):
    return shutil.copytree(intact, tmp_path / "copy")


def assert_rejected(folder, field=None):
    with pytest.raises(FileFormatError) as caught:
        SourceLibrary.load(folder)
    assert caught.value.path in {str(folder / file) for file in FILES}
    assert caught.value.field
    if field is not None:
        assert caught.value.field == field


def test_signing_an_unchanged_manifest_changes_nothing(copy):
    before = (copy / MANIFEST).read_bytes()
    sign(copy, lambda manifest: None)
    assert (copy / MANIFEST).read_bytes() == before
    SourceLibrary.load(copy)


def test_truncated_files(copy):
    rng = np.random.default_rng(0)
    for _ in range(300):
        file = copy / rng.choice(FILES)
        content = file.read_bytes()
        file.write_bytes(content[: rng.integers(len(content))])
        assert_rejected(copy)
        file.write_bytes(content)


def test_flipped_bits(copy):
    rng = np.random.default_rng(1)
    for _ in range(600):
        file = copy / rng.choice(FILES)
        content = file.read_bytes()
        damaged = bytearray(content)
        damaged[rng.integers(len(content))] ^= 1 << int(rng.integers(8))
        file.write_bytes(damaged)
        assert_rejected(copy)
        file.write_bytes(content)


WRONG = (None, True, -1, 7, 1.5, "x", "", [], {}, [[]], {"kind": "MLP"}, {"array": "0"})


def places(value, path=()):
    """Every place in a JSON value."""
    yield path
    items = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, child in items:
        yield from places(child, (*path, key))


def test_wrong_types_with_right_digests(intact, copy):
    manifest = json.loads((intact / MANIFEST).read_bytes())
    rng = np.random.default_rng(2)
    tried = 0
    for path in places(manifest):
        if not path or path[0] in ("digest", "facts"):
            continue
        for wrong in rng.permutation(np.array(WRONG, dtype=object))[:4]:

            def edit(manifest, path=path, wrong=wrong):
                for key in path[:-1]:
                    manifest = manifest[key]
                manifest[path[-1]] = wrong

            before = json.loads(canonical(manifest))
            edit(before)
            harmless = before == manifest or renames_a_source(path, wrong)
            shutil.copytree(intact, copy, dirs_exist_ok=True)
            sign(copy, edit)
            if not harmless and not widens_the_space(path, wrong):
                assert_rejected(copy)
                tried += 1
    assert tried >= 150


def renames_a_source(path, wrong):
    return path[-1] == "name" and wrong == "x"


def widens_the_space(path, wrong):
    """Other bounds make another, equally valid space."""
    bound = path[:1] == ("spec",) and {"low", "high"} & set(path[2:-1])
    number = wrong is None or isinstance(wrong, int | float)
    precision = path[-1] == "normalised" and isinstance(wrong, bool)
    return bool(bound and number) or precision


@pytest.mark.parametrize(
    "arrays",
    [
        {},
        {"foreign": np.zeros(3, np.float32)},
        {"0.policy.network.weights.0": np.zeros((3, 2), np.int64)},
    ],
)
def test_foreign_arrays_with_right_digests(copy, arrays):
    sign(copy, lambda manifest: None, save(arrays))
    assert_rejected(copy)


def test_arrays_of_other_shapes_do_not_load(intact, copy):
    from safetensors.numpy import load

    original = load((intact / ARRAYS).read_bytes())
    for name, array in original.items():
        for other in (array[..., None], np.full(array.shape, np.nan, array.dtype)):
            sign(copy, lambda manifest: None, save({**original, name: other}))
            assert_rejected(copy)


@pytest.mark.parametrize("size", [2**20 + 1, 2**40, 2**63 - 1, 2**64 - 1])
def test_huge_headers(copy, size):
    content = struct.pack("<Q", size) + b"{" + b" " * 4096
    sign(copy, lambda manifest: None, content)
    assert_rejected(copy, "header")


class Bomb:
    def __reduce__(self):
        return os.mkdir, (os.environ["POLICYMIX_BOMB"],)


def test_a_renamed_pickle_is_never_run(copy, tmp_path, monkeypatch):
    monkeypatch.setenv("POLICYMIX_BOMB", str(tmp_path / "exploded"))
    bomb = pickle.dumps(Bomb())
    (copy / ARRAYS).write_bytes(bomb)
    assert_rejected(copy)
    sign(copy, lambda manifest: None, bomb)
    assert_rejected(copy)
    (copy / MANIFEST).write_bytes(bomb)
    assert_rejected(copy, "file")
    assert not (tmp_path / "exploded").exists()


def test_other_formats_and_versions(copy):
    sign(copy, lambda manifest: manifest.update(version=2))
    assert_rejected(copy, "version")
    sign(copy, lambda manifest: manifest.update(format="recipe"))
    assert_rejected(copy, "format")
    for text in ("[]", "3", "null", '"x"', "[" * 100_000, "{}"):
        (copy / MANIFEST).write_text(text)
        assert_rejected(copy)


def test_unsound_sources_do_not_load(copy):
    sign(copy, lambda manifest: manifest["spec"]["action"].update(n=3))
    assert_rejected(copy, "sources")


def deep(manifest):
    policy = manifest["sources"][0]["policy"]
    for _ in range(800):
        policy = {"kind": "ClippedPolicy", "policy": policy}
    manifest["sources"][0]["policy"] = policy


def set_encoder(**record):
    def edit(manifest):
        manifest["encoder"] = record

    return edit


def set_space(**record):
    def edit(manifest):
        manifest["spec"]["observation"] = record

    return edit


@pytest.mark.parametrize(
    "edit",
    [
        deep,
        set_encoder(kind="OneHot", n=2**62),
        set_encoder(kind="OneHotGrid", rows=10**6, columns=10**6),
        set_space(n=2**62),
        set_space(n=10**40),
        set_space(low=[1.0, 0.0], high=[-1.0, 1.0]),
        set_space(low=[None] * 100_000, high=[None] * 100_000),
        set_space(low=[-1e308] * 2, high=[1e308] * 2),
        set_space(low="ab", high="ab"),
        lambda manifest: manifest["sources"][0].update(name="a\0b" * 1000),
        lambda manifest: manifest["facts"].update(domain="a\0b"),
    ],
)
def test_sizes_of_any_kind_take_neither_time_nor_memory(copy, edit):
    sign(copy, edit)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with contextlib.suppress(FileFormatError):  # names of any kind are allowed
        SourceLibrary.load(copy)
        assert edit.__name__ == "<lambda>"
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert after - before < 100_000  # kB


def test_loading_builds_the_same_arrays(intact):
    library = SourceLibrary.load(intact)
    assert library.advise(jnp.zeros(2)).shape == (1, 2)
