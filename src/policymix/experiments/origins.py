"""Where every number comes from: the paper's table, or a numbered decision of ours.

The decisions are explained in docs/paper.md under the same numbers.
"""

from dataclasses import fields
from typing import Any, NamedTuple

from policymix.core.settings import KNOWN, OWN, PAPER, Settings

DECISIONS = {
    1: "the maze has 29 × 29 cells, since the mixture has 58 = 29 + 29 inputs",
    2: "reuse p_t falls by episode, not by step",
    3: "MARS adds c·Φ to values of the raw reward instead of shaping the reward",
    4: "a gate decides per episode whether advice counts",
    5: "values start at zero",
    6: "one update of learner and mixture per sample, not after each episode",
    7: "budgets and tests, which the paper does not give",
    8: "batch and replay of the maze, which the paper does not give",
    9: "the maze's MARS learns at the rate of the other methods",
    10: "the lander's scale c is 100",
    11: "the lander's mixture learns at half the rate",
    12: "the sources lead part of the lander's exploration",
    13: "plain DQN: no double targets, squared error",
    14: "a method or option that the paper does not have",
}


class Origin(NamedTuple):
    """A setting, in the paper's words and numbers."""

    row: str
    """Of table 1; empty where it has none."""
    maze: Any = None
    cartpole: Any = None
    lander: Any = None
    """What the paper has for each domain; None where it says nothing."""
    decision: int | None = None
    """Why ours is another, or what stands in for what is not given."""


ORIGINS = {
    "steps": Origin("", decision=7),
    "horizon": Origin("T: maximum roll-out length", 300, 500, 1_000),
    "evaluate_every": Origin("", decision=7),
    "evaluation_episodes": Origin("", decision=7),
    "discount": Origin("γ: discount factor", 0.95, 0.98, 0.99),
    "epsilon_start": Origin("ε: exploration probability", 0.12, 1.0, 1.0),
    "epsilon_decay": Origin("ε: exploration probability", 1.0, 0.99, 0.9925),
    "epsilon_floor": Origin("ε: exploration probability", 0.12, 0.01, 0.01),
    "layers": Origin("Q: topology of DQN", "table", (40, 40), (120, 100)),
    "initial_value": Origin("", decision=5),
    "learning_rate": Origin("learning rate of Q-learning, DQN", 0.8, 5e-4, 5e-4),
    "shaped_rate": Origin("the same for MARS and Φ", 0.08, 2e-4, 2e-4, 9),
    "batch": Origin("B: batch size", None, 32, 64, 8),
    "capacity": Origin("replay buffer capacity", None, 5_000, 20_000, 8),
    "refresh_every": Origin("target network update frequency", "table", 500, 100),
    "penalty": Origin("L2 penalty of DQN", "table", 1e-6, 1e-6),
    "double": Origin("", decision=13),
    "huber": Origin("", decision=13),
    "updates": Origin("algorithm 2", "episode", "episode", "episode", 6),
    "mixture_layers": Origin("a: topology of mixture", (30, 30), (30, 30), (30, 30)),
    "mixture_rate": Origin("λ: learning rate of mixture", 1e-3, 1e-3, 1e-3, 11),
    "epochs": Origin("training epochs/batch for mixture", 4, 3, 1),
    "scale": Origin("c: PBRS scaling factor", 1.0, 2.0, 20.0, 10),
    "guidance": Origin("", decision=12),
    "gate_bonus": Origin("", decision=4),
    "gate_keep": Origin("", decision=4),
    "gate_burden": Origin("", decision=4),
    "gate_margin": Origin("", decision=4),
    "gate_patience": Origin("", decision=4),
    "own_model": Origin("", decision=14),
    "mapse_reuse": Origin("p: following source policies, MAPSE", 0.99, 0.85, 0.9),
    "ucb_reuse": Origin("p: following source policies, UCB", 0.85, 0.85, 0.95),
    "exit_rate": Origin("rate of termination weights (CAPS)", 0.4, 0.01, 1e-4),
    "prql_reuse": Origin("", decision=14),
    "prql_growth": Origin("", decision=14),
    "jumpstart_shrink": Origin("", decision=14),
}
"""By the names of `Settings`; "table" marks what a table of values has no use for."""


class Explained(NamedTuple):
    """One setting of one domain, for a reader."""

    name: str
    value: Any
    paper: Any
    origin: str


def explain(domain: str, settings: Settings) -> list[Explained]:
    """Every setting of a domain with its origin."""
    return [_explain(domain, field.name, settings) for field in fields(Settings)]


def _explain(domain: str, name: str, settings: Settings) -> Explained:
    known, value = ORIGINS[name], getattr(settings, name)
    usual = getattr(KNOWN.get(domain, OWN), name)
    paper = getattr(known, domain) if domain in PAPER else None
    same = usual if paper == "table" else paper
    if paper is not None and value == same:
        return Explained(name, value, paper, f"paper: {known.row}")
    if value != usual:
        return Explained(name, value, paper, f"changed for this run from {usual}")
    if domain not in PAPER:
        chosen = "default for tasks that the paper has not"
        if value != getattr(OWN, name):
            chosen = "chosen for this domain on seeds from 1000 on"
        return Explained(name, value, None, chosen)
    number = known.decision
    assert number is not None, f"{name} of {domain} needs a reason"
    kind = "not given" if paper is None else "deviation"
    return Explained(name, value, paper, f"{kind}, {number}: {DECISIONS[number]}")
