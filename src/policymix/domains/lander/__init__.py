"""domains/lander."""
