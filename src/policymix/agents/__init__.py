"""Learners, as pure `init / act / update`."""
