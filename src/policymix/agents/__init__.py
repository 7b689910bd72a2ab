"""Who learns values: a table, a network, options. All are `init / act / update`.

Imports core and beliefs.
"""
