"""What values must be: the parser says which one is wrong, a rule says why."""

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from policymix.core.errors import PolicymixError, did_you_mean
from policymix.environments.own_code import is_own_code
from policymix.environments.registry import EVERYTHING, GROUPS, domain_names
from policymix.methods.names import method_names
from policymix.storage.folders import MANIFEST, NOTE
from policymix.storage.places import GOING_ON, check_place, ground_of, is_used


def a_method(_: Any, name: str) -> None:
    """The name of a method; phi1, phi2, … are as many as the sources."""
    if "," in name:
        apart = " ".join(name.replace(",", " ").split())
        raise ValueError(f"names are separated by spaces: --methods {apart}")
    if not re.fullmatch(r"phi[1-9]\d*", name):
        _exists("method", name, method_names())


def each_once(_: Any, names: tuple[str, ...]) -> None:
    """No name twice."""
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"{name!r} is named twice")


def a_domain(_: Any, name: str | None) -> None:
    """The name of a domain, or none where one need not be given."""
    if name is not None:
        _exists("domain", name, domain_names())


def domain_or_group(_: Any, name: str) -> None:
    """The name of a domain, or one that stands for several."""
    _exists("domain", name, dict.fromkeys([*domain_names(), *GROUPS, EVERYTHING]))


def domain_or_sources(_: Any, place: str) -> None:
    """The name of a domain, or a folder with sources."""
    folder = Path(place)
    if place in domain_names() or (folder / MANIFEST).exists():
        return
    if folder.exists():
        raise ValueError(
            f"it holds no sources: there is no {MANIFEST} in it.\n"
            "A folder of sources is written by policymix sources train"
        )
    _exists("domain and no folder", place, domain_names(), _beside(folder))


def a_task(_: Any, place: str) -> None:
    """The same, or the user's own code, which says itself what is wrong with it."""
    if place in domain_names() or not is_own_code(place):
        domain_or_sources(_, place)


def folder_of_runs(_: Any, folder: Path) -> None:
    """A folder that is there."""
    if folder.is_file():
        raise ValueError("it is a file, not a folder")
    if not folder.exists():
        guess = did_you_mean(str(folder), _beside(folder))
        made = "Such a folder is written by policymix run, reproduce or demo"
        raise ValueError(f"there is no such folder.{guess}\n{made}")


def writable(_: Any, folder: Path | None) -> None:
    """A folder to write to, whatever is in it."""
    if folder is None:
        return
    try:
        check_place(folder)
    except PolicymixError as error:
        raise ValueError(error) from None
    if not os.access(ground_of(folder), os.W_OK):
        raise ValueError(f"you may not write in {ground_of(folder)}. Choose another")


def new_folder(_: Any, folder: Path) -> None:
    """A folder to write to, with nothing in it."""
    writable(_, folder)
    if folder.is_dir() and is_used(folder):
        raise ValueError("there is something in it already. Choose a new one")


def new_or_begun(_: Any, folder: Path) -> None:
    """The same, or one that can be gone on with."""
    if not (folder / GOING_ON).is_dir() and not (folder / NOTE).exists():
        new_folder(_, folder)


def _exists(
    what: str, name: str, names: Iterable[str], more: Iterable[str] = ()
) -> None:
    if name not in names:
        guess = did_you_mean(name, (*names, *more))
        listed = f"{what.split()[0].capitalize()}s: {', '.join(names)}"
        raise ValueError(f"there is no {what} {name!r}.{guess}\n{listed}")


def _beside(path: Path) -> list[str]:
    """Folders in the same place."""
    places = path.parent.iterdir() if path.parent.is_dir() else ()
    return [str(place) for place in places if place.is_dir()]
