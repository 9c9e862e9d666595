"""The protocol between parties: every message in one table, with its type, its bound and what it reveals."""
