"""Errors that name the thing, the place and the remedy."""

import difflib
from collections.abc import Iterable


def closest(name: str, names: Iterable[str]) -> str | None:
    """The name that was probably meant: begun or nearly so, in any case."""
    known = {other.lower(): other for other in names}
    given = name.lower()
    begun = [other for other in known if given and other.startswith(given)]
    found = [*begun, *difflib.get_close_matches(given, known, n=1)]
    return known[found[0]] if found else None


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """A guess at what was meant, to end a message with; empty without a likely one."""
    meant = closest(name, names)
    return "" if meant is None else f" Did you mean {meant!r}?"


class PolicymixError(Exception):
    """The base of every error that this package raises on purpose."""


class UsageError(PolicymixError, ValueError):
    """A command line asks for something that does not exist or cannot be."""


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
