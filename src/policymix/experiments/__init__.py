"""Whole experiments: plans as data, what is run and kept, looks at the mixture.

Imports core, storage, environments, sources, beliefs, methods and training.
"""
