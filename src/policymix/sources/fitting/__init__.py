"""Policies and dynamics from data: one loop fits both."""
