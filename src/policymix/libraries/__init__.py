"""How the source libraries of the domains are made."""
