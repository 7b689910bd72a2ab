"""The domains of this package, one folder each, and nothing about them elsewhere.

task (what happens), sources (how they were made), picture (what is seen), experiment
(settings, sweeps, looks, truth) and a library folder with the shipped sources. Imports
core, storage, environments, sources, beliefs, methods, agents and training.
"""
