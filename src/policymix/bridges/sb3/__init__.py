"""Stable-Baselines3: learners that take advice, vector wrappers, conversion."""
