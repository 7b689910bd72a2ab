"""domains/maze."""
