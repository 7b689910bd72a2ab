"""What people read: names as they are, on any stream, and never in the way of work."""

import codecs
import io
import os
import sys
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from rich.console import Console
from rich.text import Text

IN_ASCII = {
    "…": "...",
    "±": "+-",
    "–": "-",
    "−": "-",
    "×": "x",
    "→": "->",
    "≥": ">=",
    "≤": "<=",
    "Φ": "Phi",
    "′": "'",
    "’": "'",
}
"""What stands for a sign where only ASCII can be written."""
UNSEEN = ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")
"""Categories of what commands a terminal or deceives a reader: escape codes, changes of
direction, bytes that are no text."""


def readable(text: object) -> str:
    """A text that anybody wrote, without what a terminal would obey."""
    return "".join(
        char
        if char in "\n\t" or unicodedata.category(char) not in UNSEEN
        else ascii(char)[1:-1]
        for char in str(text)
    )


class Terminal(Console):
    """A console for which a name is only a name, be it [/x] or an escape code."""

    def __init__(self, **options: Any):
        super().__init__(markup=False, emoji=False, **options)

    def render_str(self, text: str, **options: Any) -> Text:
        """A text as it was written."""
        return super().render_str(readable(text), **options)


class Void(io.TextIOBase):
    """A stream into nothing."""

    def write(self, text: str) -> int:
        """Lose the text."""
        return len(text)


class Steady:
    """A stream that may be closed, full or narrow without anybody's work being lost."""

    def __init__(self, stream: Any):
        self._stream = stream
        with suppress(AttributeError, ValueError, OSError):
            stream.reconfigure(errors="policymix")

    def write(self, text: str) -> int:
        """Write, or lose the text."""
        try:
            return self._stream.write(text)
        except (OSError, ValueError):
            self._give_up()
            return len(text)

    def flush(self) -> None:
        """Flush, or lose what was to be written."""
        try:
            self._stream.flush()
        except (OSError, ValueError):
            self._give_up()

    def _give_up(self) -> None:
        """From now on into nothing: whoever reads, `head` for instance, has left."""
        nothing = os.open(os.devnull, os.O_WRONLY)
        try:
            os.dup2(nothing, self._stream.fileno())
        except (OSError, ValueError):
            self._stream = Void()
        finally:
            os.close(nothing)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def steady_output() -> Iterator[None]:
    """Commands write to streams that are never in their way."""
    codecs.register_error("policymix", _plainly)
    while (handle := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass  # of a closed stream: a file of ours must not take its place
    os.close(handle)
    streams = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (Steady(stream or Void()) for stream in streams)
    try:
        yield
    finally:
        sys.stdout.flush()
        sys.stdout, sys.stderr = streams


def _plainly(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    text = error.object[error.start : error.end]
    plain = "".join(IN_ASCII.get(char) or ascii(char)[1:-1] for char in text)
    return plain, error.end
