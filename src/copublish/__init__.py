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
    from copublish.description import describe
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
    from copublish.generalization import generalize
    from copublish.privacy.ledger import Ledger, Limit
    from copublish.publication import Release, load_release
    from copublish.simulation import simulate

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
    "copublish.description": ("describe",),
    "copublish.fragments.database": ("DatabaseTable",),
    "copublish.fragments.reading": ("read_fragment",),
    "copublish.generalization": ("generalize",),
    "copublish.privacy.ledger": ("Ledger", "Limit"),
    "copublish.publication": ("Release", "load_release"),
    "copublish.simulation": ("simulate",),
}


def __getattr__(name: str) -> object:
    """Import a public name when it is first used: helpers and `--help` need not load the data libraries."""
    if name not in __all__:
        raise AttributeError(f"module 'copublish' has no attribute '{name}'")
    home = next((module for module, names in _HOMES.items() if name in names), "copublish.errors")
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value
