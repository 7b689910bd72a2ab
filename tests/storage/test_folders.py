"""Files that never end, never begin or are not what they say: named, and not read."""

import os
import threading
from pathlib import Path

import numpy as np
import pytest

from policymix.core.errors import FileFormatError, PolicymixError
from policymix.storage import folders
from policymix.storage.folders import ARRAYS, MANIFEST, json_of, pack, read_bytes

LIMIT = 1_000


def complaint(path, limit=LIMIT, **more):
    """What is said of a file, without waiting for ever."""
    told = []

    def read():
        with pytest.raises(FileFormatError) as caught:
            read_bytes(path, limit, **more)
        told.append(caught.value)

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    reader.join(10)
    assert told, "still reading"
    assert told[0].path == str(path)
    return str(told[0])


def test_a_plain_file_is_read_through_a_link(tmp_path):
    (tmp_path / "file").write_bytes(b"abc")
    (tmp_path / "link").symlink_to("file")
    assert read_bytes(tmp_path / "link", LIMIT) == b"abc"
    assert read_bytes(tmp_path / "file", 3, size=3) == b"abc"


def test_what_is_no_plain_file_is_not_read(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert "no plain file" in complaint(tmp_path / "pipe")
    (tmp_path / "endless").symlink_to("/dev/zero")
    assert "no plain file" in complaint(tmp_path / "endless")
    assert "cannot be read" in complaint(tmp_path)
    (tmp_path / "loop").symlink_to("loop")
    assert "cannot be read" in complaint(tmp_path / "loop")
    assert "null" in complaint(tmp_path / "a\0b")


def test_sizes_are_compared_before_a_file_is_read(tmp_path):
    (tmp_path / "file").write_bytes(b"x" * (LIMIT + 1))
    assert "more than the 1000" in complaint(tmp_path / "file")
    assert "1001 bytes instead of 5" in complaint(tmp_path / "file", 10**6, size=5)
    assert "instead of None" in complaint(tmp_path / "file", 10**6, size=None)


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="needs Linux")
def test_a_file_that_says_nothing_of_its_size_is_read_up_to_the_limit():
    assert os.stat("/proc/self/status").st_size == 0
    assert "more than the 10 " in complaint(Path("/proc/self/status"), 10)


@pytest.mark.parametrize("text", ["NaN", "[1e999]", "-Infinity", "[" * 10**5, "\xff"])
def test_json_has_finite_numbers_and_ends(tmp_path, text):
    (tmp_path / "facts").write_bytes(text.encode("latin-1"))
    with pytest.raises(FileFormatError, match="no JSON"):
        json_of(tmp_path / "facts")


def test_nothing_is_written_that_would_not_be_read(monkeypatch):
    arrays = {"a": np.zeros(100)}
    monkeypatch.setattr(folders, "MAX_ARRAYS_BYTES", 500)
    with pytest.raises(PolicymixError, match=f"{ARRAYS} would have"):
        pack("form", 1, {}, arrays)
    monkeypatch.setattr(folders, "MAX_ARRAYS_BYTES", 5_000)
    monkeypatch.setattr(folders, "MAX_MANIFEST_BYTES", 10)
    with pytest.raises(PolicymixError, match=f"{MANIFEST} would have"):
        pack("form", 1, {}, arrays)
