"""Folders of arrays and facts: safetensors and JSON, whole or not at all.

Loading executes no code: no pickle, no eval. Only plain files are read, and never more
of one than it may hold. Whatever is wrong with a file, the reader gets a
`FileFormatError` that names the file and the field.
"""

import fcntl
import hashlib
import json
import math
import os
import secrets
import shutil
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from policymix.core.errors import FileFormatError, PolicymixError

MANIFEST = "manifest.json"
ARRAYS = "arrays.safetensors"
NOTE = "experiment.json"
"""What a folder of several runs is for."""
MAX_MANIFEST_BYTES = 4 << 20
MAX_HEADER_BYTES = 1 << 20
MAX_ARRAYS_BYTES = 1 << 30
PARTIAL = ".new"
"""How names end while a file or a folder is being written; they begin with a dot."""
REPLACED = ".old"
"""How the name of a folder ends that makes room for its successor."""
RESTORE = "Restore the file from its origin, or make it again"


def canonical(facts: dict[str, Any]) -> bytes:
    """JSON with sorted keys: the same facts always give the same bytes."""
    text = json.dumps(facts, indent=1, sort_keys=True, allow_nan=False)
    return (text + "\n").encode()


def check_new(path: Path) -> None:
    """Refuse a folder that has something in it, or a file in its place."""
    if path.is_file() or (path.is_dir() and any(path.iterdir())):
        raise PolicymixError(
            f"{path} exists already. Choose another folder or delete it first"
        )


