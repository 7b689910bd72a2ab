"""What is acted in: domains in JAX, Gymnasium environments, copies, episodes.

`domain` and `study` say what a domain is and how it is studied, `registry` knows the
domains by name. Imports core.
"""
