"""Writing that is killed, without room, or by two at once."""

import os
import resource
import shutil
import signal
import subprocess
from functools import partial

from children import end_within, fork, status_of, tracebacks, wait
from tally import Tally

from policymix.core.errors import PolicymixError
from policymix.storage.folders import (
    PARTIAL,
    REPLACED,
    replace_folder,
    write_file,
    write_folder,
)
from policymix.storage.places import LOCK, held

OLD, NEW = b"old" * 50_000, b"new" * 50_000
FAILED = 3
"""Exit status of who was told in a sentence or by the system that it cannot be."""


def tidy(out):
    """Whether nothing is left beside what was written, once the next one has begun."""
    with held(out):
        pass
    ends = (PARTIAL, REPLACED, LOCK)
    return not [path for path in out.rglob("*") if path.name.endswith(ends)]


def of_saving(place, count, rng):
    """A folder and a file replaced over and over: always whole, and never older."""
    out, tally = place / "saving", Tally()
    before = {"folder": 0, "file": 0}

    def act():
        number = max(before.values())
        while True:
            number += 1
            text = f"{number:09}".encode() * 5_000
            if (out / "folder").exists():
                replace_folder(out / "folder", {"a": text, "b": text})
            else:
                write_folder(out / "folder", {"a": text, "b": text})
            write_file(out / "file", text)

    for tally.times in range(1, count + 1):
        tally.ended(end_within(act, rng.uniform(0.0, 0.1), place), "writing", (-9,))
        tally.wrong("other", "leftovers", not tidy(out))
        now = {
            "folder": version_of(out / "folder" / "a", out / "folder" / "b"),
            "file": version_of(out / "file"),
        }
        for name in now:
            tally.wrong("other", f"{name} is not whole", now[name] < 0)
            tally.wrong("lost", f"{name} is older", 0 <= now[name] < before[name])
        before |= now
    tally.wrong("tracebacks", "while writing", tracebacks(place))
    tally.figures = [max(before.values())]
    return tally


def summary(figures):
    """Of saving."""
    return f"{sum(figures):,} versions written"


def version_of(*paths):
    """The number that all of them hold, whole; 0 before there is any, or else -1."""
    texts = {path.read_bytes() if path.exists() else b"" for path in paths}
    if texts == {b""}:
        return 0
    text = texts.pop()
    whole = not texts and text[:9] * 5_000 == text
    return int(text[:9]) if whole else -1


def begin(out):
    """A folder and a file of an earlier version."""
    write_folder(out / "folder", {"a": OLD, "b": OLD})
    write_file(out / "file", OLD)


def replaced(out, number):
    """Write one of them anew; the exit status of who tries."""
    try:
        if number % 2:
            write_file(out / "file", NEW)
        else:
            replace_folder(out / "folder", {"a": NEW, "b": NEW})
    except OSError:
        return FAILED
    return 0


def is_old(out):
    """Whether the earlier version is whole."""
    paths = (out / "folder" / "a", out / "folder" / "b", out / "file")
    return all(path.exists() and path.read_bytes() == OLD for path in paths)


def of_limits(place, count, rng):
    """Files may have so many bytes and no more: the old version stays."""
    out, tally = place / "limits", Tally()
    begin(out)

    def act(limit, number):
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        return replaced(out, number)

    for tally.times in range(1, count + 1):
        limit = int(rng.integers(len(NEW)))
        status = status_of(partial(act, limit, tally.times), None)
        tally.ended(status, f"writing within {limit} bytes", (FAILED,))
        tally.wrong("lost", "the earlier version", not is_old(out))
        left = [path for path in out.rglob("*") if path.name.endswith(PARTIAL)]
        tally.wrong("other", "leftovers", bool(left))
    return tally


def of_full_disk(place, count, rng):
    """A disk of three megabytes in memory, filled so far; needs the right to mount."""
    disk, tally = place / "disk", Tally()
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(disk)]
    if os.geteuid() or subprocess.run(mount, capture_output=True).returncode:
        tally.note = "not allowed to mount a disk here"
        return tally
    try:
        begin(disk / "out")
        for tally.times in range(1, count + 1):
            fill_and_write(disk, tally, rng)
    finally:
        subprocess.run(["umount", str(disk)], check=True)
    tally.wrong("tracebacks", "on a full disk", tracebacks(place))
    return tally


def fill_and_write(disk, tally, rng):
    """Leave less room than a file needs: the old stays, and nothing is begun."""
    out, free = disk / "out", shutil.disk_usage(disk).free
    room = int(rng.integers(len(NEW) - 4096))
    (disk / "filler").write_bytes(bytes(max(free - room, 0)))
    tally.ended(status_of(partial(replaced, out, tally.times)), "writing", (FAILED,))
    tally.wrong("lost", "the earlier version", not is_old(out))
    tally.ended(status_of(partial(taken, disk / "another")), "beginning", (FAILED,))
    (disk / "filler").unlink()
    left = [path for path in disk.rglob("*") if path.name.endswith(PARTIAL)]
    tally.wrong("other", "leftovers", bool(left))


def taken(folder):
    """Begin in a folder; the exit status of who tries."""
    try:
        with held(folder):
            return 0
    except PolicymixError:
        return FAILED


def of_two_writers(place, count, rng):
    """One of two has the folder; the other is told who has it."""
    out, tally = place / "shared", Tally()

    def act(ready, go, end):
        os.write(ready, b".")
        os.read(go, 1)
        try:
            with held(out):
                write_file(out / "mine", str(os.getpid()).encode())
                os.read(end, 1)
                same = (out / "mine").read_bytes() == str(os.getpid()).encode()
                return 0 if same else 1
        except PolicymixError as error:
            return FAILED if "in use by process" in str(error) else 1

    for tally.times in range(1, count + 1):
        ready, go, end = os.pipe(), os.pipe(), os.pipe()
        handles = (ready[1], go[0], end[0])
        pids = [fork(partial(act, *handles), place) for _ in range(2)]
        os.read(ready[0], 1), os.read(ready[0], 1)
        os.write(go[1], b"..")  # both begin
        refused, status = os.wait()  # ends first: the other waits for a word
        tally.ended(os.waitstatus_to_exitcode(status), "the second", (FAILED,))
        os.write(end[1], b"..")
        for pid in pids:
            if pid != refused:
                tally.ended(wait(pid), "the first")
        for handle in (*ready, *go, *end):
            os.close(handle)
    tally.wrong("tracebacks", "of writers", tracebacks(place))
    return tally


def of_one_file(place, count, rng):
    """Four processes write one file without a lock: a reader sees one of them whole."""
    path, tally = place / "shared" / "one-file", Tally()

    def act(letter):
        for _ in range(count // 4):
            write_file(path, letter * 100_000)

    pids = [fork(partial(act, letter), place) for letter in (b"a", b"b", b"c", b"d")]
    for tally.times in range(1, count + 1):
        if path.exists():
            content = path.read_bytes()
            whole = len(content) == 100_000 and len(set(content)) == 1
            tally.wrong("other", "half a file", not whole)
    for pid in pids:
        tally.ended(wait(pid), "a writer")
    left = [name for name in os.listdir(path.parent) if name.endswith(PARTIAL)]
    tally.wrong("other", "leftovers", bool(left))
    tally.wrong("tracebacks", "of writers", tracebacks(place))
    return tally
