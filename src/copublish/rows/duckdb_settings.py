"""Settings of DuckDB for data of others: it reads what it was given, and nothing else."""

from __future__ import annotations

from pathlib import Path

NOTHING_ELSE = (
    "SET autoinstall_known_extensions = false; SET autoload_known_extensions = false; "
    "SET allow_community_extensions = false; SET enable_external_access = false; SET lock_configuration = true"
)
"""No query, and no view that somebody put into a database, can open another file, load code or undo this."""


def only(path: Path) -> str:
    """Statements after which one file can be read and nothing else."""
    quoted = str(path).replace("'", "''")
    return f"SET allowed_paths = ['{quoted}']; {NOTHING_ELSE}"
