"""The trade-off between prediction and epsilon, as a picture and as characters."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from copublish.tools.evaluation.baseline import BASELINE
from copublish.tools.evaluation.plots import FORMATS, STYLE, Plot
from copublish.tools.planning.release_plan import RAW, curves_of, label_of, ticks_of

__all__ = ["FORMATS", "Plot", "draw_plan", "plan_figure", "text_plot"]

COLORS = ("#0b5f73", "#b86b1d", "#6a4c93", "#3d7a3d", "#a83250", "#555577")
SHAPES = ("o", "s", "D", "^", "v", "P")
BASELINE_COLOR, BASELINE_SHAPE = "#888888", "x"

CHARACTERS, BASELINE_CHARACTER = "●○◆◇■□", "x"

APART = 1.03
"""Curves stand side by side at each epsilon, by so many times it, so that error bars do not hide each other."""

NEAREST_TICKS = 1.3
"""Numbers on the axis stand at least so many times apart: they would run into each other."""

LONGEST_TITLE = 60


def draw_plan(plan: Mapping[str, Any], path: Path) -> None:
    """Write the trade-off as PNG or SVG."""
    Plot(plan_figure(plan)).write(path)


def plan_figure(plan: Mapping[str, Any]) -> Figure:
    """The trade-off as a figure of Matplotlib."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(9, 4.6), dpi=150, layout="constrained")
        axes = figure.add_subplot()
        agreed = float(plan["agreed"]["epsilon"])
        handles = [
            axes.axhline(plan["raw"]["area"], color="#222222", linestyle="--", linewidth=1, label=RAW),
            *_draw_curves(axes, plan),
            axes.axvline(agreed, color="#dddddd", linewidth=10, zorder=0, label="agreed epsilon"),
        ]
        axes.set_xscale("log")
        ticks = _readable(ticks_of(plan), agreed)
        axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.minorticks_off()
        axes.margins(x=0.08)
        axes.set_xlabel("epsilon (smaller protects more)")
        axes.set_ylabel("area under the ROC curve\n(1/2 is a guess)")
        what = "made-up data: the shape alone" if plan["data"] == "made up" else "public data"
        name = plan["release"] if len(plan["release"]) <= LONGEST_TITLE else plan["release"][: LONGEST_TITLE - 1] + "…"
        axes.set_title(
            f"{name}\n{what}, mean of {plan['runs']} runs, bars of one standard error", loc="left", fontsize=10
        )
        axes.grid(axis="y", alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
        # Beside the axes: inside, it would hide points of one plan or another.
        figure.legend(handles=handles, fontsize=8, frameon=False, loc="outside right upper")
        return figure


def _draw_curves(axes: Axes, plan: Mapping[str, Any]) -> list[Any]:
    """Draw what was tried and return it, for the legend."""
    handles: list[Any] = []
    curves = curves_of(plan)
    for number, (name, rows) in enumerate(curves.items()):
        is_baseline = name == BASELINE
        shift = APART ** (number - (len(curves) - 1) / 2)
        handles.append(
            axes.errorbar(
                [float(row["epsilon"]) * shift for row in rows],
                [row["area"] for row in rows],
                yerr=[row["area_standard_error"] or 0 for row in rows],
                color=BASELINE_COLOR if is_baseline else COLORS[number % len(COLORS)],
                marker=BASELINE_SHAPE if is_baseline else SHAPES[number % len(SHAPES)],
                linestyle=":" if is_baseline else "-",
                capsize=3,
                label=label_of(plan, name),
            )
        )
    return handles


def _readable(ticks: Sequence[float], agreed: float) -> list[float]:
    """The numbers that are written on the axis: the agreed one, and of the others those that stand far enough apart."""
    kept = [agreed]
    for tick in ticks:
        if all(max(tick / other, other / tick) >= NEAREST_TICKS for other in kept):
            kept.append(tick)
    return sorted(kept)


def text_plot(plan: Mapping[str, Any], width: int = 64, height: int = 12) -> list[str]:
    """The trade-off as lines of characters: area upwards, epsilon to the right, evenly by its logarithm."""
    curves, ticks, raw = curves_of(plan), ticks_of(plan), plan["raw"]["area"]
    markers = {name: _character(name, number) for number, name in enumerate(curves)}
    low, high = _bounds([raw, *(row["area"] for rows in curves.values() for row in rows)])

    def line_of(value: float) -> int:
        return min(round((high - value) / (high - low) * (height - 1)), height - 1)

    def column_of(epsilon: float) -> int:
        if len(ticks) == 1:
            return width // 2
        return round(math.log(epsilon / ticks[0]) / math.log(ticks[-1] / ticks[0]) * (width - 1))

    canvas = [[" "] * width for _ in range(height)]
    canvas[line_of(raw)] = ["-"] * width
    for name, rows in curves.items():
        for row in rows:
            line = canvas[line_of(row["area"])]
            line[_free_column(line, column_of(float(row["epsilon"])), markers[name])] = markers[name]
    lines = [
        f"{high - (high - low) * number / (height - 1):.3f} │{''.join(cells)}"
        + (f"  {RAW}" if number == line_of(raw) else "")
        for number, cells in enumerate(canvas)
    ]
    axis = [" "] * (width + 6)
    for epsilon in _readable(ticks, float(plan["agreed"]["epsilon"])):
        for offset, character in enumerate(f"{epsilon:g}"):
            axis[column_of(epsilon) + offset] = character
    below = [f"{''.join(axis).rstrip()}  epsilon", *(f"{markers[name]} {label_of(plan, name)}" for name in curves)]
    return ["area", *lines, f"      └{'─' * width}", *(f"       {line}" for line in below)]


def _character(name: str, number: int) -> str:
    return BASELINE_CHARACTER if name == BASELINE else CHARACTERS[number % len(CHARACTERS)]


def _free_column(line: Sequence[str], wanted: int, marker: str) -> int:
    """The wanted column, or the next one to it where no other curve's point is: none may hide another."""
    order = sorted(range(len(line)), key=lambda column: (abs(column - wanted), -column))
    return next((column for column in order if line[column] in f"{marker} -"), wanted)


def _bounds(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    return low if high > low else high - 0.01, high
