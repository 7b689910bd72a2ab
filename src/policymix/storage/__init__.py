"""Files: folders of arrays and facts, modules as records, the rows of runs.

Written whole or not at all; reading executes no code. Imports core.
"""
