"""bridges/sb3."""
