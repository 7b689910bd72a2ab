"""From rows to answers: statistics, claims, tables, figures, maps and one page.

Imports core, storage, environments, sources, methods, training and experiments.
"""
