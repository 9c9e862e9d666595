"""The trade-off between accuracy and epsilon, as a picture and as characters."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from copublish.planning.curves import curves_of, floor_of, label_of, printed_points, ticks_of

FORMATS = (".png", ".svg")
STYLE: dict[Any, Any] = {"svg.hashsalt": "copublish", "svg.fonttype": "none", "font.size": 10}
COLORS = ("#0b5f73", "#b86b1d", "#6a4c93", "#3d7a3d")
SHAPES = ("o", "s", "D", "^")
BESIDE = ((6, -12), (6, 6), (-36, 6), (-36, -12))
"""Where the notes of each curve stand: around a point, so that curves that meet do not write over each other."""

CHARACTERS = "●○◆◇"

PRINTED_COLOR = "#333333"
PRINTED_SHAPES, PRINTED_CHARACTERS = ("x", "+"), "x+"
"""Points without a line: between them a paper prints nothing."""


@dataclass(frozen=True, repr=False)
class Plot:
    """The trade-off as a picture that shows itself in a notebook.

    Attributes:
        figure: The figure of Matplotlib.
    """

    figure: Figure

    def write(self, path: str | Path) -> Path:
        """Write it as PNG or SVG; the same plan gives the same file."""
        path = Path(path)
        metadata = {"Date": None} if path.suffix.lower() == ".svg" else {"Software": None}
        with mpl.rc_context(STYLE):
            self.figure.savefig(path, metadata=metadata)
        return path

    def __repr__(self) -> str:
        return f"Plot({self.figure.axes[0].get_title(loc='left')!r})"

    def _repr_svg_(self) -> str:
        picture = StringIO()
        with mpl.rc_context(STYLE):
            self.figure.savefig(picture, format="svg", metadata={"Date": None})
        return picture.getvalue()


def draw_plan(plan: Mapping[str, Any], path: Path) -> None:
    """Write the trade-off as PNG or SVG."""
    Plot(plan_figure(plan)).write(path)


def plan_figure(plan: Mapping[str, Any]) -> Figure:
    """The trade-off as a figure of Matplotlib."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(9, 4.6), dpi=150, layout="constrained")
        axes = figure.add_subplot()
        handles = _draw_curves(axes, plan)
        for points, shape in zip(printed_points(plan).values(), PRINTED_SHAPES, strict=False):
            x, y = [float(point["epsilon"]) for point in points], [point["accuracy"] for point in points]
            handles += axes.plot(x, y, shape, color=PRINTED_COLOR, markersize=8, zorder=5, label=points[0]["label"])
        agreed = float(plan["agreed"]["epsilon"])
        handles += [
            axes.axhline(plan["BA"], color="#555555", linestyle="--", linewidth=1, label="BA: raw data"),
            axes.axhline(plan["LA"], color="#999999", linestyle=":", linewidth=1.5, label="LA: largest class"),
            axes.axvline(agreed, color="#cccccc", linewidth=6, zorder=0, label="agreed epsilon"),
        ]
        axes.set_xscale("log")
        ticks = ticks_of(plan)
        axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.minorticks_off()
        axes.margins(x=0.11)
        if any(row["accuracy"] < floor_of(plan) for row in plan["trials"]):
            axes.set_ylim(bottom=floor_of(plan))
        axes.set_xlabel("epsilon (smaller protects more)")
        axes.set_ylabel("accuracy on test records")
        what = "made-up data" if plan["data"] == "made up" else "public data"
        axes.set_title(f"{plan['release']}: planned on {what}, mean of {plan['runs']} runs", loc="left", fontsize=10)
        axes.grid(axis="y", alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
        # Beside the axes: inside, it would hide points of one plan or another.
        figure.legend(handles=handles, fontsize=8, frameon=False, loc="outside right upper")
        return figure


def _draw_curves(axes: Axes, plan: Mapping[str, Any]) -> list[Any]:
    """Draw what was tried and return it, for the legend."""
    handles: list[Any] = []
    curves = curves_of(plan)
    for (name, rows), color, shape, beside in zip(curves.items(), COLORS, SHAPES, BESIDE, strict=False):
        x, y = [float(row["epsilon"]) for row in rows], [row["accuracy"] for row in rows]
        errors = [1.96 * (row["standard_error"] or 0) for row in rows]
        label = label_of(plan, name, "below the axis")
        handles.append(axes.errorbar(x, y, yerr=errors, color=color, marker=shape, capsize=3, label=label))
        for row in rows:
            if len(plan["mechanisms"]) == 1 and "note" in row:  # beside other mechanisms it would be too much
                axes.annotate(
                    row["note"],
                    (float(row["epsilon"]), row["accuracy"]),
                    xytext=beside,
                    textcoords="offset points",
                    fontsize=8,
                    color=color,
                )
    return handles


def text_plot(plan: Mapping[str, Any], width: int = 64, height: int = 12) -> list[str]:
    """The trade-off as lines of characters: accuracy upwards, epsilon to the right, evenly by its logarithm."""
    curves, printed, ticks = curves_of(plan), printed_points(plan), ticks_of(plan)
    marked = [*zip(CHARACTERS, curves.values(), strict=False), *zip(PRINTED_CHARACTERS, printed.values(), strict=False)]
    seen = [max(row["accuracy"], floor_of(plan)) for _, rows in marked for row in rows]
    low, high = _bounds([plan["BA"], plan["LA"], *seen])

    def line_of(value: float) -> int:
        return min(round((high - value) / (high - low) * (height - 1)), height - 1)

    def column_of(epsilon: float) -> int:
        if len(ticks) == 1:
            return width // 2
        return round(math.log(epsilon / ticks[0]) / math.log(ticks[-1] / ticks[0]) * (width - 1))

    canvas = [[" "] * width for _ in range(height)]
    canvas[line_of(plan["LA"])] = ["·"] * width
    canvas[line_of(plan["BA"])] = ["-"] * width
    for marker, rows in marked:
        for row in rows:
            line = canvas[line_of(row["accuracy"])]
            line[_free_column(line, column_of(float(row["epsilon"])), marker)] = marker
    labels = {line_of(plan["LA"]): "  LA", line_of(plan["BA"]): "  BA"}
    lines = [
        f"{high - (high - low) * number / (height - 1):.3f} │{''.join(cells)}{labels.get(number, '')}"
        for number, cells in enumerate(canvas)
    ]
    axis = [" "] * (width + 6)
    for epsilon in ticks:
        for offset, character in enumerate(f"{epsilon:g}"):
            axis[column_of(epsilon) + offset] = character
    names = [label_of(plan, name, "at or below the lowest line") for name in curves]
    legend = [f"{marker} {name}" for marker, name in zip(CHARACTERS, names, strict=False)]
    papers = [rows[0]["label"] for rows in printed.values()]
    legend += [f"{marker} {name}" for marker, name in zip(PRINTED_CHARACTERS, papers, strict=False)]
    below = [f"{''.join(axis).rstrip()}  epsilon", *legend]
    return [*lines, f"      └{'─' * width}", *(f"       {line}" for line in below)]


def _free_column(line: Sequence[str], wanted: int, marker: str) -> int:
    """The wanted column, or the next one to it where no other curve's point is: none may hide another."""
    order = sorted(range(len(line)), key=lambda column: (abs(column - wanted), -column))
    return next((column for column in order if line[column] in f"{marker} ·-"), wanted)


def _bounds(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    return low, high if high > low else low + 0.01
