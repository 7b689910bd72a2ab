"""What is known before: source tasks, their policies and dynamics, their library.

Sources of any make are adapted to a target and tried on it here; `fitting` makes them
from data. Imports core, storage and environments.
"""
