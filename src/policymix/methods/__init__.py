"""What a method does with sources, beliefs and values; recipes of all by name.

Imports core, environments, sources and beliefs.
"""
