"""The folder to write to: tried before hours of work, and for one writer at a time."""

import fcntl
import glob
import json
import os
import shutil
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from policymix.core.errors import FileFormatError, PolicymixError
from policymix.storage.folders import PARTIAL, REPLACED, json_of

LOCK = ".lock"
"""Within a folder, while somebody writes there; after a kill it stays and binds nobody,
for what locks it is the process."""
GOING_ON = ".going-on"
"""Within a run's folder, as long as the run can be gone on with."""
ROOM = 1 << 20
"""Bytes that must fit on the disk before work begins."""


@contextmanager
def held(folder: Path, whole: bool = False) -> Iterator[None]:
    """Keep a folder for oneself, and make sure that it can be written to.

    What killed writers left unfinished there is removed.

    Args:
        folder: is made if it is not there; without anything in it, it goes again.
        whole: it will be written at once, by `write_folder`; then nothing is in it
            before, and the lock is beside it.

    Raises:
        PolicymixError: it is a file or a dangling link, may not be written to, the disk
            is full, or another process holds it.
    """
    check_place(folder)
    home = folder.parent if whole else folder
    lock = home / f".{folder.name}{LOCK}" if whole else home / LOCK
    made = [path for path in (home, *home.parents) if not os.path.exists(path)]
    try:
        home.mkdir(parents=True, exist_ok=True)
        file = _take(lock, folder)
    except (OSError, ValueError) as error:
        _remove_empty(made)
        raise _unfit(folder, error) from None
    try:
        _try_room(home / f".room{PARTIAL}", folder)
        mine = f".{glob.escape(folder.name)}.*{PARTIAL}"
        for left in home.glob(mine) if whole else home.rglob(f".*{PARTIAL}"):
            _remove_if_abandoned(left)
        for old in () if whole else home.rglob(f".*{REPLACED}"):
            _bring_back(old)
        yield
    finally:
        lock.unlink(missing_ok=True)
        file.close()
        _remove_empty(made)


def a_path(name: str, given: object) -> Path:
    """Where to write, or a complaint of what is no place."""
    if isinstance(given, str | os.PathLike):
        return Path(given)
    raise PolicymixError(
        f"{name} is {given!r:.40}: it must be a path, such as 'my-run'"
    )


def check_place(folder: Path) -> None:
    """Complain of what can never be a folder."""
    if os.path.islink(folder) and not os.path.exists(folder):
        raise PolicymixError(
            f"{folder} is a link to {os.readlink(folder)}, which is not there. Choose "
            "another folder, or make that one"
        )
    there = ground_of(folder)
    if not there.is_dir():
        raise PolicymixError(f"{there} is a file. Choose a folder")


def ground_of(path: Path) -> Path:
    """The path itself if it is there, or else what would be above it."""
    # Names that no file can have are not there either; pathlib would raise.
    return next(p for p in (path, *path.absolute().parents) if os.path.exists(p))


def is_used(folder: Path) -> bool:
    """Whether a folder has anything in it but what writers leave behind."""
    return any(
        path.name != LOCK and not path.name.endswith((PARTIAL, REPLACED))
        for path in folder.iterdir()
    )


def check_unused(folder: Path) -> None:
    """Refuse a folder of somebody else's, or a file in its place."""
    if folder.is_file() or (folder.is_dir() and is_used(folder)):
        raise PolicymixError(
            f"{folder} exists already. Choose another folder or delete it first"
        )


def _take(lock: Path, folder: Path):
    """Open and lock a file; it is the one that others would open."""
    while True:
        file = lock.open("a+")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            raise PolicymixError(
                f"{folder} is in use by {_holder(lock)}. Wait until that is finished, "
                "or choose another folder"
            ) from None
        if lock.exists() and os.path.samestat(os.fstat(file.fileno()), lock.stat()):
            break
        file.close()  # its holder removed it just now
    told = {
        "process": os.getpid(),
        "machine": socket.gethostname(),
        "command": " ".join([Path(sys.argv[0]).name, *sys.argv[1:]])[:200],
        "since": time.strftime("%Y-%m-%d %H:%M:%S"),
    }
    file.truncate(0)
    file.write(json.dumps(told))
    file.flush()
    return file


def _holder(lock: Path) -> str:
    """Who has it, as he says; he may have taken it just now and say it in a moment."""
    for _ in range(5):
        with suppress(FileFormatError, LookupError, TypeError):
            told = json_of(lock)
            return (
                f"process {told['process']} on {told['machine']} since "
                f"{told['since']} ({told['command']})"
            )
        time.sleep(0.02)
    return "another process"


def _try_room(probe: Path, folder: Path) -> None:
    try:
        with probe.open("wb") as file:
            file.write(bytes(ROOM))
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise _unfit(folder, error) from None
    finally:
        with suppress(OSError):
            probe.unlink(missing_ok=True)


def _unfit(folder: Path, error: Exception) -> PolicymixError:
    reason = getattr(error, "strerror", None) or str(error)
    return PolicymixError(f"{folder} cannot be written to ({reason}). Choose another")


def _remove_if_abandoned(path: Path) -> None:
    """Who still writes a file or a folder holds a lock on it."""
    with suppress(OSError):
        handle = os.open(path, os.O_RDONLY)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        finally:
            os.close(handle)


def _bring_back(old: Path) -> None:
    """Finish what `replace_folder` was killed in: one of the two is there."""
    path = old.with_name(old.name.removeprefix(".").removesuffix(REPLACED))
    if path.exists():
        shutil.rmtree(old, ignore_errors=True)
    else:
        old.rename(path)


def _remove_empty(folders: list[Path]) -> None:
    for folder in folders:
        with suppress(OSError, ValueError):
            folder.rmdir()
