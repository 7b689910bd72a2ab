"""Where the numbers come from: the paper's table, or a numbered decision."""

import re
from dataclasses import fields, replace
from pathlib import Path

import pytest

from policymix.core.settings import Settings
from policymix.experiments.origins import DECISIONS, ORIGINS, explain

from support.known import PAPER, STUDIES

ALL_DECISIONS = {**DECISIONS}
for study in STUDIES.values():
    ALL_DECISIONS |= study.decisions
ROOT = Path(__file__).parents[2]
NAMES = [field.name for field in fields(Settings)]
TABLE = {
    "discount": (0.95, 0.98, 0.99),
    "batch": (None, 32, 64),
    "capacity": (None, 5_000, 20_000),
    "refresh_every": ("table", 500, 100),
    "learning_rate": (0.8, 5e-4, 5e-4),
    "shaped_rate": (0.08, 2e-4, 2e-4),
    "epochs": (4, 3, 1),
    "scale": (1.0, 2.0, 20.0),
    "mapse_reuse": (0.99, 0.85, 0.9),
    "ucb_reuse": (0.85, 0.85, 0.95),
    "exit_rate": (0.4, 0.01, 1e-4),
}
"""Maze, cartpole, lander: table 1 of the paper, copied by hand."""
DEVIATIONS = {
    "maze": {"shaped_rate": 9, "updates": 6},
    "cartpole": {"updates": 6},
    "lander": {"updates": 6, "mixture_rate": 11, "scale": 10},
}


def explained(domain, settings=None):
    return {row.name: row for row in explain(domain, settings or PAPER[domain])}


def number_in(origin):
    """The decision that an origin refers to."""
    found = re.fullmatch(r"(?:not given|deviation), (\d+): .+", origin)
    assert found, origin
    return int(found[1])


def test_every_setting_has_an_origin():
    assert list(ORIGINS) == NAMES


def test_the_papers_numbers_are_the_papers():
    for name, numbers in TABLE.items():
        assert tuple(STUDIES[d].paper.get(name) for d in PAPER) == numbers, name
    assert all(set(STUDIES[domain].paper) <= set(ORIGINS) for domain in PAPER)


@pytest.mark.parametrize("domain", PAPER)
def test_every_setting_is_explained_by_what_the_paper_says_of_it(domain):
    rows = explain(domain, PAPER[domain])
    assert [row.name for row in rows] == NAMES
    for row in rows:
        assert row.value == getattr(PAPER[domain], row.name)
        assert row.paper == STUDIES[domain].paper.get(row.name)
        if row.paper in (row.value, "table"):
            assert row.origin == f"paper: {ORIGINS[row.name].row}"
            assert ORIGINS[row.name].row
        elif row.paper is None:
            assert row.origin.startswith("not given, ")
        else:
            assert row.origin.startswith("deviation, ")


@pytest.mark.parametrize("domain", PAPER)
def test_we_deviate_only_where_we_say_so(domain):
    found = {
        name: number_in(row.origin)
        for name, row in explained(domain).items()
        if row.origin.startswith("deviation")
    }
    assert found == DEVIATIONS[domain]


def test_only_a_table_has_no_use_for_what_networks_need():
    for domain in ("cartpole", "lander"):
        assert "table" not in STUDIES[domain].paper.values()
    assert PAPER["maze"].layers is None


def test_decisions_are_counted_from_one_and_those_in_use_exist():
    assert sorted(ALL_DECISIONS) == list(range(1, 17))
    used = {origin.decision for origin in ORIGINS.values()} - {None}
    assert used <= set(DECISIONS)
    for domain in PAPER:
        for row in explain(domain, PAPER[domain]):
            if not row.origin.startswith("paper"):
                assert row.origin.endswith(ALL_DECISIONS[number_in(row.origin)])


def test_every_decision_is_explained_under_its_number():
    text = (ROOT / "docs" / "paper.md").read_text("utf-8")
    numbered = [int(n) for n in re.findall(r"^(\d+)\. \*\*", text, flags=re.MULTILINE)]
    assert numbered == sorted(ALL_DECISIONS)


@pytest.mark.parametrize(
    ("domain", "change"),
    [
        ("cartpole", {"discount": 0.5}),
        ("cartpole", {"steps": 7}),
        ("lander", {"scale": 3.0}),
        ("maze", {"learning_rate": 0.1}),
        ("maze", {"layers": (64, 64)}),
        ("maze", {"refresh_every": 17}),
    ],
)
def test_a_setting_that_a_run_changes_is_told_as_such(domain, change):
    ((name, value),) = change.items()
    changed = explained(domain, replace(PAPER[domain], **change))
    usual = getattr(PAPER[domain], name)
    assert changed[name].value == value
    assert changed[name].origin == f"changed for this run from {usual}"
    del changed[name]
    assert changed.items() <= explained(domain).items()


def test_a_run_that_returns_to_the_papers_number_is_the_papers():
    row = explained("lander", replace(PAPER["lander"], scale=20.0))["scale"]
    assert row.origin == "paper: c: PBRS scaling factor"


def test_the_settings_of_a_domain_that_is_not_the_papers_are_explained_too():
    changed = explained("probe", replace(Settings(), discount=0.5, layers=None))
    assert list(changed) == NAMES
    assert {row.paper for row in changed.values()} == {None}
    assert changed["discount"].origin == "changed for this run from 0.99"
    assert changed["layers"].origin == "default for tasks that the paper has not"
    assert changed["replay"].origin == "changed for this run from True"
    assert not any(row.origin.startswith("paper") for row in changed.values())
