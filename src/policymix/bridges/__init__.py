"""The mixture in other people's learners: Stable-Baselines3, any Gymnasium loop.

Imports core, storage, environments, sources, beliefs and methods; no training, no
domain.
"""
