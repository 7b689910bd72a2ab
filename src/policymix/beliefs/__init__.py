"""Which source is right where: mixtures, and what a belief is worth (potentials).

Imports core, environments and sources.
"""
