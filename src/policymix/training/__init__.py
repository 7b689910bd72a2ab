"""Trials of a method on a task: preparing, stepping, learning, testing, keeping.

`task` is what users bring, `train` what they call; `step` is one step of one trial, and
two loops are made of it. Imports core, storage, environments, sources, beliefs, methods
and agents.
"""
