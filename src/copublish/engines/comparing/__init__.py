"""Comparing the owners' identifiers by messages: no secure engine takes part, and guests load none for it."""
