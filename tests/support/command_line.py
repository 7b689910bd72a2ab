"""Typing `policymix …` without a new process."""

import sys

import pytest

from policymix.cli import main as cli


def typed(monkeypatch, capsys, *arguments):
    """The exit status, and all that is printed."""
    monkeypatch.setattr(sys, "argv", ["policymix", *map(str, arguments)])
    with pytest.raises(SystemExit) as caught:
        cli.main()
    printed = capsys.readouterr()
    return caught.value.code or 0, printed.out + printed.err
