"""What the values of arguments must be; a rule stands in an argument's annotation."""

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from policymix.core.errors import UsageError, did_you_mean


class Rule(Protocol):
    """What a value must be; stands in an argument's annotation."""

    def check(self, written: str, value: Any) -> None:
        """Raise a UsageError that names the argument as it is written."""
        ...


@dataclass(frozen=True)
class AtLeast:
    """A number, or numbers, not too small."""

    least: int

    def check(self, written: str, value: Any) -> None:
        """Refuse a number below the least."""
        for number in value if isinstance(value, tuple) else (value,):
            if not number >= self.least:
                raise UsageError(
                    f"{written} is {number}: it must be at least {self.least}"
                )


@dataclass(frozen=True)
class OneOf:
    """A name, or several different ones, that must exist."""

    what: str
    names: tuple[str, ...]
    pattern: str = "(?!)"
    """Of further names."""

    def check(self, written: str, value: Any) -> None:
        """Refuse unknown names, none at all, and one that is given twice."""
        given = value if isinstance(value, tuple) else (value,)
        existing = f"{self.what.capitalize()}s: {', '.join(self.names)}"
        if not given:
            raise UsageError(f"{written} needs at least one name.\n{existing}")
        for name in given:
            if "," in name:
                apart = " ".join(name.replace(",", " ").split())
                raise UsageError(f"names are separated by spaces: {written} {apart}")
            if name not in self.names and not re.fullmatch(self.pattern, name):
                guess = did_you_mean(name, self.names)
                raise UsageError(
                    f"there is no {self.what} {name!r}.{guess}\n{existing}"
                )
            if given.count(name) > 1:
                raise UsageError(f"{written} names {name!r} twice")


@dataclass(frozen=True)
class DomainOrSources:
    """The name of a domain, or a folder with sources."""

    names: tuple[str, ...]

    def check(self, written: str, value: Any) -> None:
        """Refuse what is neither."""
        from policymix.storage.folders import MANIFEST

        folder = Path(value)
        if value in self.names or (folder / MANIFEST).exists():
            return
        if folder.exists():
            raise UsageError(
                f"{folder} holds no sources: there is no {MANIFEST} in it.\n"
                "A folder of sources is written by policymix sources train"
            )
        guess = did_you_mean(value, (*self.names, *_beside(folder)))
        raise UsageError(
            f"there is no domain and no folder {value!r}.{guess}\n"
            f"Domains: {', '.join(self.names)}"
        )


@dataclass(frozen=True)
class Folder:
    """A folder that is there."""

    made_by: str
    """Commands that write such folders."""

    def check(self, written: str, value: Any) -> None:
        """Refuse a file, or nothing."""
        if value.exists() and not value.is_dir():
            raise UsageError(f"{value} is a file, not a folder")
        if not value.exists():
            guess = did_you_mean(str(value), _beside(value))
            raise UsageError(
                f"there is no folder {str(value)!r}.{guess}\n"
                f"Such a folder is written by {self.made_by}"
            )


@dataclass(frozen=True)
class Writable:
    """A folder to write to."""

    new: bool = False
    """Whether there may be nothing in it."""

    def check(self, written: str, value: Any) -> None:
        """Refuse a file, a forbidden place and, if it shall be new, one in use."""
        places = (value, *value.absolute().parents)
        there = next(place for place in places if place.exists())
        if not there.is_dir():
            raise UsageError(f"{written} {value}: {there} is a file. Choose a folder")
        if not os.access(there, os.W_OK):
            raise UsageError(f"{written} {value}: you may not write in {there}")
        if self.new and there == value and any(value.iterdir()):
            raise UsageError(
                f"{written} {value}: this folder is in use. Choose a new one"
            )


def _beside(path: Path) -> list[str]:
    """Folders in the same place."""
    if not path.parent.is_dir():
        return []
    return [str(other) for other in path.parent.iterdir() if other.is_dir()]
