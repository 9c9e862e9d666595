"""Agreements that hide membership beside the same ones that share it, and lists that overlap more or less."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pandas as pd

import copublish as cp
from support import fragment_frames, random_table, repartition, small_mapping

HELPER = "helper"

REQUIRED = [["job"], ["job", "age"], ["job", "region"], ["job", "income", "age", "region"]]
"""Tables of one owner, of two and of all, if owners hold every other column."""

MECHANISMS: dict[str, dict[str, Any]] = {
    "specialization": {"mechanism": {"name": "specialization", "specializations": 3, "score": "max"}},
    "specialization by gain": {
        "mechanism": {"name": "specialization", "specializations": 3, "score": "balanced-gain"},
    },
    "copula": {"mechanism": {"name": "copula"}},
    "copula without a class": {"mechanism": {"name": "copula"}, "class": None},
    "copula, budget by gain": {"mechanism": {"name": "copula"}, "budget": {"allocation": "use-informative"}},
    "marginals": {"mechanism": {"name": "marginals", "rounds": 2}},
    "marginals, Gaussian, triples": {
        "mechanism": {"name": "marginals", "rounds": 2, "tables": "class-triples"},
        "privacy.delta": "1e-6",
    },
    "marginals without a class": {"mechanism": {"name": "marginals", "rounds": 2}, "class": None},
    "marginals, required tables": {
        "mechanism": {"name": "marginals", "rounds": 1, "tables": {"must": REQUIRED, "then": "auto"}},
        "privacy.delta": "1e-6",
    },
    "marginals, listed tables without a class": {
        "mechanism": {"name": "marginals", "tables": REQUIRED},
        "class": None,
    },
}
"""Changes of the small agreement for every mechanism whose tables may be of people who stay hidden."""


def both(
    changes: dict[str, Any], owners: int = 2, *, helped: bool = False, class_holder: str | None = None
) -> tuple[cp.Agreement, cp.Agreement]:
    """Return an agreement that hides membership, and the same one that shares it."""
    mapping = repartition(small_mapping(**changes), "vertical", owners)
    if class_holder is not None:
        mapping["class"]["held_by"] = class_holder
    if helped:
        mapping["parties"][HELPER] = {"data": False}
        mapping["records"]["compared_by"] = HELPER
    hidden = copy.deepcopy(mapping)
    hidden["records"] |= {"membership": "hidden", "at_most": {f"p{number}": 200 for number in range(owners)}}
    if not helped:
        hidden["privacy"]["membership_epsilon"] = "1"
    return cp.agreement_from_mapping(hidden), cp.agreement_from_mapping(mapping)


def lists(
    agreement: cp.Agreement, n_common: int, n_alone: dict[str, int], seed: int = 0, *, classes_differ: bool = False
) -> dict[str, pd.DataFrame]:
    """Return the rows of all owners, who have some people in common and each some more.

    Where classes differ, owners that hold it disagree about some people, and list no class for others.
    """
    generator = np.random.default_rng(seed)
    n_all = n_common + sum(n_alone.values())
    everybody = random_table(agreement, n_all, generator)
    everybody["id"] = [f"person {number}" for number in generator.permutation(n_all)]
    frames, start = {}, n_common
    for party, frame in fragment_frames(agreement, everybody, generator).items():
        if party not in agreement.owners:
            continue
        alone = everybody["id"].iloc[start : start + n_alone.get(party, 0)]
        start += len(alone)
        listed = frame["id"].isin(everybody["id"].iloc[:n_common]) | frame["id"].isin(alone)
        frames[party] = frame[listed].reset_index(drop=True)
        if classes_differ and agreement.class_name in frames[party]:
            spelled = frames[party][agreement.class_name].to_numpy(dtype=object, copy=True)
            for place in generator.choice(len(spelled), len(spelled) // 3, replace=False):
                spelled[place] = ("no", "yes", "?")[place % 3]
            frames[party][agreement.class_name] = spelled
    return frames
