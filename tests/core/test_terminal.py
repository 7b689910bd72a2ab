"""Names that people give, on terminals and streams of any kind."""

import io
import os

import pytest
from rich.table import Table

from policymix.core.progress import bars, plan_bars
from policymix.core.terminal import Steady, Terminal, readable, steady_output

ODD = "[/x] [red]a[/] \x1b[2J\x07\u202e\udcff :smile:"
SEEN = "[/x] [red]a[/] \\x1b[2J\\x07\\u202e\\udcff :smile:"


def written(act, **options):
    file = io.StringIO()
    act(Terminal(file=file, width=120, **options))
    return file.getvalue()


def test_what_commands_a_terminal_is_shown_and_not_obeyed():
    assert readable(ODD) == SEEN
    assert readable("plain é …\n\t日本") == "plain é …\n\t日本"


def test_a_name_is_only_a_name_in_lines_and_tables():
    assert written(lambda terminal: terminal.print(ODD)) == SEEN + "\n"
    table = Table(title=ODD)
    table.add_column(ODD)
    table.add_row(ODD)
    found = written(lambda terminal: terminal.print(table))
    assert found.count(SEEN) == 3
    assert "\x1b" not in found


@pytest.mark.parametrize("terminal", [True, False])
def test_a_name_is_only_a_name_beside_a_bar(terminal):
    def act(console):
        with bars(console) as begin:
            begin(ODD, 10, ODD)(10, 1.0)
        with plan_bars(console, {ODD: 1.0}) as begin:
            begin(ODD, 10, "score")(10, 1.0)

    assert SEEN in written(act, force_terminal=terminal)


class Narrow(io.TextIOWrapper):
    def __init__(self):
        super().__init__(io.BytesIO(), "ascii", "strict")


def test_ascii_streams_get_plain_signs(monkeypatch):
    stream = Narrow()
    monkeypatch.setattr("sys.stdout", stream)
    with steady_output():
        print("1 ± 2 … −3, Φ, ü")
    assert stream.buffer.getvalue() == b"1 +- 2 ... -3, Phi, \\xfc\n"  # pyright: ignore


def say_much():
    with steady_output():
        for _ in range(5_000):
            print("one")
        Terminal().print("two")


def test_nobody_reads(monkeypatch):
    monkeypatch.setattr("sys.stdout", None)
    say_much()


def test_who_read_has_left(monkeypatch):
    read, write = os.pipe()
    os.close(read)
    with open(write, "w") as stream:
        monkeypatch.setattr("sys.stdout", stream)
        say_much()


def test_the_disk_behind_a_stream_is_full(monkeypatch):
    with open("/dev/full", "w") as stream:
        monkeypatch.setattr("sys.stdout", stream)
        say_much()


def test_a_stream_was_closed(monkeypatch, tmp_path):
    stream = (tmp_path / "file").open("w")
    stream.close()
    monkeypatch.setattr("sys.stdout", stream)
    say_much()


def test_other_properties_of_a_stream_are_its_own():
    stream = io.StringIO()
    assert Steady(stream).write("abc") == 3
    assert Steady(stream).getvalue() == "abc"
    assert not Steady(stream).isatty()
