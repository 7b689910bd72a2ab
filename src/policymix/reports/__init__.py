"""From rows to answers: statistics, claims, tables, figures, maps and one page.

Imports core, storage, environments, sources, beliefs, methods, training and
experiments.
"""
