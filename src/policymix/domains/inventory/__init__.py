"""Inventory: the stock of a product whose demand only forecasts know."""