def write_folder(path: Path, files: dict[str, bytes]) -> None:
    """Write a new folder; a failure leaves nothing behind."""
    path = Path(path)
    check_new(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch, handle = _unfinished(path, Path.mkdir)
    try:
        for name, content in files.items():
            with (scratch / name).open("wb") as file:
                _write_through(file, content)
        scratch.replace(path)
    except BaseException:
        shutil.rmtree(scratch, ignore_errors=True)
        raise
    finally:
        os.close(handle)


def _unfinished(path: Path, make: Callable[[Path], None]) -> tuple[Path, int]:
    """Something new beside a path, with a lock that says that it is being written.

    After a kill the lock is gone and the thing is left: see `places.held`.
    """
    while True:
        scratch = path.with_name(f".{path.name}.{secrets.token_hex(4)}{PARTIAL}")
        make(scratch)
        with suppress(FileNotFoundError):  # somebody took it for left behind
            handle = os.open(scratch, os.O_RDONLY)
            fcntl.flock(handle, fcntl.LOCK_EX)
            if scratch.exists():
                return scratch, handle
            os.close(handle)


def _write_through(file: BinaryIO, content: bytes) -> None:
    file.write(content)
    file.flush()
    os.fsync(file.fileno())


def replace_folder(path: Path, files: dict[str, bytes]) -> None:
    """Write a folder in place of one that is there; a failure leaves the old one.

    A kill between the two renamings is made good by `places.held`.
    """
    new = path.with_name(f".{path.name}.{secrets.token_hex(4)}{PARTIAL}")
    old = path.with_name(f".{path.name}{REPLACED}")
    shutil.rmtree(old, ignore_errors=True)
    write_folder(new, files)
    path.rename(old)
    new.rename(path)
    shutil.rmtree(old, ignore_errors=True)


def remove_folder(path: Path) -> None:
    """Remove a folder: it is all there or gone, and `places.held` clears the rest."""
    gone = path.with_name(f".{path.name}.{secrets.token_hex(4)}{PARTIAL}")
    with suppress(FileNotFoundError):
        path.rename(gone)
        shutil.rmtree(gone, ignore_errors=True)


def write_file(path: Path, content: bytes) -> None:
    """Write or replace one file; a reader sees the old or the new one, never half."""
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch, handle = _unfinished(path, Path.touch)
    try:
        with scratch.open("wb") as file:
            _write_through(file, content)
        scratch.replace(path)
    except BaseException:
        scratch.unlink(missing_ok=True)
        raise
    finally:
        os.close(handle)


def pack(
    form: str, version: int, facts: dict[str, Any], arrays: dict[str, np.ndarray]
) -> dict[str, bytes]:
    """The two files of a folder; the manifest holds both digests."""
    from safetensors.numpy import save

    contiguous = {name: np.asarray(a, order="C") for name, a in arrays.items()}
    packed = save(contiguous)
    manifest = {
        **facts,
        "format": form,
        "version": version,
        "arrays": {"bytes": len(packed), "sha256": hashlib.sha256(packed).hexdigest()},
    }
    manifest["digest"] = hashlib.sha256(canonical(manifest)).hexdigest()
    files = {MANIFEST: canonical(manifest), ARRAYS: packed}
    for name, limit in ((MANIFEST, MAX_MANIFEST_BYTES), (ARRAYS, MAX_ARRAYS_BYTES)):
        if len(files[name]) > limit:
            raise PolicymixError(
                f"{name} would have {len(files[name]):,} bytes, but only {limit:,} "
                "are read back. Save less at a time"
            )
    return files


def read_manifest(folder: Path, form: str, version: int) -> dict[str, Any]:
    """Read and verify the facts of a folder."""
    path = Path(folder) / MANIFEST
    content = read_bytes(path, MAX_MANIFEST_BYTES)
    manifest = parse_json(path, content)
    if not isinstance(manifest, dict) or manifest.get("format") != form:
        raise FileFormatError(path, "format", f"no {form}", f"Give a {form} folder")
    if manifest.get("version") != version:
        raise FileFormatError(
            path,
            "version",
            f"{manifest.get('version')!r}, but this release reads {version}",
            "Install the release that wrote it, or make the folder again",
        )
    digest = manifest.pop("digest", None)
    try:
        intact = digest == hashlib.sha256(canonical(manifest)).hexdigest()
        intact = intact and content == canonical({**manifest, "digest": digest})
    except (ValueError, RecursionError):
        intact = False
    if not intact:
        raise FileFormatError(path, "digest", "the facts were altered", RESTORE)
    return manifest


def read_arrays(folder: Path, manifest: dict[str, Any]) -> dict[str, np.ndarray]:
    """Read the arrays that a verified manifest describes."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    path = Path(folder) / ARRAYS
    declared = manifest.get("arrays")
    if not isinstance(declared, dict) or not isinstance(declared.get("sha256"), str):
        raise FileFormatError(
            Path(folder) / MANIFEST, "arrays.sha256", "missing", RESTORE
        )
    content = read_bytes(path, MAX_ARRAYS_BYTES, declared.get("bytes"))
    if hashlib.sha256(content).hexdigest() != declared["sha256"]:
        raise FileFormatError(path, "sha256", "the arrays were altered", RESTORE)
    header = int.from_bytes(content[:8], "little")
    if header > min(MAX_HEADER_BYTES, len(content) - 8):
        problem = f"a header of {header} bytes is not credible"
        raise FileFormatError(path, "header", problem, RESTORE)
    try:
        return load(content)
    except (SafetensorError, ValueError, TypeError, LookupError) as error:
        raise FileFormatError(path, "header", f"no arrays ({error})", RESTORE) from None


def read_folder(
    folder: Path, form: str, version: int
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The verified facts and arrays of a folder that `pack` described."""
    manifest = read_manifest(folder, form, version)
    return manifest, read_arrays(folder, manifest)


ANY_SIZE = object()


def read_bytes(path: Path, limit: int, size: Any = ANY_SIZE) -> bytes:
    """A plain file of at most so many bytes, or an error that names it.

    Links are followed, but a device or a pipe is not read, for it may never end.

    Args:
        path: of the file.
        limit: no more of it is read, whatever it says of its size.
        size: that it must have, which is compared before it is read.
    """
    try:
        with open(path, "rb", opener=_without_waiting) as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode):
                raise FileFormatError(path, "file", "no plain file", "Check the path")
            _check_size(path, found.st_size, limit, size)
            content = file.read(limit + 1)
    except (OSError, ValueError) as error:
        if isinstance(error, FileFormatError):
            raise
        problem = f"cannot be read ({getattr(error, 'strerror', None) or error})"
        raise FileFormatError(path, "file", problem, "Check the path") from None
    _check_size(path, len(content), limit, size)
    return content


def _without_waiting(path: str, flags: int) -> int:
    """Opening a pipe that nobody writes to would wait for ever."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _check_size(path: Path, found: int, limit: int, size: Any) -> None:
    if found > limit:
        problem = f"{found} bytes, more than the {limit} that are read"
        raise FileFormatError(path, "size", problem, RESTORE)
    if size is not ANY_SIZE and found != size:
        problem = f"{found} bytes instead of {size}"
        raise FileFormatError(path, "size", problem, RESTORE)


def json_of(path: Path) -> Any:
    """A file's JSON."""
    return parse_json(path, read_bytes(path, MAX_MANIFEST_BYTES))


def parse_json(path: Path, content: bytes) -> Any:
    """A file's content as JSON; its numbers are finite."""
    try:
        return json.loads(content.decode(), parse_float=_finite, parse_constant=_finite)
    except (ValueError, RecursionError) as error:
        raise FileFormatError(path, "file", f"no JSON ({error})", RESTORE) from None


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is no finite number")
    return number
