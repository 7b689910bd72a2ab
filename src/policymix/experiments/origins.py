"""Where every number comes from: the paper's table, or a numbered decision of ours.

The decisions are explained in docs/paper.md under the same numbers.
"""

from dataclasses import fields
from typing import Any, NamedTuple

from policymix.core.settings import DEFAULTS, TABLE_DEFAULTS, Settings
from policymix.environments.domain import Domain
from policymix.environments.registry import known_domain
from policymix.environments.study import Study

DECISIONS = {
    2: "reuse p_t falls by episode, not by step",
    3: "MARS follows advice except where it is sure of its own action, and learns from "
    "the raw reward; the paper's shaped reward is mars-reward",
    4: "for single sources a gate decides per episode whether advice counts",
    5: "values start at zero",
    6: "one update of learner and mixture per sample, not after each episode",
    7: "budgets and tests, which the paper does not give",
    12: "the sources lead part of exploration, where a domain asks for it",
    13: "plain DQN: squared error, and double targets where they help baselines",
    14: "a method or option that the paper does not have",
    15: "tables learn from each transition once; with replay they are scratch-replay",
}


class Origin(NamedTuple):
    """A setting, in the paper's words."""

    row: str = ""
    """Of table 1; empty where it has none."""
    decision: int | None = None
    """Why ours is another everywhere, or what stands in for what is not given."""


ORIGINS = {
    "steps": Origin("", 7),
    "evaluate_every": Origin("", 7),
    "evaluation_episodes": Origin("", 7),
    "final_episodes": Origin("", 7),
    "discount": Origin("γ: discount factor"),
    "epsilon_start": Origin("ε: exploration probability"),
    "epsilon_decay": Origin("ε: exploration probability"),
    "epsilon_floor": Origin("ε: exploration probability"),
    "layers": Origin("Q: topology of DQN"),
    "initial_value": Origin("", 5),
    "learning_rate": Origin("learning rate of Q-learning, DQN"),
    "shaped_rate": Origin("the same for MARS and Φ"),
    "batch": Origin("B: batch size"),
    "capacity": Origin("replay buffer capacity"),
    "refresh_every": Origin("target network update frequency"),
    "target_rate": Origin("", 14),
    "penalty": Origin("L2 penalty of DQN"),
    "double": Origin("", 13),
    "huber": Origin("", 13),
    "clip": Origin("", 13),
    "replay": Origin("", 15),
    "updates": Origin("algorithm 2", 6),
    "learn_every": Origin("", 6),
    "mixture": Origin("", 14),
    "mixture_prior": Origin("", 14),
    "prior_strength": Origin("", 14),
    "precision": Origin("", 14),
    "concentration": Origin("", 14),
    "mixture_layers": Origin("a: topology of mixture"),
    "mixture_rate": Origin("λ: learning rate of mixture"),
    "epochs": Origin("training epochs/batch for mixture"),
    "heads": Origin("", 3),
    "caution": Origin("", 3),
    "scale": Origin("c: PBRS scaling factor"),
    "guidance": Origin("", 12),
    "gate_bonus": Origin("", 4),
    "gate_keep": Origin("", 4),
    "gate_burden": Origin("", 4),
    "gate_margin": Origin("", 4),
    "gate_patience": Origin("", 4),
    "own_model": Origin("", 14),
    "mapse_reuse": Origin("p: following source policies, MAPSE"),
    "ucb_reuse": Origin("p: following source policies, UCB"),
    "exit_rate": Origin("rate of termination weights (CAPS)"),
    "prql_reuse": Origin("", 14),
    "prql_growth": Origin("", 14),
    "jumpstart_shrink": Origin("", 14),
}
"""By the names of `Settings`."""


class Explained(NamedTuple):
    """One setting of one domain, for a reader."""

    name: str
    value: Any
    paper: Any
    origin: str


def explain(domain: str, settings: Settings) -> list[Explained]:
    """Every setting of a domain with its origin."""
    known = known_domain(domain)
    return [_explain(known, field.name, settings) for field in fields(Settings)]


def _explain(domain: Domain | None, name: str, settings: Settings) -> Explained:
    study = Study() if domain is None else domain.study
    own = TABLE_DEFAULTS if settings.layers is None else DEFAULTS
    usual = getattr(own if domain is None else domain.settings, name)
    known, value, paper = ORIGINS[name], getattr(settings, name), study.paper.get(name)
    same = usual if paper == "table" else paper
    if paper is not None and value == same:
        return Explained(name, value, paper, f"paper: {known.row}")
    if value != usual:
        return Explained(name, value, paper, f"changed for this run from {usual}")
    if not study.paper:
        chosen = "default for tasks that the paper has not"
        if domain is not None and value != getattr(DEFAULTS, name):
            chosen = "chosen for this domain on seeds from 1000 on"
        return Explained(name, value, None, chosen)
    number = study.reasons.get(name, known.decision)
    if number is None:
        return Explained(name, value, None, "not given: the package's default")
    kind = "not given" if paper is None else "deviation"
    reason = {**DECISIONS, **study.decisions}[number]
    return Explained(name, value, paper, f"{kind}, {number}: {reason}")
