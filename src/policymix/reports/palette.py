"""How the lines of methods and sweeps look."""

from policymix.core.colours import (
    BLUE,
    BROWN,
    GREEN,
    GREY,
    ORANGE,
    PINK,
    SKY,
    VERMILLION,
    VIOLET,
    YELLOW,
)
from policymix.core.colours import SOURCE_COLOURS as SOURCE_COLOURS

SWEEP = ("#fcb13a", "#ee6f3a", "#c33b6e", "#7a3ea3", "#3b3a9c", "#2a7ab0")
"""Of the values of a sweep, from small to large."""

STYLES = {
    "mars": (BLUE, ""),
    "mapse": (VERMILLION, ""),
    "caps": (GREEN, ""),
    "ucb": (PINK, ""),
    "scratch": (GREY, ""),
    "mars-explicit": (SKY, ""),
    "mars-lookahead": (BLUE, "6 3"),
    "mars-reward": (BLUE, "2 3"),
    "mars-printed": (SKY, "2 3"),
    "mapse-advised": (VERMILLION, "6 3"),
    "scratch-replay": (GREY, "6 3"),
    "vote": (VIOLET, "2 3"),
    "mixture-global": (VIOLET, ""),
    "follow": (VIOLET, "6 3"),
    "oracle": (BROWN, "6 3"),
    "prql": (PINK, "6 3"),
    "jumpstart": (GREEN, "6 3"),
}
"""Colour and dashes of a method's line."""
DASHES = ("", "6 3", "2 3", "8 3 2 3")


def style(method: str) -> tuple[str, str]:
    """Colour and dashes; methods nobody knows share what is left."""
    if method.startswith("phi") and method[3:].isdigit():
        return ORANGE, DASHES[(int(method[3:]) - 1) % len(DASHES)]
    return STYLES.get(method, (YELLOW, DASHES[len(method) % len(DASHES)]))
