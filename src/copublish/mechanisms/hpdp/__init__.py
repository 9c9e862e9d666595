"""Synthetic records of many owners of whole rows, from noisy moments."""
