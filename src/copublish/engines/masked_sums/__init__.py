"""Sums without a secure engine: owners add shares of the noise and masks that cancel."""
