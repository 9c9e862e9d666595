"""Synthetic records from noisy counts and a Gaussian copula."""
