"""policymix."""
