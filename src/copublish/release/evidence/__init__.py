"""Signed statements that people outside can check: who signed a release, who approved of it, whose ledger has it."""
