"""Organizations that hold pieces of one table publish one differentially private data set together.

>>> import copublish as cp
>>> release = cp.simulate("agreement.toml", {"bank": "bank.parquet", "loans": "loans.csv"})  # doctest: +SKIP
>>> release.to_pandas("counts")  # doctest: +SKIP
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from copublish.agreement import Agreement, agreement_from_mapping, load_agreement
    from copublish.errors import (
        AgreementError,
        BudgetExceededError,
        CopublishError,
        EngineError,
        FragmentError,
        LedgerError,
        ReleaseError,
        SourceError,
    )
    from copublish.fragments.database import DatabaseTable
    from copublish.fragments.reading import read_fragment
    from copublish.local.simulation import simulate
    from copublish.privacy.ledger import Ledger, Limit
    from copublish.release.describe import describe
    from copublish.release.folder import Release, load_release
    from copublish.release.generalize import generalize

__all__ = [
    "Agreement",
    "AgreementError",
    "BudgetExceededError",
    "CopublishError",
    "DatabaseTable",
    "EngineError",
    "FragmentError",
    "Ledger",
    "LedgerError",
    "Limit",
    "Release",
    "ReleaseError",
    "SourceError",
    "agreement_from_mapping",
    "describe",
    "generalize",
    "load_agreement",
    "load_release",
    "read_fragment",
    "simulate",
]

_HOMES = {
    "copublish.agreement": ("Agreement", "agreement_from_mapping", "load_agreement"),
    "copublish.release.describe": ("describe",),
    "copublish.fragments.database": ("DatabaseTable",),
    "copublish.fragments.reading": ("read_fragment",),
    "copublish.release.generalize": ("generalize",),
    "copublish.privacy.ledger": ("Ledger", "Limit"),
    "copublish.release.folder": ("Release", "load_release"),
    "copublish.local.simulation": ("simulate",),
}


def __getattr__(name: str) -> object:
    """Import a public name when it is first used: helpers and `--help` need not load the data libraries."""
    if name not in __all__:
        raise AttributeError(f"module 'copublish' has no attribute '{name}'")
    home = next((module for module, names in _HOMES.items() if name in names), "copublish.errors")
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value
