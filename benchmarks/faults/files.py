"""Damaged and crafted folders: each is read, or refused with one kind of error."""

import hashlib
import json
import os
import pickle
import resource
import shutil
from functools import partial

import numpy as np
from children import status_of, tracebacks
from made import FORMATS
from safetensors.numpy import load as unpack
from safetensors.numpy import save as pack
from tally import Tally

from policymix.core.errors import FileFormatError, PolicymixError
from policymix.storage.folders import ARRAYS, MANIFEST, canonical

BATCH = 100
SENTENCES = ("agent", "experiment", "task", "checkpoint")
"""What may also be refused since it does not fit something else."""
HOSTILE = [
    *(None, True, False, 0, -1, 1, 7, 1.5, 1e308, -1e308, 2**31, 2**62, 2**64, 10**40),
    *("", "x", "a\0b", "../..", "/dev/zero", "\x1b[2J", "[/x]", "=1+1", "é" * 999),
    *("__import__('os').system('true')", "MLP", "maze", "mars", "finished", "array"),
    *([], {}, [[]], [None] * 999, {"kind": "MLP"}, {"array": "0"}, list(range(2000))),
]
CELLS = ["", "nan", "inf", "-1", "1e999", "x", "=1+1", "\0", "9" * 400, '"', "1,1"]


class Bomb:
    """Whoever unpickles it makes a folder."""

    def __init__(self, place):
        self.place = place

    def __reduce__(self):
        return os.mkdir, (self.place,)


