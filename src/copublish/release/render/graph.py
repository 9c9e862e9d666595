"""Measured tables as a picture: columns on a circle, and lines between those that were counted together."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations

from markupsafe import Markup

from copublish.mechanisms.published import Measured
from copublish.release.render.parts import names_of, people, when_measured
from copublish.release.render.svg import CHARACTER, Figure, shortened

RADIUS, MARGIN_X, MARGIN_Y = 190.0, 170.0, 34.0


def graph_figure(names: Sequence[str], tables: Sequence[Measured]) -> Markup:
    """Draw columns on a circle, and between them the tables: thin ones measured for sure, thick ones chosen."""
    width, height = 2 * (RADIUS + MARGIN_X), 2 * (RADIUS + MARGIN_Y)
    joint = [table for table in tables if len(table.columns) > 1]
    described = "; ".join(f"{names_of(table)}: {when_measured(table)}" for table in joint)
    figure = Figure("graph", width, height, "Columns that were measured together", described or "No two columns were.")
    figure.root.set("style", f"max-width:{width:.0f}px")
    places = {name: _place(number, len(names), width, height) for number, name in enumerate(names)}
    for table in sorted(joint, key=lambda table: table.chosen is not None):
        _draw_table(figure, table, places)
    for name, (x, y) in places.items():
        _draw_column(figure, name, x, y, width, height)
    return figure.markup()


def _place(number: int, of: int, width: float, height: float) -> tuple[float, float]:
    angle = 2 * math.pi * number / of - math.pi / 2
    return width / 2 + RADIUS * math.cos(angle), height / 2 + RADIUS * math.sin(angle)


def _draw_column(figure: Figure, name: str, x: float, y: float, width: float, height: float) -> None:
    """Draw a dot with the column's name outside of the circle."""
    figure.add("circle", class_="leaf", cx=x, cy=y, r=4.5)
    shown = shortened(name, MARGIN_X - 2 * CHARACTER)
    side = x - width / 2
    anchor = "middle" if abs(side) < RADIUS / 4 else "start" if side > 0 else "end"
    shift = 0.0 if anchor == "middle" else math.copysign(9, side)
    drop = 4.0 if anchor != "middle" else 20.0 if y > height / 2 else -12.0
    tooltip = name if shown != name else None
    figure.add("text", shown, tooltip=tooltip, class_="value", x=x + shift, y=y + drop, text_anchor=anchor)


def _draw_table(figure: Figure, table: Measured, places: Mapping[str, tuple[float, float]]) -> None:
    """Draw a line between every two columns of a table."""
    said = f"{names_of(table)}: {when_measured(table)}, each count within ±{people(table.within_95_percent)}"
    for one, other in combinations(table.columns, 2):
        (x1, y1), (x2, y2) = places[one], places[other]
        figure.add(
            "line",
            tooltip=f"{said} in 95 of 100 cases",
            class_="rule" if table.chosen is None else "range",
            x1=x1,
            y1=y1,
            x2=x2,
            y2=y2,
        )
