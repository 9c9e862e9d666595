"""The trade-off between accuracy and epsilon, as a picture and as characters."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

FORMATS = (".png", ".svg")
COLOURS = ("#0b5f73", "#b86b1d", "#6a4c93", "#3d7a3d")


def best_by_epsilon(plan: Mapping[str, Any]) -> dict[str, list[Mapping[str, Any]]]:
    """Return for each score the best trial of each epsilon, in ascending order."""
    found: dict[str, dict[str, Mapping[str, Any]]] = {}
    for trial in plan["trials"]:
        by_epsilon = found.setdefault(trial["score"], {})
        before = by_epsilon.get(trial["epsilon"])
        if before is None or trial["accuracy"] > before["accuracy"]:
            by_epsilon[trial["epsilon"]] = trial
    return {score: sorted(rows.values(), key=lambda t: float(t["epsilon"])) for score, rows in found.items()}


def draw_plan(plan: Mapping[str, Any], path: Path) -> None:
    """Write the trade-off as PNG or SVG; the same plan gives the same file."""
    with mpl.rc_context({"svg.hashsalt": "copublish", "svg.fonttype": "none", "font.size": 10}):
        figure = Figure(figsize=(7, 4.2), dpi=150, layout="constrained")
        axes = figure.add_subplot()
        for (score, rows), colour in zip(best_by_epsilon(plan).items(), COLOURS, strict=False):
            x, y = [float(row["epsilon"]) for row in rows], [row["accuracy"] for row in rows]
            errors = [1.96 * (row["standard_error"] or 0) for row in rows]
            axes.errorbar(x, y, yerr=errors, color=colour, marker="o", capsize=3, label=f"release, score {score}")
            for row in rows:
                place = (float(row["epsilon"]), row["accuracy"])
                axes.annotate(
                    f"h = {row['rounds']}", place, xytext=(6, -12), textcoords="offset points", fontsize=8, color=colour
                )
        axes.axhline(plan["BA"], color="#555555", linestyle="--", linewidth=1, label="BA: raw data")
        axes.axhline(plan["LA"], color="#999999", linestyle=":", linewidth=1.5, label="LA: largest class")
        axes.axvline(float(plan["agreed"]["epsilon"]), color="#cccccc", linewidth=6, zorder=0, label="agreed epsilon")
        axes.set_xscale("log")
        ticks = sorted({float(trial["epsilon"]) for trial in plan["trials"]})
        axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.minorticks_off()
        axes.margins(x=0.09)
        axes.set_xlabel("epsilon (smaller protects more)")
        axes.set_ylabel("accuracy on test records")
        what = "made-up data" if plan["data"] == "made up" else "public data"
        axes.set_title(f"{plan['release']}: planned on {what}, mean of {plan['runs']} runs", loc="left", fontsize=10)
        axes.grid(axis="y", alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(fontsize=8, frameon=False)
        metadata = {"Date": None} if path.suffix.lower() == ".svg" else {"Software": None}
        figure.savefig(path, metadata=metadata)


def text_plot(plan: Mapping[str, Any], width: int = 64, height: int = 12) -> list[str]:
    """Return the trade-off as lines of characters: accuracy upwards, epsilon to the right, evenly by its logarithm."""
    curves = best_by_epsilon(plan)
    rows = [row for trials in curves.values() for row in trials]
    low, high = _bounds([plan["BA"], plan["LA"], *(row["accuracy"] for row in rows)])
    epsilons = sorted({float(row["epsilon"]) for row in rows})

    def line_of(value: float) -> int:
        return round((high - value) / (high - low) * (height - 1))

    def column_of(epsilon: float) -> int:
        if len(epsilons) == 1:
            return width // 2
        return round(math.log(epsilon / epsilons[0]) / math.log(epsilons[-1] / epsilons[0]) * (width - 1))

    canvas = [[" "] * width for _ in range(height)]
    canvas[line_of(plan["LA"])] = ["·"] * width
    canvas[line_of(plan["BA"])] = ["-"] * width
    for marker, trials in reversed(list(zip("●○◆◇", curves.values(), strict=False))):  # the first one on top
        for row in trials:
            canvas[line_of(row["accuracy"])][column_of(float(row["epsilon"]))] = marker
    labels = {line_of(plan["LA"]): "  LA", line_of(plan["BA"]): "  BA"}
    lines = [
        f"{high - (high - low) * number / (height - 1):.3f} │{''.join(cells)}{labels.get(number, '')}"
        for number, cells in enumerate(canvas)
    ]
    ticks = [" "] * (width + 6)
    for epsilon in epsilons:
        for offset, character in enumerate(f"{epsilon:g}"):
            ticks[column_of(epsilon) + offset] = character
    legend = ", ".join(f"{marker} score {score}" for marker, score in zip("●○◆◇", curves, strict=False))
    return [*lines, f"      └{'─' * width}", f"       {''.join(ticks).rstrip()}  epsilon", f"       {legend}"]


def _bounds(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    return low, high if high > low else low + 0.01
