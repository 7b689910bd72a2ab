"""Stable-Baselines3's networks, learners and environments, advised by sources.

Import the names from `policymix.bridges.stable_baselines3`.
"""
