"""Small agreements about idp-ir, and what they release without noise by a loop over lists."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import copublish as cp
from copublish.mechanisms.idp_ir.settings import ACKNOWLEDGEMENT
from support import repartition, small_mapping


def idp_ir_mapping(partition: str, parties: int = 2, **mechanism: Any) -> dict[str, Any]:
    """A good agreement; `mechanism` changes its section, None removes a key."""
    changes = {"privacy.neighbors": "replace", "records.public": True, "privacy.epsilon": 1}
    mapping = repartition(small_mapping(**changes), partition, parties)
    section = {"name": "idp-ir", "k": 5, "acknowledge": ACKNOWLEDGEMENT, **mechanism}
    mapping["mechanism"] = {key: value for key, value in section.items() if value is not None}
    if partition == "vertical":
        mapping["class"]["held_by"] = f"p{parties - 1}"
    return mapping


def idp_ir_agreement(partition: str, parties: int = 2, **mechanism: Any) -> cp.Agreement:
    return cp.agreement_from_mapping(idp_ir_mapping(partition, parties, **mechanism))


def clusters(values: list[int], k: int) -> list[list[int]]:
    """The records of each cluster: sorted by value, equal ones as they stand, the rest in the last."""
    order = sorted(range(len(values)), key=lambda place: (values[place], place))
    n_clusters = len(values) // k
    return [order[c * k : (c + 1) * k if c < n_clusters - 1 else None] for c in range(n_clusters)]


def naive_means(values: list[int], k: int) -> list[Fraction]:
    return [Fraction(sum(values[place] for place in cluster), len(cluster)) for cluster in clusters(values, k)]


def naive_values(values: list[int], k: int) -> list[int]:
    """Every record's cluster mean without noise, rounded, halves up."""
    found = [0] * len(values)
    for cluster, mean in zip(clusters(values, k), naive_means(values, k), strict=True):
        for place in cluster:
            found[place] = math.floor(mean + Fraction(1, 2))
    return found