def damage(folder, rng, bomb):
    """One act of damage to one file of a folder; its name."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    path = files[rng.integers(len(files))]
    crafts = [crafted] * 5 if path.suffix in (".json", ".csv", ".safetensors") else []
    acts = [cut, flip, overwrite, repeat, remove, foreign, no_file, *crafts]
    act = acts[rng.integers(len(acts))]
    act(path, rng, bomb)
    return f"{act.__name__} {path.name}"


def _span(content, rng):
    start, end = sorted(rng.integers(len(content) + 1, size=2).tolist())
    return start, end


def cut(path, rng, bomb):
    content = path.read_bytes()
    path.write_bytes(content[: rng.integers(len(content))])


def flip(path, rng, bomb):
    content = bytearray(path.read_bytes())
    for place in rng.integers(len(content), size=rng.integers(1, 9)):
        content[place] ^= 1 << int(rng.integers(8))
    path.write_bytes(content)


def overwrite(path, rng, bomb):
    content = path.read_bytes()
    start, end = _span(content, rng)
    path.write_bytes(content[:start] + rng.bytes(end - start) + content[end:])


def repeat(path, rng, bomb):
    content = path.read_bytes()
    start, end = _span(content, rng)
    path.write_bytes(content[:end] + content[start:])


def remove(path, rng, bomb):
    content = path.read_bytes()
    start, end = _span(content, rng)
    path.write_bytes(content[:start] + content[end:])


def foreign(path, rng, bomb):
    contents = [b"", b"\0" * 9, rng.bytes(2000), b"[" * 9999, b"{}", b"null", bomb]
    path.write_bytes(contents[rng.integers(len(contents))])


def no_file(path, rng, bomb):
    path.unlink()
    kind = rng.integers(6)
    if kind == 0:
        os.mkfifo(path)
    elif kind == 1:
        path.symlink_to("/dev/zero")
    elif kind == 2:
        path.symlink_to(path.name)
    elif kind == 3:
        path.mkdir()
    elif kind == 4:
        with path.open("wb") as file:
            file.truncate(1 << 33)


def crafted(path, rng, bomb):
    """As a forger would: digests are right again."""
    if path.suffix == ".csv":
        return craft_rows(path, rng)
    if path.name == ARRAYS:
        return craft_arrays(path, rng)
    document = json.loads(path.read_bytes())
    places = [place for place in places_of(document) if place]
    for _ in range(rng.integers(1, 4)):
        put(document, places[rng.integers(len(places))], rng)
    return sign(path, document)


def craft_rows(path, rng):
    rows = [line.split(",") for line in path.read_text().splitlines()]
    row = rows[rng.integers(len(rows))]
    row[rng.integers(len(row))] = CELLS[rng.integers(len(CELLS))]
    path.write_text("".join(",".join(row) + "\n" for row in rows))


def craft_arrays(path, rng):
    arrays = unpack(path.read_bytes())
    name = sorted(arrays)[rng.integers(len(arrays))]
    old = arrays[name]
    with np.errstate(invalid="ignore"):
        others = others_than(old)
    arrays[name] = others[rng.integers(len(others))]
    if rng.integers(8) == 0:
        arrays["x" * 99] = arrays.pop(name)
    content = pack({k: np.ascontiguousarray(v) for k, v in arrays.items()})
    path.write_bytes(content)
    manifest = path.with_name(MANIFEST)
    document = json.loads(manifest.read_bytes())
    digest = hashlib.sha256(content).hexdigest()
    document["arrays"] = {"bytes": len(content), "sha256": digest}
    sign(manifest, document)


def others_than(old):
    """Arrays that may stand in its place."""
    return [
        old[..., None],
        old.reshape(-1)[:0],
        np.zeros((0, 2**40), old.dtype),
        np.full(old.shape, 127).astype(old.dtype),
        old.astype(np.int64),
        old.astype(np.float16),
        old.astype(bool),
        np.full(old.shape, np.nan, np.float32),
        np.full(old.shape, 3e38, np.float32),
        np.zeros((old.size, 2), old.dtype),
    ]


def sign(path, document):
    if path.name != MANIFEST or not isinstance(document, dict):
        path.write_text(json.dumps(document))
        return
    document.pop("digest", None)
    try:
        document["digest"] = hashlib.sha256(canonical(document)).hexdigest()
        path.write_bytes(canonical(document))
    except (ValueError, TypeError):  # too deep or endless, or keys of two kinds
        path.write_text(json.dumps(document))


def places_of(value, path=()):
    yield path
    items = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    for key, child in items:
        yield from places_of(child, (*path, key))


def put(document, path, rng):
    """Something hostile in one place: another value, one level more, or nothing."""
    try:
        for key in path[:-1]:
            document = document[key]
        value = HOSTILE[rng.integers(len(HOSTILE))]
        if rng.integers(10) == 0:
            for _ in range(800):
                value = {"kind": "ClippedPolicy", "policy": value}
        document[path[-1]] = value
    except (LookupError, TypeError):
        pass  # an earlier act has taken the place away


def of_files(place, count, rng):
    """Damage copies of every format and read them in other processes."""
    tally = Tally()
    exploded = place / "exploded"
    bomb = pickle.dumps(Bomb(str(exploded)))
    intact = {form: place / f"intact-{form}" for form in FORMATS}
    for form, (write, read) in FORMATS.items():
        tally.ended(status_of(partial(write, intact[form]), place), f"a {form}")
        tally.ended(status_of(partial(read, intact[form]), place), form)
    forms = list(FORMATS)
    while tally.times < count:
        form = forms[tally.times // BATCH % len(forms)]
        size = min(BATCH, count - tally.times)
        tally.figures += one_batch(place, form, intact[form], size, bomb, rng, tally)
        tally.times += size
    tally.wrong("executed", "a pickle", exploded.exists())
    tally.wrong("tracebacks", "of a reader", tracebacks(place))
    return tally


def one_batch(place, form, intact, size, bomb, rng, tally):
    """Damage so many copies, have them read, and count; a line about each."""
    batch, report = place / "batch", place / "report.jsonl"
    acts = []
    for number in range(size):
        copy = shutil.copytree(intact, batch / str(number))
        acts.append(f"{form}: {damage(copy, rng, bomb)}")
    report.write_text("")
    status = status_of(partial(read_all, batch, form, report), place)
    lines = [json.loads(line) for line in report.read_text().splitlines()]
    for line in lines:
        what = f"{acts[line['number']]} {line['told']}"
        tally.wrong("other", what, bool(line["told"]))
    tally.ended(status, f"after {len(lines)} of {acts[min(len(lines), size - 1)]}")
    shutil.rmtree(batch)
    return lines


def read_all(batch, form, report):
    """Read every folder of a batch and write down how it went."""
    with report.open("a") as file:
        for number in range(len(list(batch.iterdir()))):
            before = resource.getrusage(resource.RUSAGE_SELF)
            told, refused = outcome(form, batch / str(number))
            after = resource.getrusage(resource.RUSAGE_SELF)
            line = {
                "number": number,
                "told": told,
                "refused": refused,
                "seconds": after.ru_utime - before.ru_utime,
                "megabytes": (after.ru_maxrss - before.ru_maxrss) / 1024,
                "first": number == 0,
            }
            file.write(json.dumps(line) + "\n")
            file.flush()


def outcome(form, folder):
    """What is wrong with how a folder was read, and whether it was refused."""
    try:
        FORMATS[form][1](folder)
    except FileFormatError:
        return "", True
    except PolicymixError as error:
        return ("" if form in SENTENCES else repr(error)), True
    except BaseException as error:
        return f"{type(error).__name__}: {error}"[:200], True
    return "", False


def summary(figures):
    """Of those that are not the first of a process, which starts JAX as well."""
    rest = [line for line in figures if not line["first"]]
    seconds = np.array([line["seconds"] for line in rest])
    most = max(line["megabytes"] for line in rest)
    refused = sum(line["refused"] for line in figures)
    return (
        f"{refused:,} refused by a sentence, the others harmless; processor-seconds: "
        f"median {np.median(seconds):.3f}, 99 % {np.quantile(seconds, 0.99):.2f}, most "
        f"{seconds.max():.1f}; memory: at most {most:.0f} MB more"
    )
