"""What a plan's tables and plots show: curves over epsilon, and all that stands side by side at the agreed one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from copublish.tools.evaluation.baseline import BASELINE

Rows = list[Mapping[str, Any]]

RAW = "raw data"


def curves_of(plan: Mapping[str, Any]) -> dict[str, Rows]:
    """Curves that are drawn: a mechanism, or the trivial baseline, and its trials by ascending epsilon."""
    found: dict[str, Rows] = {}
    for trial in [*plan["trials"], *plan["baseline"]]:
        found.setdefault(trial["mechanism"], []).append(trial)
    return {name: sorted(rows, key=lambda row: float(row["epsilon"])) for name, rows in found.items()}


def rows_at_agreed_epsilon(plan: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """What stands side by side: raw data, mechanisms by area, and the trivial baseline last."""
    here = {
        name: row
        for name, rows in curves_of(plan).items()
        for row in rows
        if row["epsilon"] == plan["agreed"]["epsilon"]
    }
    ordered = sorted(here, key=lambda name: (name == BASELINE, -here[name]["area"]))
    return {RAW: plan["raw"], **{name: here[name] for name in ordered}}


def ticks_of(plan: Mapping[str, Any]) -> list[float]:
    """The budgets that were tried."""
    return sorted({float(trial["epsilon"]) for trial in plan["trials"]})


def label_of(plan: Mapping[str, Any], name: str) -> str:
    """The name of a curve and what has to be said about it."""
    if name == BASELINE:
        return f"{name} (trivial baseline)"
    said = []
    rows = curves_of(plan)[name]
    if len(plan["mechanisms"]) > 1 and name == plan["agreed"]["mechanism"]:
        said.append("agreed")
    if "delta" in plan["agreed"] and rows[0]["delta"] is None:
        said.append("without delta")
    return f"{name} ({', '.join(said)})" if said else name
