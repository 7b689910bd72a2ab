"""Transfer domains: one target, several sources, one set of goals."""
