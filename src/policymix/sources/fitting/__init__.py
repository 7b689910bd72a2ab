"""sources/fitting."""
