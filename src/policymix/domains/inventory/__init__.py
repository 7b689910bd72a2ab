"""domains/inventory."""
