"""Disclosures and what they cost."""
