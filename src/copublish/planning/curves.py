"""What a plan's plots show: curves over epsilon, what papers print, and the axes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Rows = list[Mapping[str, Any]]


def curves_of(plan: Mapping[str, Any]) -> dict[str, Rows]:
    """Curves that are drawn: a name, and the best trial of each epsilon in ascending order.

    One mechanism with settings has a curve for each kind of them; of several mechanisms each has one.
    """
    found: dict[str, dict[str, Mapping[str, Any]]] = {}
    for trial in plan["trials"]:
        is_alone = len(plan["mechanisms"]) == 1 and "curve" in trial
        by_epsilon = found.setdefault(trial["curve"] if is_alone else trial["mechanism"], {})
        before = by_epsilon.get(trial["epsilon"])
        if before is None or trial["accuracy"] > before["accuracy"]:
            by_epsilon[trial["epsilon"]] = trial
    return {name: sorted(rows.values(), key=lambda t: float(t["epsilon"])) for name, rows in found.items()}


def printed_points(plan: Mapping[str, Any]) -> dict[str, Rows]:
    """Numbers that papers print for the very data set that is planned, by their algorithm.

    Accuracies of another data set would look as if they could be compared, so they are not drawn.
    """
    found: dict[str, Rows] = {}
    for reference in plan["printed"]:
        if reference["is_planned_data"]:
            found.setdefault(reference["algorithm"], []).append(reference)
    return found


def floor_of(plan: Mapping[str, Any]) -> float:
    """Where the axis of accuracies ends: far below LA all are as worthless, and would squeeze the others."""
    return float(plan["LA"] - max((plan["BA"] - plan["LA"]) / 2, 0.02))


def ticks_of(plan: Mapping[str, Any]) -> list[float]:
    """The budgets that were tried, and the ends of what is printed."""
    printed = [float(point["epsilon"]) for points in printed_points(plan).values() for point in points]
    tried = {float(trial["epsilon"]) for trial in plan["trials"]}
    return sorted(tried | {end([*tried, *printed]) for end in (min, max)})


def label_of(plan: Mapping[str, Any], name: str, below: str) -> str:
    """The name of a curve and what has to be said about it; `below` says where what is too low to see is."""
    rows, is_one_of_several = curves_of(plan)[name], len(plan["mechanisms"]) > 1
    low = [row["accuracy"] < floor_of(plan) for row in rows]
    said = []
    if is_one_of_several and name == plan["agreed"]["mechanism"]:
        said.append("agreed")
    if is_one_of_several and "curve" in rows[0]:
        said.append("best setting of each epsilon")
    if any(low):
        said.append(below if all(low) else f"partly {below}")
    return f"{name} ({', '.join(said)})" if said else name
