"""domains/cartpole."""
