"""What a bad maze file is told, and what a good one may leave out."""

import copy
import json
from importlib.resources import files

import numpy as np
import pytest

from policymix.core.errors import DomainError
from policymix.domains.maze.files import load_mazes

DOCUMENT = json.loads((files("policymix.domains.maze") / "maze.json").read_text())


def broken(change):
    document = copy.deepcopy(DOCUMENT)
    change(document)
    return json.dumps(document)


def put(field, value):
    return broken(lambda d: d.__setitem__(field, value))


def draw(row, column, cell, source: int | None = None):
    """The document with one cell of one drawing replaced."""

    def change(document):
        rows = document["target"] if source is None else document["sources"][source]
        rows[row] = rows[row][:column] + cell + rows[row][column + 1 :]

    return broken(change)


BAD_FILES = {
    "not JSON": ("{", r"maze.json: is not JSON"),
    "not UTF-8": (b"\xff\xfe{}", r"maze.json: is not JSON"),
    "bottomless": ("[" * 100_000, r"maze.json: is not JSON"),
    "no object": ("[]", r"maze.json: not a JSON object"),
    "key missing": (broken(lambda d: d.pop("goal")), r"maze.json: goal: missing"),
    "no rows": (put("target", "..."), r"target: not a list of strings"),
    "empty": (put("target", []), r"target: 0 rows"),
    "unequal rows": (
        broken(lambda d: d["target"].__setitem__(4, "...")),
        r"target: 29 rows of \[3, 29\] cells.*one odd length",
    ),
    "even size": (put("target", ["...."] * 4), r"target: 4 rows of \[4\] cells"),
    "foreign": (draw(0, 0, "?"), r"target: holds \['\?'\]. Use only"),
    "start in wall": (
        put("start", [0, 3]),
        r"start: \[0, 3\] lies in a wall of target",
    ),
    "goal outside": (put("goal", [1, 29]), r"goal: \[1, 29\] is not a cell"),
    "goal no cell": (put("goal", "top"), r"goal: 'top' is not a cell"),
    "goal a truth": (put("goal", [True, 1]), r"goal: \[True, 1\] is not a cell"),
    "mark elsewhere": (put("start", [0, 0]), r"start: \[0, 0\], but target marks 'S'"),
    "two marks": (draw(0, 0, "G"), r"goal: .* marks 'G' at \[\[0, 0\], \[1, 16\]\]"),
    "unreachable": (draw(22, 14, "#"), r"target: no way from start to goal"),
    "doors": (put("doors", [[14, 3]]), r"doors: .* open at .*\[22, 14\]"),
    "three sources": (
        broken(lambda d: d["sources"].pop()),
        r"sources: not a list of 4 drawings.*upper-left, lower-left",
    ),
    "source unreachable": (draw(22, 14, "#", 2), r"sources\[2\]: no way from start"),
    "source of another size": (
        broken(
            lambda d: d["sources"].__setitem__(1, [row + ".." for row in d["target"]])
        ),
        r"sources\[1\]: \(29, 31\) cells, but the target has \(29, 29\)",
    ),
    "source wrong in its room": (
        draw(0, 0, "#", 0),
        r"sources\[0\]: differs from the target at \[\[0, 0\]\], in the upper-left",
    ),
}


@pytest.mark.parametrize("case", BAD_FILES)
def test_a_bad_file_is_told_where_and_how(case, tmp_path):
    content, message = BAD_FILES[case]
    path = tmp_path / "maze.json"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(DomainError, match=message):
        load_mazes(path)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(DomainError, match=r"absent.json: cannot be read: No such file"):
        load_mazes(tmp_path / "absent.json")


def test_marks_and_doors_may_be_left_out(tmp_path):
    document = {key: DOCUMENT[key] for key in ("start", "goal", "target", "sources")}
    text = json.dumps(document).replace("S", ".").replace("G", ".")
    path = tmp_path / "maze.json"
    path.write_text(text)
    ours, packaged = load_mazes(path), load_mazes()
    assert list(ours.sources) == list(packaged.sources)
    for name in (None, *packaged.sources):
        np.testing.assert_array_equal(
            ours.variant(name).walls, packaged.variant(name).walls
        )
