"""The methods' names, for those who must not load JAX to know them."""

BUILT_IN = (
    *("mars", "mars-explicit", "mars-lookahead", "mars-reward", "mapse", "caps", "ucb"),
    *("prql", "jumpstart", "follow", "oracle", "scratch"),
)
"""Besides phi1, phi2, …: one source alone."""
