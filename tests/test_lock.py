"""Versions that are installed here are pinned, and lie within what we promise."""

import re
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name as plain

ROOT = Path(__file__).parents[1]
NOT_INSTALLED = ("ray",)
"""Extras that no test needs."""


def locked():
    lines = (ROOT / "requirements.lock").read_text().splitlines()
    pins = {line: re.fullmatch(r"([\w.-]+)==([\w.+!]+)", line) for line in lines[1:]}
    assert all(pins.values()), [line for line, pin in pins.items() if not pin]
    return {plain(pin[1]): pin[2] for pin in pins.values() if pin}


def wanted():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    lines = [
        line for name in extras if name not in NOT_INSTALLED for line in extras[name]
    ]
    return [Requirement(line) for line in project["dependencies"] + lines]


def test_every_dependency_is_pinned_within_its_bounds():
    versions = locked()
    for need in wanted():
        assert need.specifier.contains(versions[plain(need.name)]), need


def test_every_dependency_has_a_lower_and_an_upper_bound():
    for need in wanted():
        signs = {bound.operator for bound in need.specifier}
        assert signs in ({">=", "<"}, {"=="}), need
