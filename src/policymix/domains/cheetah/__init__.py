"""domains/cheetah."""
