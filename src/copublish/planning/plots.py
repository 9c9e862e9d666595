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
SHAPES = ("o", "s", "D", "^")
CHARACTERS = "●○◆◇"

PRINTED_COLOUR = "#333333"
PRINTED_SHAPES, PRINTED_CHARACTERS = ("x", "+"), "x+"
"""Points without a line: between them a paper prints nothing."""

Rows = list[Mapping[str, Any]]


def curves_of(plan: Mapping[str, Any]) -> dict[str, Rows]:
    """Return what is drawn: a name, and the best trial of each epsilon in ascending order.

    One mechanism with scores has a curve for each of them; of several mechanisms each has one.
    """
    found: dict[str, dict[str, Mapping[str, Any]]] = {}
    for trial in plan["trials"]:
        is_alone = len(plan["mechanisms"]) == 1 and "score" in trial
        by_epsilon = found.setdefault(f"score {trial['score']}" if is_alone else trial["mechanism"], {})
        before = by_epsilon.get(trial["epsilon"])
        if before is None or trial["accuracy"] > before["accuracy"]:
            by_epsilon[trial["epsilon"]] = trial
    return {name: sorted(rows.values(), key=lambda t: float(t["epsilon"])) for name, rows in found.items()}


def printed_points(plan: Mapping[str, Any]) -> dict[str, Rows]:
    """Return what papers print for the very data set that is planned, by their algorithm.

    Accuracies of another data set would look as if they could be compared, so they are not drawn.
    """
    found: dict[str, Rows] = {}
    for reference in plan["printed"]:
        if reference["is_planned_data"]:
            found.setdefault(reference["algorithm"], []).append(reference)
    return found


def draw_plan(plan: Mapping[str, Any], path: Path) -> None:
    """Write the trade-off as PNG or SVG; the same plan gives the same file."""
    with mpl.rc_context({"svg.hashsalt": "copublish", "svg.fonttype": "none", "font.size": 10}):
        figure = Figure(figsize=(9, 4.6), dpi=150, layout="constrained")
        axes = figure.add_subplot()
        for (name, rows), colour, shape in zip(curves_of(plan).items(), COLOURS, SHAPES, strict=False):
            x, y = [float(row["epsilon"]) for row in rows], [row["accuracy"] for row in rows]
            errors = [1.96 * (row["standard_error"] or 0) for row in rows]
            axes.errorbar(x, y, yerr=errors, color=colour, marker=shape, capsize=3, label=_label(plan, name))
            for row in rows:
                if "rounds" in row:
                    axes.annotate(
                        f"h = {row['rounds']}",
                        (float(row["epsilon"]), row["accuracy"]),
                        xytext=(6, -12),
                        textcoords="offset points",
                        fontsize=8,
                        color=colour,
                    )
        for (_, points), shape in zip(printed_points(plan).items(), PRINTED_SHAPES, strict=False):
            x, y = [float(point["epsilon"]) for point in points], [point["accuracy"] for point in points]
            axes.plot(x, y, shape, color=PRINTED_COLOUR, markersize=8, label=points[0]["label"])
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
        # Beside the axes: inside, it would hide points of one plan or another.
        figure.legend(fontsize=8, frameon=False, loc="outside right upper")
        metadata = {"Date": None} if path.suffix.lower() == ".svg" else {"Software": None}
        figure.savefig(path, metadata=metadata)


def _label(plan: Mapping[str, Any], name: str) -> str:
    if name == plan["agreed"]["mechanism"]:
        name = f"{name} (agreed)"
    return f"{name}, best setting" if name.startswith("specialization") else name


def text_plot(plan: Mapping[str, Any], width: int = 64, height: int = 12) -> list[str]:
    """Return the trade-off as lines of characters: accuracy upwards, epsilon to the right, evenly by its logarithm."""
    curves, printed = curves_of(plan), printed_points(plan)
    # Drawn in this order, so that the first curve is on top and what is printed below all of them.
    marked = [*zip(PRINTED_CHARACTERS, printed.values(), strict=False)]
    marked += reversed([*zip(CHARACTERS, curves.values(), strict=False)])
    drawn = [row for _, rows in marked for row in rows]
    low, high = _bounds([plan["BA"], plan["LA"], *(row["accuracy"] for row in drawn)])
    first, last = (end(float(row["epsilon"]) for row in drawn) for end in (min, max))

    def line_of(value: float) -> int:
        return round((high - value) / (high - low) * (height - 1))

    def column_of(epsilon: float) -> int:
        if first == last:
            return width // 2
        return round(math.log(epsilon / first) / math.log(last / first) * (width - 1))

    canvas = [[" "] * width for _ in range(height)]
    canvas[line_of(plan["LA"])] = ["·"] * width
    canvas[line_of(plan["BA"])] = ["-"] * width
    for marker, rows in marked:
        for row in rows:
            canvas[line_of(row["accuracy"])][column_of(float(row["epsilon"]))] = marker
    labels = {line_of(plan["LA"]): "  LA", line_of(plan["BA"]): "  BA"}
    lines = [
        f"{high - (high - low) * number / (height - 1):.3f} │{''.join(cells)}{labels.get(number, '')}"
        for number, cells in enumerate(canvas)
    ]
    ticks = [" "] * (width + 6)
    for epsilon in sorted({float(trial["epsilon"]) for trial in plan["trials"]} | {first, last}):
        for offset, character in enumerate(f"{epsilon:g}"):
            ticks[column_of(epsilon) + offset] = character
    legend = [f"{marker} {_label(plan, name)}" for marker, name in zip(CHARACTERS, curves, strict=False)]
    legend += [
        f"{marker} {rows[0]['label']}" for marker, rows in zip(PRINTED_CHARACTERS, printed.values(), strict=False)
    ]
    indent = " " * 7
    return [
        *lines,
        f"      └{'─' * width}",
        f"{indent}{''.join(ticks).rstrip()}  epsilon",
        *(indent + x for x in legend),
    ]


def _bounds(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    return low, high if high > low else low + 0.01
