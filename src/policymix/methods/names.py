"""The methods' names, for those who must not load JAX to know them."""

import sys
from importlib.metadata import entry_points

BUILT_IN = (
    *("mars", "mars-explicit", "mars-lookahead", "mars-reward", "mars-printed"),
    *("mapse", "mapse-advised", "caps", "ucb", "prql", "jumpstart", "multipolar"),
    *("follow", "vote", "mixture-global", "oracle", "scratch", "scratch-replay"),
)
"""Besides phi1, phi2, …: one source alone."""
GROUP = "policymix.methods"
"""Entry points by which an installed package offers methods: name = "module:recipe"."""


def method_names() -> tuple[str, ...]:
    """Names of all methods; who has registered one has loaded the recipes."""
    recipes = sys.modules.get("policymix.methods.recipes")
    known = recipes.METHODS if recipes else ()
    return tuple(dict.fromkeys([*BUILT_IN, *known, *entry_points(group=GROUP).names]))
