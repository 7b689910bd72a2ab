"""Reading runs back: what was written, or an error that names the file and the line."""

import gzip
import json
import math
import shutil
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from policymix.core.errors import FileFormatError
from policymix.core.progress import silent
from policymix.experiments.runner import run_methods as run
from policymix.storage import runs
from policymix.storage.runs import (
    EARLIER,
    FACTS,
    HEADER,
    NEEDED,
    PACKED,
    ROWS,
    find_runs,
    read_run,
)

from support.probes import MIXED, QUICK

SETTINGS = replace(QUICK, steps=200)
STEPS = (0, 100, 200)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A run of one method: the rows, and the folder, which stays as it is."""
    out = tmp_path_factory.mktemp("runs") / "scratch"
    return run(MIXED, ["scratch"], SETTINGS, 5, 2, out, silent), out


@pytest.fixture
def folder(written, tmp_path):
    """A copy to damage."""
    return shutil.copytree(written[1], tmp_path / "damaged")


def lines_of(folder):
    return (folder / ROWS).read_text().splitlines()


def rewrite(folder, lines):
    (folder / ROWS).write_text("".join(f"{line}\n" for line in lines))


def remove(folder, gone):
    """Take out lines by their numbers."""
    numbered = enumerate(lines_of(folder), start=1)
    rewrite(folder, [text for number, text in numbered if number not in gone])


def facts_of(folder):
    return json.loads((folder / FACTS).read_text())


def retell(folder, facts):
    (folder / FACTS).write_text(json.dumps(facts))


def complaint(folder):
    with pytest.raises(FileFormatError) as caught:
        read_run(folder)
    assert str(caught.value).startswith(f"{caught.value.path}: {caught.value.field}: ")
    return caught.value


def outcome(folder):
    """None when the folder can be read, else the file that is wrong."""
    try:
        read_run(folder)
    except FileFormatError as error:
        return error.path
    return None


def assert_wrong(folder, name, field, words):
    error = complaint(folder)
    assert (error.path, error.field) == (str(folder / name), field)
    assert words in str(error)


def test_curves_are_the_rows_that_were_written(written):
    rows, out = written
    found = read_run(out)
    assert list(found.curves) == ["scratch"]
    curve = found.curves["scratch"]
    assert curve.steps.tolist() == list(STEPS)
    assert curve.seeds == (5, 6)
    assert len(rows) == curve.scores.size == 6
    for row in rows:
        place = STEPS.index(row.step), row.trial
        assert (curve.scores[place], curve.alone[place]) == (row.score, row.alone)
        np.testing.assert_equal(curve.training[place], row.training)
    assert found.facts == facts_of(out)
    assert not found.has_snapshots


def test_the_order_of_the_rows_does_not_matter(written, folder):
    header, *rows = lines_of(folder)
    rewrite(folder, [header, *rows[::-1]])
    np.testing.assert_array_equal(
        read_run(folder).curves["scratch"].scores,
        read_run(written[1]).curves["scratch"].scores,
    )


@pytest.fixture
def two(folder):
    """The same rows once more, one lower, as if another method had run second."""
    retell(folder, facts_of(folder) | {"methods": ["scratch", "phi1"]})
    lines = lines_of(folder)
    parts = [line.replace("scratch", "phi1").split(",") for line in lines[1:]]
    lower = [
        ",".join([*part[:5], str(float(part[5]) - 1), *part[6:]]) for part in parts
    ]
    rewrite(folder, [*lines, *lower])
    return folder


def test_every_method_has_its_own_curve(two):
    curves = read_run(two).curves
    assert list(curves) == ["scratch", "phi1"]
    lower = curves["scratch"].scores - 1
    np.testing.assert_array_equal(curves["phi1"].scores, lower)


@pytest.mark.parametrize(
    ("gone", "line", "words"),
    [
        ([8], 7, "phi1, trial 0, step 0 is missing"),
        ([7], 6, "scratch, trial 1, step 200 is missing"),
        ([6, 7], 5, "scratch"),
        ([12, 13], 11, "phi1"),
    ],
    ids=str,
)
def test_a_row_is_missed_among_those_of_its_method(two, gone, line, words):
    remove(two, gone)
    assert_wrong(two, ROWS, f"line {line}", words)


def test_an_interrupted_run_has_the_curve_of_its_first_tests(tmp_path):
    def begin(name, steps, figure):
        def advance(taken, value):
            if name == "scratch" and taken > 0:
                raise KeyboardInterrupt

        return advance

    with pytest.raises(KeyboardInterrupt):
        run(MIXED, ["scratch", "mars"], SETTINGS, 0, 2, tmp_path / "half", begin)
    found = read_run(tmp_path / "half")
    assert found.facts["status"] == "interrupted"
    assert list(found.curves) == ["scratch"]
    assert found.curves["scratch"].steps.tolist() == [0, 100]
    assert found.curves["scratch"].scores.shape == (2, 2)


def test_the_first_tests_of_an_interrupted_run_are_complete(folder):
    retell(folder, facts_of(folder) | {"status": "interrupted"})
    lines = lines_of(folder)
    rewrite(folder, lines[:4])
    words = "after it, scratch, trial 1, step 100 is missing"
    assert_wrong(folder, ROWS, "line 4", words)


@pytest.mark.parametrize(
    ("gone", "line", "words"),
    [
        ([2], 1, "scratch, trial 0, step 0 is missing"),
        ([4], 3, "scratch, trial 0, step 100 is missing"),
        ([7], 6, "scratch, trial 1, step 200 is missing"),
        ([2, 3], 1, "step 0"),
        ([4, 5], 3, "step 100"),
        ([6, 7], 5, "200"),
        ([2, 3, 4, 5, 6, 7], 1, "200"),
    ],
    ids=str,
)
def test_a_missing_row_is_missed_at_its_place(folder, gone, line, words):
    remove(folder, gone)
    assert_wrong(folder, ROWS, f"line {line}", words)


@pytest.mark.parametrize("change", ["", "1"], ids=["same", "other score"])
def test_a_repeated_row_is_named_with_the_first(folder, change):
    lines = lines_of(folder)
    rewrite(folder, [*lines, lines[3] + change])
    words = "repeats line 4 (scratch, trial 0, step 100)"
    assert_wrong(folder, ROWS, "line 8", words)


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("probe,scratch,0,5,100,1.0", "6 values instead of 8"),
        ("probe,scratch,0,5,100,1.0,2.0,3.0,4.0", "9 values instead of 8"),
        ("", "values instead of 8"),
        ("probe,scratch,one,5,100,1.0,2.0,0.5", "'one'"),
        ("probe,scratch,0,5.5,100,1.0,2.0,0.5", "'5.5'"),
        ("probe,scratch,0,5,soon,1.0,2.0,0.5", "'soon'"),
        ("probe,scratch,0,5,100,good,2.0,0.5", "'good'"),
        ("probe,scratch,0,5,100,,2.0,0.5", "''"),
        ("probe,scratch,0,5,100,nan,2.0,0.5", "the score is nan"),
        ("probe,scratch,0,5,100,inf,2.0,0.5", "the score is inf"),
        ("probe,scratch,0,5,100,-inf,2.0,0.5", "the score is -inf"),
        ("probe,scratch,0,5,100,1.0,bad,0.5", "'bad'"),
        ("probe,scratch,0,5,100,1.0,,0.5", "''"),
        ("probe,scratch,0,5,100,1.0,nan,0.5", "the score alone is nan"),
        ("probe,scratch,0,5,100,1.0,2.0,inf", "training episodes is infinite"),
        ("maze,scratch,0,5,100,1.0,2.0,0.5", "the domain is 'maze', not 'probe'"),
        ("probe,mars,0,5,100,1.0,2.0,0.5", "'mars' is none of the run's methods"),
        ("probe,scratch,2,7,100,1.0,2.0,0.5", "no trial 2 with seed 7"),
        ("probe,scratch,-1,4,100,1.0,2.0,0.5", "no trial -1 with seed 4"),
        ("probe,scratch,0,6,100,1.0,2.0,0.5", "no trial 0 with seed 6"),
        ("probe,scratch,0,5,-100,1.0,2.0,0.5", "the step is -100"),
    ],
)
@pytest.mark.parametrize("line", [2, 4, 7])
def test_a_row_that_cannot_be_is_named_by_its_line(folder, line, row, words):
    lines = lines_of(folder)
    lines[line - 1] = row
    rewrite(folder, lines)
    assert_wrong(folder, ROWS, f"line {line}", words)


def test_rows_from_before_there_were_further_columns_are_read(written, folder):
    rewrite(folder, [line.rpartition(",")[0] for line in lines_of(folder)])
    assert lines_of(folder)[0] == EARLIER[1]
    assert np.isnan(read_run(folder).curves["scratch"].training).all()
    rewrite(folder, [line.rpartition(",")[0] for line in lines_of(folder)])
    assert lines_of(folder)[0] == EARLIER[0]
    curve, whole = (read_run(f).curves["scratch"] for f in (folder, written[1]))
    np.testing.assert_array_equal(curve.scores, whole.scores)
    assert curve.alone.shape == whole.alone.shape
    assert np.isnan(curve.alone).all()


@pytest.mark.parametrize("line", [2, 4, 7])
def test_a_file_has_the_score_alone_in_every_row_or_in_none(folder, line):
    lines = lines_of(folder)
    rewrite(folder, [EARLIER[0], *lines[1:]])
    assert_wrong(folder, ROWS, "line 2", "8 values instead of 6")
    lines[line - 1] = lines[line - 1].rpartition(",")[0]
    rewrite(folder, lines)
    assert_wrong(folder, ROWS, f"line {line}", "7 values instead of 8")


def test_no_row_lies_beyond_the_end(folder):
    lines = lines_of(folder)
    beyond = [line.replace(",200,", ",300,") for line in lines[5:]]
    rewrite(folder, [*lines, *beyond])
    assert complaint(folder).path == str(folder / ROWS)
    retell(folder, facts_of(folder) | {"status": "interrupted"})
    assert complaint(folder).path == str(folder / ROWS)


def test_no_row_lies_between_two_tests(folder):
    lines = lines_of(folder)
    between = [line.replace(",100,", ",150,") for line in lines[3:5]]
    rewrite(folder, [*lines, *between])
    assert complaint(folder).path == str(folder / ROWS)


@pytest.mark.parametrize(
    "header", ["", "domain,method", HEADER.upper(), f"{HEADER},more", f" {HEADER}"]
)
def test_another_header_is_shown(folder, header):
    rewrite(folder, [header, *lines_of(folder)[1:]])
    assert_wrong(folder, ROWS, "line 1", f"the header is {header!r} instead of")


def test_an_empty_file_has_no_header(folder):
    (folder / ROWS).write_bytes(b"")
    assert_wrong(folder, ROWS, "line 1", "the header is '' instead of")


def test_a_file_that_was_cut_is_noticed_wherever_it_was_cut(folder):
    whole = (folder / ROWS).read_bytes()
    unnoticed = []
    for length in range(len(whole)):
        (folder / ROWS).write_bytes(whole[:length])
        if outcome(folder) != str(folder / ROWS):
            unnoticed.append(whole[length:])
    assert unnoticed == []


@pytest.mark.parametrize("name", [ROWS, FACTS])
def test_a_file_that_cannot_be_read_is_named(folder, name):
    (folder / name).write_bytes(b"\xff\xfe" + (folder / name).read_bytes())
    assert_wrong(folder, name, "file", "codec can't decode")
    (folder / name).unlink()
    assert_wrong(folder, name, "file", "No such file")
    (folder / name).mkdir()
    assert_wrong(folder, name, "file", "Is a directory")


@pytest.mark.parametrize("text", ["", "{", "policymix run", "[" * 100_000, "[1,]"])
def test_facts_that_are_no_json_are_named(folder, text):
    (folder / FACTS).write_text(text)
    assert_wrong(folder, FACTS, "file", "no JSON")


@pytest.mark.parametrize("facts", [[], None, "run", 3, {}, {"format": "a library"}])
def test_facts_of_something_else_are_no_run(folder, facts):
    retell(folder, facts)
    assert_wrong(folder, FACTS, "format", "no policymix run")


@pytest.mark.parametrize("version", [2, 0, "1", None])
def test_another_version_is_not_read(folder, version):
    retell(folder, facts_of(folder) | {"version": version})
    assert_wrong(folder, FACTS, "version", f"{version!r}, but this release reads 1")


@pytest.mark.parametrize("name", NEEDED)
def test_a_fact_that_is_missing_or_of_another_type_is_named(folder, name):
    facts = facts_of(folder)
    value = facts.pop(name)
    retell(folder, facts)
    assert_wrong(folder, FACTS, name, "None is not of the right type")
    retell(folder, facts | {name: 0.5})
    assert_wrong(folder, FACTS, name, "0.5 is not of the right type")
    retell(folder, facts | {name: value})
    assert read_run(folder).facts[name] == value


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("methods", [1]),
        ("methods", []),
        ("sources", {"good": 5}),
        ("source_samples", {"good": "many"}),
        ("wall_seconds", {"scratch": "long"}),
        ("sweep", 5),
        ("sweep", {"value": 0.9}),
        ("sweep", {"setting": "ucb_reuse", "value": "high"}),
        ("trials", 0),
        ("trials", True),
        ("better", "larger"),
        ("seed", -1),
        ("seed", 2**64),
        ("methods", ["scratch\x1b[2J"]),
        ("domain", "a\0b"),
        ("wall_seconds", {"scratch": 10**400}),
        ("sweep", {"setting": "updates", "value": "step"}),
    ],
)
def test_a_fact_that_a_report_could_not_use_is_named(folder, name, value):
    retell(folder, facts_of(folder) | {name: value})
    assert complaint(folder).path == str(folder / FACTS)
    assert complaint(folder).field.startswith((name, "methods"))


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"discount": "high"}, "settings.discount"),
        ({"steps": 200.5}, "settings.steps"),
        ({"steps": None}, "settings.steps"),
        ({"double": 1}, "settings.double"),
        ({"mixture_layers": 8}, "settings.mixture_layers"),
        ({"mixture_layers": ["eight"]}, "settings.mixture_layers"),
        ({"layers": "wide"}, "settings.layers"),
        ({"layers": [0.5]}, "settings.layers"),
        ({"updates": [1]}, "settings.updates"),
        ({"discount": 10**400}, "settings.discount"),
        ({"discount": math.nan}, "file"),
        ({"layers": [8] * 100}, "settings.layers"),
        ({"colour": "red"}, "settings"),
    ],
    ids=lambda value: f"{value!s:.30}",
)
def test_settings_that_are_none_are_named(folder, change, field):
    facts = facts_of(folder)
    retell(folder, facts | {"settings": facts["settings"] | change})
    assert_wrong(folder, FACTS, field, "")
    del facts["settings"]["discount"]
    retell(folder, facts)
    assert_wrong(folder, FACTS, "settings", "not the fields of Settings")


def assert_sound_or_named(folder):
    assert outcome(folder) in (None, str(folder / ROWS), str(folder / FACTS))


@pytest.fixture(scope="module")
def fuzzed(written, tmp_path_factory):
    return shutil.copytree(written[1], tmp_path_factory.mktemp("fuzz") / "run")


def restored(fuzzed, written):
    for name in (ROWS, FACTS):
        shutil.copyfile(written[1] / name, fuzzed / name)
    return fuzzed


CSV = st.text(alphabet="0123456789.,-+e_infa\n\r\x0b\x1c\u2028\0 'probescratch")


@given(st.binary() | CSV.map(str.encode))
def test_any_bytes_as_rows_are_rows_or_an_error(written, fuzzed, content):
    folder = restored(fuzzed, written)
    for start in (b"", HEADER.encode() + b"\n", (written[1] / ROWS).read_bytes()):
        (folder / ROWS).write_bytes(start + content)
        assert_sound_or_named(folder)


@given(st.lists(st.integers(-3, 9) | st.floats(), min_size=5, max_size=5))
@example([0, 5, 10**30, 1.0, 1.0])
def test_any_numbers_in_a_row_are_a_row_or_an_error(written, fuzzed, numbers):
    folder = restored(fuzzed, written)
    row = ",".join(map(str, ["probe", "scratch", *numbers]))
    for status in ("finished", "interrupted"):
        retell(folder, facts_of(written[1]) | {"status": status})
        for kept in (1, 3, 7):
            rewrite(folder, [*lines_of(written[1])[:kept], row])
            assert_sound_or_named(folder)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=5,
)


@given(st.binary() | JSON.map(lambda value: json.dumps(value).encode()))
def test_any_bytes_as_facts_are_an_error(written, fuzzed, content):
    folder = restored(fuzzed, written)
    (folder / FACTS).write_bytes(content)
    assert complaint(folder).path == str(folder / FACTS)


@given(st.sampled_from([*NEEDED, "sweep"]), JSON)
@example("trials", 10**30)
@example("seed", 10**30)
@example("methods", [{}])
@example("methods", ["scratch", "scratch"])
def test_any_value_of_a_fact_is_sound_or_an_error(written, fuzzed, name, value):
    folder = restored(fuzzed, written)
    retell(folder, facts_of(written[1]) | {name: value})
    assert_sound_or_named(folder)


@given(st.sampled_from(list(QUICK.__dict__)), JSON)
def test_any_value_of_a_setting_is_sound_or_an_error(written, fuzzed, name, value):
    folder = restored(fuzzed, written)
    facts = facts_of(written[1])
    retell(folder, facts | {"settings": facts["settings"] | {name: value}})
    assert_sound_or_named(folder)


def test_runs_are_found_at_a_place_and_below_in_order(written, tmp_path):
    place = tmp_path / ".hidden" / "results"
    for name in ("b", "a/c", "a"):
        shutil.copytree(written[1], place / name, dirs_exist_ok=True)
    assert find_runs(place) == [place / "a", place / "a" / "c", place / "b"]
    assert find_runs(place / "b") == [place / "b"]
    assert find_runs(tmp_path / "nowhere") == []


def test_a_folder_that_was_not_finished_writing_is_no_run(written, tmp_path):
    shutil.copytree(written[1], tmp_path / "scratch")
    shutil.copytree(written[1], tmp_path / ".scratch.k2j4x8")
    assert find_runs(tmp_path) == [tmp_path / "scratch"]


def pack(folder):
    """Compress the rows; they are left in no other form."""
    packed = gzip.compress((folder / ROWS).read_bytes(), mtime=0)
    (folder / ROWS).unlink()
    (folder / PACKED).write_bytes(packed)
    return packed


def test_compressed_rows_are_the_same_rows(written, folder):
    pack(folder)
    plain, packed = read_run(written[1]), read_run(folder)
    assert packed.facts == plain.facts
    assert packed.curves.keys() == plain.curves.keys()
    for name, curve in plain.curves.items():
        assert packed.curves[name].seeds == curve.seeds
        np.testing.assert_array_equal(packed.curves[name].steps, curve.steps)
        np.testing.assert_array_equal(packed.curves[name].scores, curve.scores)


@pytest.mark.parametrize("kept", [0, 1, 10, 20, -8, -1], ids=str)
def test_compressed_rows_that_are_cut_off_are_named(folder, kept):
    packed = pack(folder)
    (folder / PACKED).write_bytes(packed[:kept])
    assert complaint(folder).path == str(folder / PACKED)


def test_no_changed_byte_of_compressed_rows_is_read_as_others(written, folder):
    packed, plain = pack(folder), read_run(written[1]).curves["scratch"]
    for place in range(len(packed)):
        changed = bytearray(packed)
        changed[place] ^= 0x55
        (folder / PACKED).write_bytes(changed)
        wrong = outcome(folder)
        assert wrong in (None, str(folder / PACKED))
        if wrong is None:  # the header has a time and a system's name that say nothing
            found = read_run(folder).curves["scratch"]
            np.testing.assert_array_equal(found.scores, plain.scores)


def test_compressed_rows_may_be_no_bomb(folder, monkeypatch):
    packed = pack(folder)
    monkeypatch.setattr(runs, "MAX_ROWS_BYTES", len(packed) + 1)
    assert_wrong(folder, PACKED, "file", f"more than the {len(packed) + 1} bytes")
