"""The methods' names, for those who must not load JAX to know them."""

import sys
from collections.abc import Sequence
from importlib.metadata import entry_points

MEANINGS = {
    "mars": "learns which source to trust in which state, and from its advice",
    "mars-explicit": "adds the mixture's advice to its values, by a fixed scale",
    "mars-lookahead": "shaped rewards; acts on values plus advice",
    "mars-reward": "shaped rewards as the paper prints them; acts on values alone",
    "mars-printed": "the paper's second algorithm to the letter",
    "mapse": "the mixture's choice of a source leads exploration",
    "mapse-advised": "mapse, tested with the mixture's advice",
    "caps": "sources are options; learns when to leave one",
    "ucb": "one source leads each episode, picked by its returns so far",
    "prql": "a source or its own policy leads each episode, drawn by returns",
    "jumpstart": "the mixture's choice leads the first steps of each episode",
    "multipolar": "the sources' actions by learned weights, and a correction",
    "follow": "does what the mixture advises; learns no values",
    "vote": "does what most sources say, in every state",
    "mixture-global": "mars with the same trust in every state",
    "oracle": "mars, told which source is right in every state",
    "scratch": "no transfer",
    "scratch-replay": "no transfer; a table learns again from what it remembers",
}
BUILT_IN = tuple(MEANINGS)
"""Besides phi1, phi2, …: one source alone."""
GROUP = "policymix.methods"
"""Entry points by which an installed package offers methods: name = "module:recipe"."""


def method_names() -> tuple[str, ...]:
    """Names of all methods; who has registered one has loaded the recipes."""
    recipes = sys.modules.get("policymix.methods.recipes")
    known = recipes.METHODS if recipes else ()
    return tuple(dict.fromkeys([*BUILT_IN, *known, *entry_points(group=GROUP).names]))


def meaning_of(method: str, sources: Sequence[str]) -> str:
    """What it does, in a line; nothing where nobody here knows it."""
    number = method.removeprefix("phi")
    if method != number and number.isdigit():
        name = sources[int(number) - 1] if 0 < int(number) <= len(sources) else ""
        return f"one source alone: {name}".removesuffix(": ")
    return MEANINGS.get(method, "")
