"""The Nursery table (UCI data set 76), read from a user's own copy, as a two-party agreement."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

import copublish as cp

CLASS = "class"
CLASSES = ("not_recom", "recommend", "very_recom", "priority", "spec_prior")
PARTIES = {"family": ["parents", "has_nurs", "form", "children"], "council": ["housing", "finance", "social", "health"]}
ATTRIBUTES = [name for names in PARTIES.values() for name in names]
TRAINING_ROWS = 8640


def read_nursery(folder: Path, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return two thirds of the rows for training and one third for testing (8,640 and 4,320), drawn at random."""
    table = pd.read_csv(folder / "nursery.data", names=[*ATTRIBUTES, CLASS], dtype=str, keep_default_na=False)
    shuffled = table.iloc[np.random.default_rng(seed).permutation(len(table))].reset_index(drop=True)
    return shuffled[:TRAINING_ROWS], shuffled[TRAINING_ROWS:]


def nursery_agreement(folder: Path, epsilon: str, *, score: str, specializations: int) -> cp.Agreement:
    """Return the agreement: eight attributes split 4/4 between two parties that both know the class."""
    return cp.agreement_from_mapping(
        {
            "format": 1,
            "name": "nursery",
            "dataset": "nursery",
            "partition": "vertical",
            "parties": {party: {} for party in PARTIES},
            "records": {"alignment": "row-order", "expected": 8600},
            "class": {"name": CLASS, "values": CLASSES},
            "attributes": {
                name: {"kind": "categorical", "taxonomy": "nursery.json", "held_by": party}
                for party, names in PARTIES.items()
                for name in names
            },
            "privacy": {"epsilon": epsilon},
            "mechanism": {"name": "specialization", "specializations": specializations, "score": score},
        },
        folder=folder / "taxonomies",
    )


def split_columns(table: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return each party's columns; both hold the class."""
    return {party: table[[*names, CLASS]] for party, names in PARTIES.items()}
