"""The words and tools that every other room uses: types, errors, settings, maths.

Encoders, kernels, networks, the replay and the optimiser are pure functions of arrays;
progress bars and spaces are the rest. Imports no other room.
"""
