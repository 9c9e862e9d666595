"""Releases in words, tables, pictures and lines of code, which follow from the types of what was published."""
