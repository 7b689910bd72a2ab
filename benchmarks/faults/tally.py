"""What went wrong, counted: all of it must be 0."""

import json
from collections import Counter

WRONGS = {
    "lost": "evaluations lost beyond the last interval, or an older version",
    "repeated": "evaluations or parts done twice, or written twice",
    "tracebacks": "instead of a sentence",
    "hangs": "processes that did not end",
    "executed": "code run from a file",
    "other": "half a file, another byte, leftovers, another error, too much memory",
}


class Tally(Counter):
    """Times, wrongs, where the first of these were, and figures for a note."""

    def __init__(self):
        super().__init__()
        self.times, self.note, self.where = 0, "", []
        self.figures = []

    def wrong(self, kind, what, happened=True):
        """Count something if it happened, and remember where."""
        count = int(happened)
        if count:
            self[kind] += count
            self.where.append(f"{kind}: {what}")

    def ended(self, status, what, expected=(0,)):
        """Count a process by how it ended."""
        self.wrong("hangs", what, status is None)
        known = (None, *expected)
        self.wrong("other", f"{what} ended with {status}", status not in known)

    @property
    def bad(self):
        """All that must be 0."""
        return sum(self[kind] for kind in WRONGS)

    def keep(self, path):
        """Write it down for another process."""
        told = (self.times, self.note, self.where, self.figures, dict(self))
        path.write_text(json.dumps(told))

    def add(self, path):
        """Count what another process has counted, too."""
        times, note, where, figures, counts = json.loads(path.read_text())
        self.times, self.note = self.times + times, self.note or note
        self.where, self.figures = self.where + where, self.figures + figures
        self.update(counts)
