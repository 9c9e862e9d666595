"""Organisations that hold pieces of one table publish one differentially private data set together.

>>> import copublish as cp
>>> release = cp.simulate("agreement.toml", {"bank": "bank.parquet", "loans": "loans.csv"})  # doctest: +SKIP
>>> release.to_pandas("counts")  # doctest: +SKIP
"""

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
    "EngineError",
    "FragmentError",
    "Ledger",
    "LedgerError",
    "Limit",
    "Release",
    "ReleaseError",
    "SourceError",
    "agreement_from_mapping",
    "generalize",
    "load_agreement",
    "load_release",
    "read_fragment",
    "simulate",
]
