"""Colours that colour-blind readers tell apart, on paper, light and dark screens."""

BLUE, SKY, GREEN, ORANGE = "#0072b2", "#56b4e9", "#009e73", "#e69f00"
VERMILLION, PINK, GREY, YELLOW = "#d55e00", "#cc79a7", "#808080", "#f0e442"
VIOLET, BROWN = "#8f63c4", "#a0622d"

SOURCE_COLOURS = (VERMILLION, GREEN, BLUE, YELLOW, PINK, SKY, ORANGE, BROWN)
"""Of the sources, in order."""
