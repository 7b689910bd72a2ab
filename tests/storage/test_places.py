"""Who writes to a folder: alone, and only where it can be written."""

import os
import subprocess
import sys
from functools import partial

import pytest

from policymix.core.errors import PolicymixError
from policymix.storage import folders, places
from policymix.storage.folders import (
    PARTIAL,
    REPLACED,
    remove_folder,
    replace_folder,
    write_file,
    write_folder,
)
from policymix.storage.places import LOCK, check_unused, held

HOLD = """
import sys, time
from pathlib import Path
from policymix.storage.places import held
with held(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


def refused(folder, words, **more):
    with pytest.raises(PolicymixError, match=words), held(folder, **more):
        pytest.fail("it was taken")


def test_a_folder_is_made_and_goes_again_if_nothing_came_of_it(tmp_path):
    with held(tmp_path / "a" / "b"):
        assert (tmp_path / "a" / "b" / LOCK).exists()
        check_unused(tmp_path / "a" / "b")
    assert not (tmp_path / "a").exists()
    with held(tmp_path / "a"):
        write_file(tmp_path / "a" / "rows", b"1")
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["rows"]


def test_a_second_writer_is_told_who_holds_the_folder(tmp_path):
    with held(tmp_path):
        refused(tmp_path, f"in use by process {os.getpid()} on .* since 20")
    with held(tmp_path):
        pass
    with held(tmp_path / "new", whole=True):
        refused(tmp_path / "new", "in use by", whole=True)
        write_folder(tmp_path / "new", {"a": b"1"})


def test_a_killed_holder_holds_nothing(tmp_path):
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == b"held\n"
    refused(tmp_path, f"in use by process {holder.pid} on")
    holder.kill()
    holder.communicate()
    assert (tmp_path / LOCK).exists()
    with held(tmp_path):
        pass
    assert not (tmp_path / LOCK).exists()


def test_what_can_be_no_folder_is_refused(tmp_path):
    (tmp_path / "link").symlink_to("nowhere")
    refused(tmp_path / "link", "a link to nowhere, which is not there")
    (tmp_path / "file").touch()
    refused(tmp_path / "file", "is a file")
    refused(tmp_path / "file" / "below", "is a file")
    refused(tmp_path / ("x" * 300), "cannot be written to")
    refused(tmp_path / "a\0b", "cannot be written to")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written_to_is_refused(tmp_path):
    tmp_path.chmod(0o555)
    refused(tmp_path, "cannot be written to")
    refused(tmp_path / "new", "cannot be written to")


FULL = """
import resource, signal, sys
from pathlib import Path
from policymix.storage.places import held
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
with held(Path(sys.argv[1])):
    pass
"""


def test_a_full_disk_is_noticed_at_once(tmp_path):
    """A limit on the size of files stands for the disk."""
    place = str(tmp_path / "out")
    command = [sys.executable, "-c", FULL, place]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert f"{place} cannot be written to (File too large)" in found.stderr
    assert not (tmp_path / "out").exists()


def test_what_killed_writers_left_is_removed_but_nothing_else(tmp_path):
    left = tmp_path / "maze" / f".mars.12ab{PARTIAL}"
    left.mkdir(parents=True)
    (left / "rows").touch()
    (tmp_path / f".note.12ab{PARTIAL}").touch()
    for kept in (".hidden", "new", f"own{PARTIAL}"):
        (tmp_path / kept).touch()
    with held(tmp_path):
        pass
    found = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*"))
    assert found == [".hidden", "maze", "new", f"own{PARTIAL}"]


def test_what_is_being_written_is_not_removed(tmp_path, monkeypatch):
    replaced = type(tmp_path).replace

    def meddle(self, target):
        with held(tmp_path):
            return replaced(self, target)

    monkeypatch.setattr(type(tmp_path), "replace", meddle)
    write_file(tmp_path / "file", b"1")
    write_folder(tmp_path / "folder", {"a": b"1"})
    assert (tmp_path / "file").read_bytes() == b"1"
    assert (tmp_path / "folder" / "a").read_bytes() == b"1"


def test_a_lock_that_says_nothing_is_still_a_lock(tmp_path):
    with held(tmp_path):
        (tmp_path / LOCK).write_text("[]")
        refused(tmp_path, "in use by another process")
    assert places.LOCK == LOCK


def test_a_folder_whose_replacement_was_killed_is_brought_back(tmp_path):
    (tmp_path / f".mars{REPLACED}").mkdir()
    (tmp_path / f".mars{REPLACED}" / "rows").write_bytes(b"old")
    with held(tmp_path):
        assert (tmp_path / "mars" / "rows").read_bytes() == b"old"
        replace_folder(tmp_path / "mars", {"rows": b"new"})
    (tmp_path / f".mars{REPLACED}").mkdir()
    with held(tmp_path):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["mars"]
    assert (tmp_path / "mars" / "rows").read_bytes() == b"new"


def test_a_folder_is_removed_all_at_once(tmp_path, monkeypatch):
    """Whoever is killed on the way leaves nothing that looks like the folder."""
    write_folder(tmp_path / "gone", {"a": b"1", "b": b"2"})
    monkeypatch.setattr(folders.shutil, "rmtree", lambda *_, **__: None)
    remove_folder(tmp_path / "gone")
    assert not (tmp_path / "gone").exists()
    monkeypatch.undo()
    with held(tmp_path):
        assert [path.name for path in tmp_path.iterdir()] == [LOCK]
    remove_folder(tmp_path / "gone")


def test_who_has_just_taken_a_folder_is_waited_for(tmp_path, monkeypatch):
    """He has the lock and says in a moment who he is."""
    with held(tmp_path):
        content = (tmp_path / LOCK).read_bytes()
        (tmp_path / LOCK).write_bytes(b"")
        write = partial((tmp_path / LOCK).write_bytes, content)
        monkeypatch.setattr(places.time, "sleep", lambda seconds: write())
        refused(tmp_path, f"in use by process {os.getpid()} on")
