"""Errors that name the thing, the place and the remedy."""

import difflib
from collections.abc import Iterable


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """A guess at what was meant, to end a message with; empty without a likely one."""
    close = difflib.get_close_matches(name, list(names), n=1)
    return f" Did you mean {close[0]!r}?" if close else ""


class PolicymixError(Exception):
    """The base of every error that this package raises on purpose."""


class SourceError(PolicymixError, ValueError):
    """A source task does not fit its library or the target."""


class DomainError(PolicymixError, ValueError):
    """A domain, or a file that describes one, is not what it should be."""


class FileFormatError(PolicymixError, ValueError):
    """A file is truncated, altered or foreign; names the file and the field."""

    def __init__(self, path: object, field: str, problem: str, remedy: str):
        self.path = str(path)
        self.field = field
        super().__init__(f"{path}: {field}: {problem}. {remedy}")


class MissingExtraError(PolicymixError, ImportError):
    """An optional dependency is not installed; the message says how to get it."""

    def __init__(self, feature: str, extra: str):
        super().__init__(
            f"{feature} needs the optional extra '{extra}': "
            f"pip install 'policymix[{extra}]'"
        )
