"""Figures as drafts, where a test is about the folder and the page around them."""

from policymix.reports import figures


def draw_drafts(patch):
    """Few pixels, and letters as curves: a PDF with fonts takes five times as long."""
    patch.setattr(figures, "DPI", 40)
    patch.setitem(figures.PRINT, "pdf.fonttype", 3)
