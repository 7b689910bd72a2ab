"""What went wrong, counted: all of it must be 0."""

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
    """Times, wrongs, and where the first of these were."""

    def __init__(self):
        super().__init__()
        self.times, self.note, self.where = 0, "", []

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
