"""Colours that colour-blind readers tell apart, on paper, light and dark screens."""

BLUE, SKY, GREEN, ORANGE = "#0072b2", "#56b4e9", "#009e73", "#e69f00"
VERMILLION, PINK, GREY, YELLOW = "#d55e00", "#cc79a7", "#808080", "#f0e442"
VIOLET, BROWN = "#8f63c4", "#a0622d"

SOURCE_COLOURS = (VERMILLION, GREEN, BLUE, YELLOW, PINK, SKY, ORANGE, BROWN)
"""Of the sources, in order."""
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
