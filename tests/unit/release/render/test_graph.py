"""The picture of measured tables: a dot for each column, and a line for each two columns of a table."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations
from xml.etree import ElementTree as ET

import pytest

from copublish.mechanisms.published import Cells, Measured
from copublish.release.render.graph import MARGIN_X, MARGIN_Y, RADIUS, graph_figure
from support.published import category, gaussian, summed

NAMES = ["job", "sex", "age", "town"]
DOMAINS = {name: category(name, "a", "b") for name in NAMES}


def table(*columns: str, chosen: int | None = None) -> Measured:
    found = summed([Cells(column=column) for column in columns], DOMAINS, [], noise=gaussian(2.0))
    return replace(found, chosen=chosen)


def drawn(*tables: Measured) -> ET.Element:
    return ET.fromstring(str(graph_figure(NAMES, tables)))


def places(root: ET.Element) -> dict[str, tuple[float, float]]:
    """Where each column's dot is: names and dots come in pairs."""
    shapes = [element for element in root if element.tag in ("circle", "text")]
    return {
        name.text or "": (float(dot.get("cx", 0)), float(dot.get("cy", 0)))
        for dot, name in zip(shapes[::2], shapes[1::2], strict=True)
    }


def test_columns_are_on_a_circle_the_first_at_the_top() -> None:
    found = places(drawn(table("job", "sex")))
    assert list(found) == NAMES
    middle = (RADIUS + MARGIN_X, RADIUS + MARGIN_Y)
    assert found["job"] == pytest.approx((middle[0], middle[1] - RADIUS), abs=0.01)
    for place in found.values():
        assert math.dist(place, middle) == pytest.approx(RADIUS, abs=0.02)
    assert len(set(found.values())) == len(NAMES)


def test_each_two_columns_of_a_table_have_a_line_thick_where_a_round_chose_it() -> None:
    tables = [table("job", "sex", "age", chosen=3), table("job", "town"), table("sex")]
    root = drawn(*tables)
    at = places(root)
    lines = {
        (tuple(float(line.get(key, 0)) for key in ("x1", "y1", "x2", "y2"))): line.get("class")
        for line in root.iter("line")
    }
    expected = {
        (*at[one], *at[other]): "range" if own.chosen else "rule"
        for own in tables
        for one, other in combinations(own.columns, 2)
    }
    assert lines == expected and len(lines) == 4
    assert next(line.get("class") for line in root.iter("line")) == "rule"  # chosen ones are drawn above the others


def test_a_line_says_which_table_it_is_and_how_exact() -> None:
    root = drawn(table("job", "sex", chosen=3), table("job", "age"))
    said = [title.text for line in root.iter("line") for title in line]
    assert said == [
        "job by age: for sure, each count within ±3.92 in 95 of 100 cases",
        "job by sex: round 3, each count within ±3.92 in 95 of 100 cases",
    ]
    assert next(root.iter("desc")).text == "job by sex: round 3; job by age: for sure"


def test_without_joint_tables_there_are_dots_alone() -> None:
    root = drawn(table("job"), table("sex"))
    assert list(root.iter("line")) == [] and len(list(root.iter("circle"))) == len(NAMES)
    assert next(root.iter("desc")).text == "No two columns were."
