"""Who learns: values by a table or a network, options, a policy.

All are `init / act / update`.

Imports core and beliefs.
"""
