"""The command line, the demonstration and the benchmark.

Imports, when a command needs it, any other room: core, storage, environments, sources,
beliefs, methods, agents, training, domains, experiments, reports.
"""
