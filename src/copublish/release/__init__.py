"""A published folder: writing, evidence, verifying, report and metadata.

May hold: released values, and public configuration.
"""
